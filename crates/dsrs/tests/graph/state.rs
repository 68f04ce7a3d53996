//! Predictor state on a graph: loaded whole or not at all, seen in prompts, carried over by name
//! and type.

use crate::support::{Env, build};
use dsrs::graph::{GraphState, Program, carry_over};
use dsrs::problem::{At, Problems};
use dsrs::strategy::BuildEnv;
use dsrs::value::Payload;

const GRAPH: &str = r#"{"name": "g", "nodes": {
    "triage": {"strategy": "predict", "signature": "ticket -> mood: 'calm' | 'angry'"},
    "reply": {"strategy": "chain_of_thought", "signature": "ticket, mood: str -> answer"}},
  "edges": [{"from": "triage.mood", "to": "reply.mood"}]}"#;

/// A server that has only the default model.
struct Without;

impl BuildEnv for Without {
    fn knows_model(&self, alias: &str) -> bool {
        alias == "default"
    }
}

fn graph(document: &str) -> Program {
    build(document).unwrap_or_else(|problems| panic!("{problems}"))
}

fn state(text: &str) -> GraphState {
    let mut problems = Problems::new();
    let payload = Payload::from_json(text).unwrap();
    let state = GraphState::read(&payload, &At::Root, &mut problems);
    problems.or(state).unwrap().unwrap()
}

fn refused(program: &Program, text: &str) -> Vec<String> {
    let root = At::Root;
    let problems = program.with_state(&Env, &state(text), &root.key("predictors")).err().unwrap();
    problems.iter().map(|p| format!("{} {}", p.pointer, p.code)).collect()
}

#[test]
fn predictors_are_named_by_node_and_path() {
    let program = graph(GRAPH);
    let paths: Vec<_> = program.predictors().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["triage", "reply.predict"]);
}

#[test]
fn instruction_and_demos_are_seen_in_the_rendered_prompt() {
    let tuned = state(
        r#"{"triage": {"instruction": "Judge the tone.", "demos": [
            {"input": {"ticket": "It broke again!!"}, "output": {"mood": "angry"}}]}}"#,
    );
    let program = graph(GRAPH).with_state(&Env, &tuned, &At::Root).unwrap();
    let mut problems = Problems::new();
    let inputs = Payload::from_json(r#"{"ticket": "hello"}"#).unwrap();
    let rendered = program.render("triage", &inputs, &At::Root, &mut problems).unwrap();
    let said: Vec<_> = rendered["triage"].iter().map(|m| m.content.as_ref()).collect();
    assert_eq!(said.len(), 4, "system, demo question, demo answer, question");
    assert!(said[0].contains("Judge the tone."));
    assert!(said[1].contains("It broke again!!") && said[2].contains("angry"));
    assert!(said[3].contains("hello"));
}

#[test]
fn a_node_with_a_removed_model_can_be_tuned() {
    let program = graph(
        r#"{"name": "g", "nodes": {
            "a": {"strategy": "predict", "signature": "x -> y", "lm": {"model": "fast"}}}}"#,
    );
    let tuned = |text| program.with_state(&Without, &state(text), &At::Root).map(drop);
    assert_eq!(tuned(r#"{"a": {"instruction": "Judge."}}"#), Ok(()));
    let named = tuned(r#"{"a": {"lm": {"model": "fast"}}}"#).unwrap_err();
    assert_eq!(named.iter().next().unwrap().pointer, "/a/lm/model");
}

#[test]
fn the_original_program_is_unchanged_and_unchanged_nodes_are_shared() {
    let program = graph(GRAPH);
    let tuned = state(r#"{"triage": {"instruction": "Judge."}}"#);
    let other = program.with_state(&Env, &tuned, &At::Root).unwrap();
    let instruction = |program: &Program| program.predictors()[0].1.state().instruction.clone();
    assert_eq!(instruction(&program), None);
    assert_eq!(instruction(&other).as_deref(), Some("Judge."));
    assert_eq!(program.content_hash(), other.content_hash());
    let shared = |p: &Program| std::ptr::from_ref(p.graph().node("reply").unwrap());
    assert_eq!(shared(&program), shared(&other));
    let back = other.with_state(&Env, &GraphState::default(), &At::Root).unwrap();
    assert_eq!(instruction(&back), None);
}

#[test]
fn a_state_that_does_not_fit_is_refused_with_every_path_and_field() {
    let found = refused(
        &graph(GRAPH),
        r#"{"triage": {"demos": [{"input": {"tickt": "x", "ticket": 3}, "output": {"mood": "sad"}}],
                       "lm": {"model": "slow"}},
            "reply": {"instruction": "Be kind."}}"#,
    );
    for expected in [
        "/predictors/reply unknown_field",
        "/predictors/triage/lm/model unknown_model",
        "/predictors/triage/demos/0/input/ticket wrong_type",
        "/predictors/triage/demos/0/input/tickt unknown_field",
        "/predictors/triage/demos/0/output/mood invalid_value",
    ] {
        assert!(found.iter().any(|problem| problem == expected), "{expected} not in {found:?}");
    }
}

#[test]
fn a_state_document_reports_every_problem_of_shape() {
    let payload =
        Payload::from_json(r#"{"a": {"instructions": "x", "demos": {}}, "b": 3}"#).unwrap();
    let mut problems = Problems::new();
    GraphState::read(&payload, &At::Root, &mut problems);
    let found: Vec<_> = problems.iter().map(|p| format!("{} {}", p.pointer, p.code)).collect();
    assert_eq!(found, ["/a/demos wrong_type", "/a/instructions unknown_field", "/b wrong_type"]);
}

#[test]
fn state_reads_back_as_it_was_written() {
    let text = r#"{"triage":{"instruction":null,"demos":[{"input":{"ticket":"z\u0000a"},"output":{"mood":"calm"}}]}}"#;
    let written = state(text).to_payload();
    let again = state(&written.to_json());
    assert_eq!(again, state(text));
    assert!(written.to_json().contains(r"z\u0000a"));
}

#[test]
fn a_patch_replaces_only_its_members() {
    let patched = |change: &str| {
        let mut state = state(
            r#"{"a": {"instruction": "Old.", "demos": [{"input": {"x": 1}, "output": {}}],
                      "lm": {"seed": 7, "temperature": 0.5}}}"#,
        );
        let mut problems = Problems::new();
        state.0["a"].patch(&Payload::from_json(change).unwrap(), &At::Root, &mut problems);
        assert!(problems.is_empty(), "{problems}");
        state.to_payload().to_json()
    };
    let demo = r#"{"input":{"x":1},"output":{}}"#;
    let lm = r#""lm":{"temperature":0.5,"seed":7}"#;
    assert_eq!(patched("{}"), format!(r#"{{"a":{{"instruction":"Old.","demos":[{demo}],{lm}}}}}"#));
    assert_eq!(
        patched(r#"{"instruction": null, "lm": {"seed": 8}}"#),
        format!(r#"{{"a":{{"instruction":null,"demos":[{demo}],"lm":{{"seed":8}}}}}}"#)
    );
    assert_eq!(
        patched(r#"{"demos": [], "lm": null}"#),
        r#"{"a":{"instruction":"Old.","demos":[]}}"#
    );
    let mut problems = Problems::new();
    let hostile = r#"{"instruction": 1, "demo": [], "lm": {"seed": "x"}, "demos": [3]}"#;
    let mut state = dsrs::predict::PredictState::default();
    state.patch(&Payload::from_json(hostile).unwrap(), &At::Root, &mut problems);
    let mut found: Vec<_> = problems.iter().map(|p| format!("{} {}", p.pointer, p.code)).collect();
    found.sort();
    assert_eq!(
        found,
        [
            "/demo unknown_field",
            "/demos/0 wrong_type",
            "/instruction wrong_type",
            "/lm/seed wrong_type"
        ]
    );
}

#[test]
fn state_carries_over_where_it_fits_and_drops_with_reasons() {
    let tuned = state(
        r#"{"triage": {"instruction": "Judge."}, "reply.predict": {"instruction": "Be kind."}}"#,
    );
    let old = graph(GRAPH);
    let carried = carry_over(&tuned, &old, &graph(GRAPH), &[]);
    assert_eq!(carried.carried.len(), 2);

    let retyped = GRAPH.replace("mood: 'calm' | 'angry'", "mood: 'calm' | 'angry' | 'sad'");
    let carried = carry_over(&tuned, &old, &graph(&retyped), &[]);
    assert_eq!(carried.carried, ["reply.predict".into()]);
    assert_eq!(&*carried.dropped[0].0, "triage");
    assert!(carried.dropped[0].1.contains("mood"), "{}", carried.dropped[0].1);

    let swapped = GRAPH.replace("chain_of_thought", "predict");
    let carried = carry_over(&tuned, &old, &graph(&swapped), &[]);
    assert_eq!(carried.carried, ["triage".into()]);

    let grown = GRAPH.replace("-> answer", "-> answer, subject");
    let carried = carry_over(&tuned, &old, &graph(&grown), &[]);
    assert_eq!(carried.carried.len(), 2, "new outputs are allowed");
}

#[test]
fn demos_are_carried_over_when_a_new_input_is_optional() {
    let tuned =
        state(r#"{"triage": {"demos": [{"input": {"ticket": "x"}, "output": {"mood": "calm"}}]}}"#);
    let carried = |input: &str| {
        let new = graph(&GRAPH.replace("\"ticket -> mood", &format!("\"ticket, {input} -> mood")));
        let carried = carry_over(&tuned, &graph(GRAPH), &new, &[]);
        assert!(new.with_state(&Env, &carried.state, &At::Root).is_ok());
        carried
    };
    assert_eq!(carried("customer: str?").carried, ["triage".into()]);
    let dropped = carried("customer").dropped;
    assert_eq!(dropped[0].1, "input `customer` is new and required, and no demo has it");
}

#[test]
fn demos_carried_to_a_version_with_a_new_output_still_load() {
    let tuned =
        state(r#"{"triage": {"demos": [{"input": {"ticket": "x"}, "output": {"mood": "calm"}}]}}"#);
    let grown = GRAPH.replace("'calm' | 'angry'", "'calm' | 'angry', urgency: int");
    let new = graph(&grown);
    let carried = carry_over(&tuned, &graph(GRAPH), &new, &[]);
    assert!(new.with_state(&Env, &carried.state, &At::Root).is_ok());
}

/// Two demos, of which calls are shown one.
fn choosing(model: &str) -> String {
    format!(
        r#"{{"triage": {{"demos": [
            {{"input": {{"ticket": "Thanks."}}, "output": {{"mood": "calm"}}}},
            {{"input": {{"ticket": "It broke!"}}, "output": {{"mood": "angry"}}}}],
          "nearest": {{"model": "{model}", "k": 1, "dimensions": 1, "vectors": "AACAPwAAgL8="}}}}}}"#
    )
}

#[test]
fn nearest_demos_require_an_embedding_model() {
    let program = graph(GRAPH);
    assert!(program.with_state(&Env, &state(&choosing("vectors")), &At::Root).is_ok());
    for (model, why) in [("fast", "is not an embedding model"), ("slow", "is not configured")] {
        let wanted = state(&choosing(model));
        let problems =
            program.with_state(&Env, &wanted, &At::Root.key("predictors")).err().unwrap();
        let message = problems.to_string();
        assert!(message.starts_with("/predictors/triage/nearest/model: "), "{message}");
        assert!(message.contains(&format!("`{model}` {why}")), "{message}");
    }
}

#[test]
fn nearest_is_carried_over_with_its_demos() {
    let old = graph(GRAPH).with_state(&Env, &state(&choosing("vectors")), &At::Root).unwrap();
    let new = graph(&GRAPH.replace("mood: 'calm' | 'angry'", "mood: 'calm' | 'angry', why: str"));
    let carried = carry_over(&state(&choosing("vectors")), &old, &new, &[]);
    assert_eq!(carried.state, state(&choosing("vectors")));
    assert!(new.with_state(&Env, &carried.state, &At::Root).is_ok());
}
