//! `chain_of_thought`: reasoning comes before the answer.

use std::sync::Arc;

use dsrs::lm::ScriptedLm;

use super::support::{
    answer, assert_demos_are_seen, called, module, outputs, paths, run, signature_text,
};

#[test]
fn reasoning_comes_before_the_outputs_and_demos_are_used() {
    let mut module = module("chain_of_thought", "question -> answer: int", "{}");
    assert_eq!(signature_text(&*module), "question: str -> reasoning: str, answer: int");
    assert_eq!(paths(&*module), ["predict"]);
    assert_demos_are_seen(&mut *module);
}

#[tokio::test]
async fn a_chain_of_thought_node_calls_the_lm_once() {
    let graph = r#"{"name": "g", "nodes": {
        "a": {"strategy": "chain_of_thought", "signature": "question -> answer: int"}}}"#;
    let lm = answer(&[("reasoning", "two and two"), ("answer", "4")]);
    let lm = Arc::new(ScriptedLm::answering([lm]));
    let outcome = run(graph, &lm, r#"{"question": "2 + 2?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":"two and two","answer":4}"#);
    assert_eq!(called(&outcome.spans), ["predict"]);
}
