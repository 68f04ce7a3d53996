//! Differences of two tuned states: listed field by field, and sufficient to turn one into the other.

use std::sync::Arc;

use crate::support::{Env, build};
use dsrs::graph::{GraphState, Program, state_diff};
use dsrs::lm::LmParams;
use dsrs::predict::{Demo, LmOverrides, PredictState};
use dsrs::problem::{At, Problems};
use dsrs::value::{Fields, Payload};
use proptest::prelude::*;

const GRAPH: &str = r#"{"name": "g", "nodes": {
    "triage": {"strategy": "predict", "signature": "ticket -> mood: 'calm' | 'angry', urgency: int?"},
    "reply": {"strategy": "chain_of_thought", "signature": "ticket, mood: str -> answer"}},
  "edges": [{"from": "triage.mood", "to": "reply.mood"}]}"#;

fn graph(document: &str) -> Program {
    build(document).unwrap_or_else(|problems| panic!("{problems}"))
}

fn tuned(program: &Program, text: &str) -> Program {
    let mut problems = Problems::new();
    let payload = Payload::from_json(text).unwrap();
    let state = GraphState::read(&payload, &At::Root, &mut problems);
    let state = problems.or(state).unwrap().unwrap();
    program.with_state(&Env, &state, &At::Root).unwrap_or_else(|problems| panic!("{problems}"))
}

fn demo(ticket: &str, mood: &str) -> String {
    format!(r#"{{"input": {{"ticket": "{ticket}"}}, "output": {{"mood": "{mood}"}}}}"#)
}

fn demos(list: &[String]) -> String {
    format!(r#"{{"triage": {{"demos": [{}]}}}}"#, list.join(", "))
}

/// The lines between two states of the graph.
fn diff_text(old: &str, new: &str) -> String {
    let program = graph(GRAPH);
    state_diff(&tuned(&program, old), &tuned(&program, new)).text()
}

#[test]
fn equal_states_are_no_different() {
    let text = r#"{"triage": {"instruction": "Judge.", "lm": {"temperature": 0.5}}}"#;
    let program = tuned(&graph(GRAPH), text);
    let diff = state_diff(&program, &program);
    assert!(diff.is_empty());
    assert_eq!((diff.text().as_str(), diff.to_payload().to_json().as_str()), ("", "{}"));
}

#[test]
fn instructions_and_settings_are_listed_by_member() {
    let program = graph(GRAPH);
    let old = tuned(&program, r#"{"triage": {"lm": {"temperature": 0.5, "seed": 7}}}"#);
    let new = tuned(
        &program,
        r#"{"triage": {"instruction": "Judge.", "lm": {"temperature": 0.0, "stop": ["END"]}}}"#,
    );
    let own = old.predictors()[0].1.instruction().to_owned();
    let diff = state_diff(&old, &new);
    assert_eq!(
        diff.text(),
        format!(
            "~ triage instruction: {} -> \"Judge.\"\n\
             ~ triage lm.temperature: 0.5 -> 0.0\n\
             ~ triage lm.seed: 7 -> none\n\
             ~ triage lm.stop: none -> [\"END\"]\n",
            Payload::from(own.as_str()).to_json()
        )
    );
    assert_eq!(
        diff.to_payload().to_json(),
        format!(
            concat!(
                r#"{{"triage":{{"change":"changed","instruction":{{"before":null,"after":"Judge.","#,
                r#""effective_before":{},"effective_after":"Judge."}},"#,
                r#""lm":{{"temperature":{{"before":0.5,"after":0.0}},"seed":{{"before":7}},"#,
                r#""stop":{{"after":["END"]}}}}}}}}"#
            ),
            Payload::from(own.as_str()).to_json()
        )
    );
}

#[test]
fn nearest_is_shown_with_a_hash_of_the_vectors() {
    let choosing = |k: u32, vectors: &str| {
        let (one, other) = (demo("a", "calm"), demo("b", "angry"));
        format!(
            r#"{{"triage": {{"demos": [{one}, {other}], "nearest":
                {{"model": "vectors", "k": {k}, "dimensions": 1, "vectors": "{vectors}"}}}}}}"#
        )
    };
    let all = demos(&[demo("a", "calm"), demo("b", "angry")]);
    let (one, other) = (choosing(1, "AACAPwAAgL8="), choosing(2, "AACAPwAAAAA="));
    insta::assert_snapshot!(
        diff_text(&all, &one) + &diff_text(&one, &other) + &diff_text(&one, &all)
    );

    let program = graph(GRAPH);
    let (old, new) = (tuned(&program, &one), tuned(&program, &other));
    let diff = state_diff(&old, &new);
    let before = GraphState([(Arc::from("triage"), old.predictors()[0].1.state().clone())].into());
    let after = diff.apply(&before);
    assert_eq!(&after.0["triage"], new.predictors()[0].1.state());
    insta::assert_snapshot!(diff.to_payload().to_json());
}

#[test]
fn an_override_equal_to_the_signature_is_a_change() {
    let program = graph(GRAPH);
    let own = program.predictors()[0].1.instruction().to_owned();
    let own = Payload::from(own.as_str()).to_json();
    let new = tuned(&program, &format!(r#"{{"triage": {{"instruction": {own}}}}}"#));
    let text = state_diff(&program, &new).text();
    assert_eq!(text, format!("~ triage instruction: {own} -> {own}\n"));
}

#[test]
fn demos_match_by_content_and_changes_are_listed_by_field() {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|ticket| demo(ticket, "calm"));
    let old = demos(&[a.clone(), b.clone(), c.clone()]);
    let same = |demo: &str| demo.replace(": ", ":").replace(", ", ",");
    assert_eq!(
        diff_text(&old, &demos(&[d.clone(), a.clone(), b.clone(), c.clone()])),
        format!("+ triage demo 0: {}\n", same(&d)),
        "those behind a new one have not moved"
    );
    assert_eq!(
        diff_text(&old, &demos(&[a.clone(), c.clone()])),
        format!("- triage demo 1: {}\n", same(&b))
    );
    assert_eq!(
        diff_text(&old, &demos(&[c.clone(), a.clone(), b.clone()])),
        "~ triage demo 2 -> demo 0\n",
        "one moved, not two"
    );
    assert_eq!(
        diff_text(&old, &demos(&[a.clone(), demo("b", "angry"), c.clone()])),
        "~ triage demo 1 output.mood: \"calm\" -> \"angry\"\n"
    );
    assert_eq!(
        diff_text(&old, &demos(&[demo("b", "angry"), a.clone(), c])),
        "~ triage demo 1 -> demo 0 output.mood: \"calm\" -> \"angry\"\n",
        "the same inputs make it the same demo"
    );
    assert_eq!(
        diff_text(&old, &demos(&[a, b, d])),
        "~ triage demo 2 input.ticket: \"c\" -> \"d\"\n",
        "the same place, too"
    );
}

#[test]
fn null_differs_from_absent() {
    let with = r#"{"triage": {"demos": [{"input": {"ticket": "a"},
                   "output": {"mood": "calm", "urgency": null}}]}}"#;
    let without = demos(&[demo("a", "calm")]);
    assert_eq!(diff_text(&without, with), "~ triage demo 0 output.urgency: none -> null\n");
    let program = graph(GRAPH);
    let diff = state_diff(&tuned(&program, with), &tuned(&program, &without)).to_payload();
    assert_eq!(
        diff.to_json(),
        r#"{"triage":{"change":"changed","demos":[{"change":"changed","from":0,"to":0,"fields":[{"field":"output.urgency","before":null}]}]}}"#
    );
}

#[test]
fn predictors_of_only_one_graph_version_are_listed() {
    let old = tuned(&graph(GRAPH), r#"{"reply.predict": {"instruction": "Be kind."}}"#);
    let new = graph(&GRAPH.replace("chain_of_thought", "predict"));
    let own = Payload::from(new.predictors()[1].1.instruction()).to_json();
    let diff = state_diff(&old, &new);
    assert_eq!(
        diff.text(),
        format!(
            "+ predictor reply\n~ reply instruction: none -> {own}\n\
             - predictor reply.predict\n~ reply.predict instruction: \"Be kind.\" -> none\n"
        )
    );
}

fn states() -> impl Strategy<Value = GraphState> {
    let demo = ("[abc]", "calm|angry", proptest::option::of(0..2_i64)).prop_map(
        |(ticket, mood, urgency)| {
            let text = |name: &str, value: &str| (Arc::from(name), Payload::from(value));
            let urgency = urgency.map(|urgency| (Arc::from("urgency"), Payload::Int(urgency)));
            let output: Fields = [text("mood", &mood)].into_iter().chain(urgency).collect();
            Demo { input: [text("ticket", &ticket)].into_iter().collect(), output }
        },
    );
    let instruction = proptest::option::of("[xy]").prop_map(|text| text.map(Arc::from));
    let lm = (
        proptest::option::of(0.0..2.0_f64),
        proptest::option::of(1..3_u32),
        proptest::option::of(0..2_i64),
        proptest::option::of(proptest::collection::vec("[st]", 1..3)),
        proptest::bool::ANY,
    )
        .prop_map(|(temperature, max_tokens, seed, stop, fast)| {
            let params = LmParams {
                temperature,
                max_tokens,
                top_p: temperature.map(|found| found / 2.0),
                seed,
                stop: stop.map(|texts| texts.into_iter().map(Arc::from).collect()),
                ..LmParams::default()
            };
            LmOverrides { model: fast.then(|| "fast".into()), params }
        });
    let triage = (instruction, proptest::collection::vec(demo, 0..7), lm).prop_map(
        |(instruction, demos, lm)| PredictState {
            instruction,
            demos,
            lm,
            ..PredictState::default()
        },
    );
    triage.prop_map(|state| {
        let tuned = (!state.is_default()).then_some((Arc::from("triage"), state));
        GraphState(tuned.into_iter().collect())
    })
}

proptest! {
    #[test]
    fn a_diff_turns_the_old_state_into_the_new_one(old in states(), new in states()) {
        let program = graph(GRAPH);
        let loaded = |state: &GraphState| program.with_state(&Env, state, &At::Root).unwrap();
        let diff = state_diff(&loaded(&old), &loaded(&new));
        prop_assert_eq!(diff.apply(&old), new.clone(), "{}", diff.text());
        prop_assert_eq!(diff.is_empty(), old == new);
        prop_assert_eq!(diff.text().is_empty(), diff.is_empty());
    }
}
