//! Canonical documents of graphs: everything is explicit, order is preserved, and the canonical text
//! parses to itself.

use crate::support::build;

fn canonical(document: &str) -> String {
    let program = match build(document) {
        Ok(program) => program,
        Err(problems) => panic!("{problems}"),
    };
    let again = build(program.canonical_text()).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(program.canonical_text(), again.canonical_text(), "canonical text is stable");
    assert_eq!(program.content_hash(), again.content_hash());
    let tree: serde_json::Value = serde_json::from_str(program.canonical_text()).unwrap();
    serde_json::to_string_pretty(&tree).unwrap()
}

const SUPPORT_REPLY: &str = r#"{
  "name": "support-reply",
  "description": "Draft a reply to a ticket",
  "types": {"Mood": {"enum": {"calm": null, "angry": null}}},
  "inputs": {"ticket": "str"},
  "nodes": {
    "triage": {"strategy": "predict", "signature": "ticket -> mood: Mood, topics: list[str]"},
    "reply":  {"strategy": "chain_of_thought",
               "signature": {"instructions": "Answer politely.",
                             "inputs":  [{"name": "ticket", "type": "str"}, {"name": "mood", "type": "Mood"}],
                             "outputs": [{"name": "answer", "type": "str"}]},
               "config": {}, "lm": {"model": "default", "temperature": 0.2, "max_tokens": 400},
               "timeout_ms": 30000, "retries": 2, "parse_retries": 1}
  },
  "edges": [
    {"from": "input.ticket", "to": "triage.ticket"},
    {"from": "input.ticket", "to": "reply.ticket"},
    {"from": "triage.mood",  "to": "reply.mood"}
  ],
  "outputs": {"answer": "reply.answer", "mood": "triage.mood"}
}"#;

#[test]
fn the_support_reply_graph_resolves_to_itself_with_nothing_implicit() {
    insta::assert_snapshot!(canonical(SUPPORT_REPLY));
}

#[test]
fn inputs_wires_and_outputs_that_are_left_out_are_filled_in() {
    insta::assert_snapshot!(canonical(
        r#"{"name": "g", "nodes": {
            "zeta": {"strategy": "chain_of_thought", "signature": "question, context: list[str]? -> hint"},
            "alpha": {"strategy": "predict", "signature": "question, hint -> answer: float"}},
          "edges": [{"from": "zeta.hint", "to": "alpha.hint"}]}"#
    ));
}

#[test]
fn an_edge_from_an_undeclared_input_declares_it() {
    insta::assert_snapshot!(canonical(
        r#"{"name": "g", "nodes": {"a": {"strategy": "predict", "signature": "x: int -> y"}},
          "edges": [{"from": "input.number", "to": "a.x"}]}"#
    ));
}

#[test]
fn deeper_selections_are_typed_and_preserved() {
    insta::assert_snapshot!(canonical(
        r#"{"name": "g",
          "types": {"Person": {"class": {"name": "str", "tags": "list[str]"}}},
          "nodes": {
            "extract": {"strategy": "predict", "signature": "text -> people: list[Person], who: Person"},
            "greet": {"strategy": "predict", "signature": "name, tag: str? -> greeting"}},
          "edges": [{"from": "extract.who.name", "to": "greet.name"},
                    {"from": "extract.who.tags[0]", "to": "greet.tag"}],
          "outputs": {"greeting": "greet.greeting", "first": "extract.people[0].name", "text": "input.text"}}"#
    ));
}

#[test]
fn two_spellings_of_one_graph_have_one_hash() {
    let short = build(
        r#"{"name": "g", "nodes": {"a": {"strategy": "predict", "signature": "x -> y: float"}}}"#,
    );
    let long = build(
        r#"{"name": "g", "description": null, "types": {}, "inputs": {"x": {"type": "string"}},
            "nodes": {"a": {"strategy": "predict", "config": {}, "lm": {}, "retries": 2,
              "signature": {"inputs": [{"name": "x"}], "outputs": [{"name": "y", "type": "number"}]}}},
            "edges": [{"from": "input.x", "to": "a.x"}], "outputs": {"y": "a.y"}}"#,
    );
    let (short, long) = (short.map_err(|p| p.to_string()), long.map_err(|p| p.to_string()));
    assert_eq!(short.unwrap().canonical_text(), long.unwrap().canonical_text());
}
