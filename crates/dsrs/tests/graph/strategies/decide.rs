//! `decide`: decisions by probabilities, and their rules in the state.

use std::sync::Arc;

use dsrs::graph::{GraphState, Program, state_diff};
use dsrs::lm::{Lm, LmReply, Model, Models, ScriptedLm, TokenLogprobs};
use dsrs::predict::RunScope;
use dsrs::problem::{At, Problems};

use tokio::time::Instant;

use super::support::{
    Env, answer, assert_demos_are_seen, build, fields, json, module, outputs, paths, refused,
    run_on, signature_text,
};

const CRITERIA: &str =
    r#"{"criteria": {"urgent": {"true": "someone waits"}, "mood": ["angry", "calm", "happy"]}}"#;

const DESK: &str = r#"{
    "name": "desk",
    "types": {"Queue": {"enum": {"amber": "money", "blue": "delivery", "green": null}}},
    "nodes": {"triage": {
        "strategy": "decide",
        "signature": "ticket -> urgent: bool, queue: Queue, mood: int, reply",
        "config": {"criteria": {"urgent": {"true": "someone waits"}, "queue": {"green": "anything else"},
                                "mood": ["angry", "calm", "happy"]}},
        "retries": 0, "parse_retries": 0
    }}
}"#;

const TICKET: &str = r#"{"ticket": "Where is my parcel?"}"#;

/// What the LM states: probabilities, and a reply.
fn stated(urgent: &str, queue: [f64; 3], mood: [f64; 3]) -> String {
    let [amber, blue, green] = queue;
    let [first, second, third] = mood;
    answer(&[
        ("urgent_probability", urgent),
        (
            "queue_probabilities",
            &format!(r#"{{"amber": {amber}, "blue": {blue}, "green": {green}}}"#),
        ),
        ("mood_probabilities", &format!(r#"{{"0": {first}, "1": {second}, "2": {third}}}"#)),
        ("reply", "It comes."),
    ])
}

/// The desk with the rules of its state.
fn tuned(rules: &str) -> Result<Program, Problems> {
    let mut problems = Problems::new();
    let state =
        format!(r#"{{"triage": {{"instruction": null, "demos": [], "decisions": {rules}}}}}"#);
    let state = GraphState::read(&json(&state), &At::Root, &mut problems);
    problems.or(())?;
    build(DESK).with_state(&Env, &state.unwrap(), &At::Root)
}

async fn decided(program: &Program, text: String) -> String {
    let lm = Arc::new(ScriptedLm::answering([text]));
    outputs(&program.execute(&run_on(&lm), fields(TICKET)).await)
}

fn places(found: Result<Program, Problems>) -> Vec<String> {
    let problems = found.err().expect("it is refused");
    problems.iter().map(|found| format!("{} {}", found.pointer, found.code)).collect()
}

#[test]
fn probabilities_are_outputs_before_the_decisions() {
    let mut decide = module("decide", "ticket -> urgent: bool, mood: int, reply", CRITERIA);
    assert_eq!(
        signature_text(&*decide),
        "ticket: str -> urgent_probability: float, urgent: bool, mood_probabilities: dict[str, float], \
         mood_mean: float, mood: int, reply: str"
    );
    assert_eq!(paths(&*decide), [""]);
    assert_demos_are_seen(&mut *decide);
}

#[test]
fn the_prompt_asks_for_probabilities_with_what_answers_mean() {
    let desk = build(DESK);
    let (_, predictor) = desk.predictors().into_iter().next().unwrap();
    insta::assert_snapshot!(predictor.render(&fields(TICKET))[0].content);
}

#[test]
fn what_cannot_be_decided_is_refused_at_its_place() {
    let refused = |signature: &str, config: &str| refused("decide", signature, config);
    assert_eq!(refused("a -> b, c: int", "{}"), ["/signature invalid_signature"]);
    assert_eq!(
        refused("a -> b, c: bool", r#"{"criteria": {"b": {}, "d": {}}, "decisions": ["e"]}"#),
        [
            "/config/criteria/d unknown_field",
            "/config/decisions/0 unknown_field",
            "/config/criteria/b invalid_config"
        ]
    );
    assert_eq!(
        refused("a -> b: bool, c: int", r#"{"criteria": {"b": {"yes": "x"}, "c": ["one"]}}"#),
        ["/config/criteria/b/yes unknown_field", "/config/criteria/c invalid_config"]
    );
    assert_eq!(refused("b_probability -> b: bool", "{}"), ["/signature duplicate_name"]);
}

#[tokio::test]
async fn decisions_follow_from_the_probabilities_by_the_default_rules() {
    let desk = build(DESK);
    let found = decided(&desk, stated("0.5", [0.2, 0.4, 0.4], [0.5, 0.25, 0.25])).await;
    assert_eq!(
        found,
        r#"{"urgent_probability":0.5,"urgent":true,"queue_probabilities":{"amber":0.2,"blue":0.4,"green":0.4},"queue":"blue","mood_probabilities":{"0":0.5,"1":0.25,"2":0.25},"mood_mean":0.75,"mood":1,"reply":"It comes."}"#
    );
}

#[tokio::test]
async fn rules_of_the_state_decide_otherwise_by_the_same_probabilities() {
    let rules = r#"{"urgent": {"threshold": 0.6}, "queue": {"weights": {"amber": 3}}, "mood": {"cuts": [0.7, 0.75]}}"#;
    let desk = tuned(rules).unwrap();
    let found = decided(&desk, stated("0.5", [0.2, 0.4, 0.4], [0.5, 0.25, 0.25])).await;
    for wanted in [r#""urgent":false"#, r#""queue":"amber""#, r#""mood":2"#] {
        assert!(found.contains(wanted), "{wanted} in {found}");
    }
}

#[tokio::test]
async fn some_outputs_alone_are_decided() {
    let graph = r#"{"name": "g", "nodes": {"a": {"strategy": "decide",
        "signature": "text -> spam: bool, long: bool", "config": {"decisions": ["spam"]}}}}"#;
    let text = answer(&[("spam_probability", "0.2"), ("long", "yes")]);
    let lm = Arc::new(ScriptedLm::answering([text]));
    let found = build(graph).execute(&run_on(&lm), fields(r#"{"text": "x"}"#)).await;
    assert_eq!(outputs(&found), r#"{"spam_probability":0.2,"spam":false,"long":true}"#);
}

#[tokio::test]
async fn literals_are_options_and_a_probability_that_is_none_is_asked_for_again() {
    let graph = r#"{"name": "g", "nodes": {"a": {"strategy": "decide",
        "signature": "text -> stars: 1 | 2", "config": {}}}}"#;
    let text = |one: f64, two: f64| {
        answer(&[("stars_probabilities", &format!(r#"{{"1": {one}, "2": {two}}}"#))])
    };
    let lm = Arc::new(ScriptedLm::answering([text(30.0, 70.0), text(0.0, 0.0), text(0.3, 0.7)]));
    let graph = graph.replace(r#""config": {}"#, r#""config": {}, "parse_retries": 2"#);
    let found = build(&graph).execute(&run_on(&lm), fields(r#"{"text": "x"}"#)).await;
    assert_eq!(outputs(&found), r#"{"stars_probabilities":{"1":0.3,"2":0.7},"stars":2}"#);
    let asked = |at: usize| lm.requests()[at].chat.turns.last().unwrap().content.to_string();
    assert!(asked(1).contains("a probability is a number from 0 to 1, found 30"), "{}", asked(1));
    assert!(asked(2).contains("at least one probability is above 0"), "{}", asked(2));
}

#[test]
fn rules_that_do_not_fit_are_refused_at_their_places() {
    let rules = r#"{"urgnt": {"threshold": 0.5}, "urgent": {"cuts": [0.5]}, "queue": {"weights": {"red": 1}},
                    "mood": {"cuts": [1, 0.5]}}"#;
    assert_eq!(
        places(tuned(rules)),
        [
            "/triage/decisions/urgnt unknown_field",
            "/triage/decisions/urgent/cuts invalid_value",
            "/triage/decisions/queue/weights/red unknown_field",
            "/triage/decisions/mood/cuts invalid_value"
        ]
    );
    let unreadable =
        r#"{"urgent": {"threshold": 2}, "queue": {"weights": {"amber": -1}}, "mood": {}}"#;
    assert_eq!(
        places(tuned(unreadable)),
        [
            "/triage/decisions/urgent/threshold invalid_value",
            "/triage/decisions/queue/weights/amber invalid_value",
            "/triage/decisions/mood invalid_value"
        ]
    );
    let graph =
        r#"{"name": "g", "nodes": {"a": {"strategy": "predict", "signature": "q -> spam: bool"}}}"#;
    let mut problems = Problems::new();
    let rules = json(r#"{"a": {"decisions": {"spam": {"threshold": 0.6}}}}"#);
    let state = GraphState::read(&rules, &At::Root, &mut problems).unwrap();
    let found = build(graph).with_state(&Env, &state, &At::Root);
    assert_eq!(places(found), ["/a/decisions/spam unknown_field"]);
}

#[test]
fn rules_are_in_documents_and_differences_of_states() {
    let plain = build(DESK);
    let calibrated = tuned(r#"{"urgent": {"threshold": 0.6}}"#).unwrap();
    let (_, predictor) = calibrated.predictors().into_iter().next().unwrap();
    let shown = dsrs::predict::state_to_payload(predictor.state()).to_json();
    assert_eq!(
        shown,
        r#"{"instruction":null,"demos":[],"decisions":{"urgent":{"threshold":0.6}}}"#
    );
    let (_, predictor) = plain.predictors().into_iter().next().unwrap();
    let untouched = dsrs::predict::state_to_payload(predictor.state()).to_json();
    assert_eq!(untouched, r#"{"instruction":null,"demos":[]}"#);
    let found = state_diff(&plain, &calibrated);
    assert_eq!(found.text(), "~ triage decisions.urgent: none -> {\"threshold\":0.6}\n");
    assert_eq!(
        found.to_payload().to_json(),
        r#"{"triage":{"change":"changed","decisions":{"urgent":{"after":{"threshold":0.6}}}}}"#
    );
    assert_eq!(found.apply(&GraphState::default()), state(&calibrated));
    let back = state_diff(&calibrated, &plain);
    assert_eq!(back.apply(&state(&calibrated)), GraphState::default());
}

fn state(program: &Program) -> GraphState {
    let states = program.predictors().into_iter();
    GraphState(states.map(|(path, found)| (path.into(), found.state().clone())).collect())
}

#[test]
fn a_patch_of_rules_leaves_the_rest() {
    let calibrated = tuned(r#"{"urgent": {"threshold": 0.6}}"#).unwrap();
    let mut state = state(&calibrated).0.swap_remove("triage").unwrap();
    let mut patch = |text: &str| {
        let mut problems = Problems::new();
        state.patch(&json(text), &At::Root, &mut problems);
        assert!(problems.is_empty(), "{problems}");
        dsrs::predict::state_to_payload(&state).to_json()
    };
    let stays = patch(r#"{"instruction": "Sort."}"#);
    assert!(stays.contains(r#""decisions":{"urgent":{"threshold":0.6}}"#), "{stays}");
    let changed = patch(r#"{"decisions": {"mood": {"cuts": [0.5, 1]}}}"#);
    assert!(changed.ends_with(r#""decisions":{"mood":{"cuts":[0.5,1.0]}}}"#), "{changed}");
    assert_eq!(patch(r#"{"decisions": null}"#), r#"{"instruction":"Sort.","demos":[]}"#);
}

#[test]
fn rules_are_carried_over_while_the_answers_are_the_same() {
    let calibrated = tuned(r#"{"queue": {"weights": {"amber": 2}}}"#).unwrap();
    let carried = |document: &str| {
        let found =
            dsrs::graph::carry_over(&state(&calibrated), &calibrated, &build(document), &[]);
        (found.carried.len(), found.dropped.len())
    };
    assert_eq!(carried(&DESK.replace("anything else", "the rest")), (1, 0));
    assert_eq!(
        carried(&DESK.replace("\"green\": null", "\"grey\": null").replace("green", "grey")),
        (0, 1)
    );
}

#[test]
fn a_rule_of_what_is_no_longer_decided_is_dropped_alone() {
    let two = r#"{"name": "g", "nodes": {"a": {"strategy": "decide", "signature": "text -> spam: bool, long: bool",
        "config": {"evidence": "logprobs", "decisions": ["spam", "long"]}}}}"#;
    let rules = r#"{"a": {"instruction": null, "demos": [],
        "decisions": {"spam": {"threshold": 0.9}, "long": {"threshold": 0.2}}}}"#;
    let tuned = GraphState::read(&json(rules), &At::Root, &mut Problems::new()).unwrap();
    let program = build(two).with_state(&Env, &tuned, &At::Root).unwrap();
    let one = build(&two.replace(r#"["spam", "long"]"#, r#"["spam"]"#));
    let found = dsrs::graph::carry_over(&state(&program), &program, &one, &[]);
    let (path, reason) = &found.dropped[0];
    assert!(&**path == "a" && reason.contains("the rule of `long` no longer fits"), "{reason}");
    let rules = &found.state.0["a"].decisions;
    assert_eq!((found.carried.len(), rules.len(), rules.contains_key("spam")), (1, 1, true));
}

const SORT: &str = r#"{"name": "g", "nodes": {"a": {"strategy": "decide", "retries": 0, "parse_retries": 0,
    "signature": "text -> spam: bool, queue: 'bill' | 'billing' | 'tech', mood: int, long: bool",
    "config": {"evidence": "logprobs", "decisions": ["spam", "queue", "mood"],
               "criteria": {"spam": {"true": "sold to many"}, "mood": ["bad", "good"]}}}}}"#;

/// A token, and the probabilities of what might have been written in its place.
fn token(text: &str, likely: &[(&str, f64)]) -> TokenLogprobs {
    let own = likely.iter().find(|(other, _)| *other == text).map_or(1.0, |(_, p)| *p);
    TokenLogprobs::of(text, own.ln(), likely.iter().map(|(other, p)| (Arc::from(*other), p.ln())))
}

/// An answer of these tokens.
fn tokens() -> Vec<TokenLogprobs> {
    vec![
        token("[[ ## spam ## ]]\n", &[]),
        token("true", &[("true", 0.6), ("false", 0.15), ("no", 0.25)]),
        token("\n\n[[ ## queue ## ]]\n", &[]),
        token("bill", &[("bill", 0.5), ("tech", 0.5)]),
        token("ing", &[("ing", 0.5), ("\n\n", 0.5)]),
        token("\n\n[[ ## mood ## ]]\n", &[]),
        token("1", &[("1", 0.75), ("0", 0.25)]),
        token("\n\n[[ ## long ## ]]\nno", &[]),
    ]
}

/// Runs the graph over one answer, of a model that reports probabilities or does not.
async fn sorted(
    document: &str,
    logprobs: Vec<TokenLogprobs>,
    reports: bool,
) -> (String, Arc<ScriptedLm>) {
    let text: String = tokens().iter().map(|token| token.token.to_string()).collect();
    let reply = LmReply { logprobs, ..LmReply::of(text, "small") };
    let scripted = Arc::new(ScriptedLm::answering([reply]));
    let lm: Arc<dyn Lm> = scripted.clone();
    let model = Model { logprobs: reports, ..Model::of(Models::DEFAULT, lm) };
    let models = Arc::new(Models::new([model], Some(Models::DEFAULT.into())));
    let run = Arc::new(RunScope::new(models, Instant::now() + std::time::Duration::from_secs(600)));
    let outcome = build(document).execute(&run, fields(r#"{"text": "x"}"#)).await;
    let text = match &outcome.outputs {
        Ok(outputs) => dsrs::value::Payload::map(outputs.clone()).to_json(),
        Err(failure) => failure.error.message.clone(),
    };
    (text, scripted)
}

#[tokio::test]
async fn evidence_is_read_from_the_probabilities_of_the_tokens_of_answers() {
    let (found, lm) = sorted(SORT, tokens(), true).await;
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let near = |place: &str, wanted: f64| {
        let found = found.pointer(place).and_then(serde_json::Value::as_f64).unwrap();
        assert!((found - wanted).abs() < 1e-9, "{place}: {found}");
    };
    near("/spam_probability", 0.8);
    near("/queue_probabilities/bill", 0.25);
    near("/queue_probabilities/billing", 0.25);
    near("/queue_probabilities/tech", 0.5);
    near("/mood_probabilities/1", 0.75);
    near("/mood_mean", 0.75);
    assert_eq!(found["spam"], true);
    assert_eq!((&found["queue"], &found["mood"]), (&"tech".into(), &1.into()));
    assert_eq!(found["long"], false);
    let request = &lm.requests()[0];
    assert!(request.logprobs);
    let system = &request.chat.prefix[0].content;
    for wanted in [
        "- `spam` (bool): true means: sold to many",
        "- `mood` (0 | 1): 0 means: bad; 1 means: good",
    ] {
        assert!(system.contains(wanted), "{wanted} in {system}");
    }
}

#[tokio::test]
async fn a_model_without_probabilities_of_tokens_is_refused_with_the_way_out() {
    let (off, lm) = sorted(SORT, tokens(), false).await;
    assert!(off.contains("add `logprobs` to its `capabilities`"), "{off}");
    assert_eq!(lm.requests().len(), 0);
    let (none, _) = sorted(SORT, Vec::new(), true).await;
    assert!(none.contains("reported no probabilities of tokens"), "{none}");
}

#[test]
fn demos_of_calls_lose_what_was_read_from_tokens() {
    let mut problems = Problems::new();
    let state = r#"{"a": {"demos": [{"input": {"text": "x"}, "output": {"spam": true, "spam_probability": 0.9}}],
                          "decisions": {"spam": {"threshold": 0.3}}}}"#;
    let read = GraphState::read(&json(state), &At::Root, &mut problems).unwrap();
    let program = build(SORT).with_state(&Env, &read, &At::Root).unwrap();
    assert_eq!(
        self::state(&program).to_payload().to_json(),
        r#"{"a":{"instruction":null,"demos":[{"input":{"text":"x"},"output":{"spam":true}}],"decisions":{"spam":{"threshold":0.3}}}}"#
    );
}
