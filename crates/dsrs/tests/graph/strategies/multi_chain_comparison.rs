//! `multi_chain_comparison`: attempts in one prompt, its own or those of other nodes.

use std::sync::Arc;

use dsrs::lm::{LmErrorKind, LmRequest, ScriptedAnswer, ScriptedLm};
use dsrs::module::{named_predictors, named_predictors_mut};
use dsrs::predict::{Demo, PredictErrorKind, PredictState};
use dsrs::problem::At;
use dsrs::{Module, MultiChainComparison, Signature};

use super::support::{
    answer, asked, assert_demos_are_seen, called, ctx, fields, module, outputs, paths, refused,
    run, signature_text,
};

const QUESTION: &str = r#"{"question": "2 + 2?"}"#;

const GRAPH: &str = r#"{"name": "g", "nodes": {"a": {"strategy": "multi_chain_comparison",
    "signature": {"instructions": "Answer in a word.", "inputs": [{"name": "question", "type": "str"}],
    "outputs": [{"name": "answer", "type": "str"}]}, "retries": 0, "config": {"m": 2}}}}"#;

fn thought(reasoning: &str, text: &str) -> ScriptedAnswer {
    answer(&[("reasoning", reasoning), ("answer", text)]).into()
}

fn compared() -> ScriptedAnswer {
    answer(&[("rationale", "the second adds up"), ("answer", "4")]).into()
}

#[test]
fn a_rationale_comes_before_the_outputs_and_demos_are_used() {
    let mut own = module("multi_chain_comparison", "question -> answer", "{}");
    assert_eq!(signature_text(&*own), "question: str -> rationale: str, answer: str");
    assert_eq!(paths(&*own), ["module.predict", "compare"]);
    assert_demos_are_seen(&mut *own);
    let config = r#"{"from_inputs": true, "m": 2}"#;
    let mut taken = module("multi_chain_comparison", "question -> answer", config);
    let all = "question: str, attempt_1: any, attempt_2: any -> rationale: str, answer: str";
    assert_eq!(signature_text(&*taken), all);
    assert_eq!(paths(&*taken), ["compare"]);
    assert_demos_are_seen(&mut *taken);
}

#[tokio::test]
async fn the_comparison_shows_different_attempts() {
    let lm = [thought("a guess", "5"), thought("added", "4"), compared()];
    let lm = Arc::new(ScriptedLm::answering(lm));
    let outcome = run(GRAPH, &lm, QUESTION).await;
    assert_eq!(outputs(&outcome), r#"{"rationale":"the second adds up","answer":"4"}"#);
    assert_eq!(called(&outcome.spans), ["module.predict", "module.predict", "compare"]);
    assert_eq!(outcome.usage.lm_calls, 3);
    let requests = lm.requests();
    let sent: Vec<_> =
        requests.iter().map(|sent| (sent.params.temperature, sent.params.seed)).collect();
    assert_eq!(sent, [(Some(0.7), None), (Some(0.7), Some(1)), (None, None)]);
    let shown = "[[ ## attempt_1 ## ]]\nreasoning: a guess\nanswer: 5\n\n\
                 [[ ## attempt_2 ## ]]\nreasoning: added\nanswer: 4\n\n";
    assert!(asked(&requests[2]).contains(shown), "{}", asked(&requests[2]));
}

#[tokio::test]
async fn a_failed_attempt_is_shown_as_failed_and_all_failing_fail() {
    let broken = || ScriptedAnswer::fail(LmErrorKind::Refused, "no such model").status(404);
    let lm = Arc::new(ScriptedLm::answering([broken(), thought("added", "4"), compared()]));
    let outcome = run(GRAPH, &lm, QUESTION).await;
    assert!(outcome.outputs.is_ok());
    let shown = asked(&lm.requests()[2]);
    assert!(
        shown.contains("[[ ## attempt_1 ## ]]\n(this attempt failed and gave no answer)"),
        "{shown}"
    );

    let lm = Arc::new(ScriptedLm::always(broken()));
    let outcome = run(GRAPH, &lm, QUESTION).await;
    assert_eq!(outcome.outputs.unwrap_err().error.kind, PredictErrorKind::Lm);
    assert_eq!(lm.requests().len(), 2);
}

#[tokio::test]
async fn attempts_of_any_type_may_come_from_other_nodes() {
    let graph = r#"{"name": "g", "nodes": {
        "think": {"strategy": "predict", "signature": "question -> number: int"},
        "guess": {"strategy": "predict", "signature": "question -> word"},
        "a": {"strategy": "multi_chain_comparison", "signature": "question -> answer",
              "config": {"from_inputs": true, "m": 2}}},
      "edges": [{"from": "think.number", "to": "a.attempt_1"},
                {"from": "guess.word", "to": "a.attempt_2"}]}"#;
    let fields = [("number", "4"), ("word", "four"), ("rationale", "both"), ("answer", "4")];
    let lm = Arc::new(ScriptedLm::sections(fields));
    let outcome = run(graph, &lm, QUESTION).await;
    assert_eq!(outputs(&outcome), r#"{"rationale":"both","answer":"4"}"#);
    let shown = asked(&lm.requests()[2]);
    assert!(shown.contains("[[ ## attempt_1 ## ]]\n4\n\n[[ ## attempt_2 ## ]]\nfour"), "{shown}");
}

#[test]
fn invalid_configs_are_refused_at_their_places() {
    let refused = |base, config| refused("multi_chain_comparison", base, config);
    assert_eq!(refused("x -> y", r#"{"m": 1}"#), ["/config/m invalid_config"]);
    assert_eq!(refused("attempt_1 -> rationale", "{}"), ["/signature duplicate_name"; 2]);
    let both = r#"{"from_inputs": true, "module": {"strategy": "predict"}}"#;
    assert_eq!(refused("x -> y", both), ["/config/module invalid_config"]);
    let none = r#"{"module": {"strategy": "none"}}"#;
    assert_eq!(refused("x -> y", none), ["/config/module/strategy unknown_strategy"]);
}

/// Answer in a word.
#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    answer: String,
}

#[tokio::test]
async fn the_typed_comparison_has_the_same_prompts_and_state() {
    let answers = || [thought("a guess", "5"), thought("added", "4"), compared()];
    let typed = Arc::new(ScriptedLm::answering(answers()));
    let mut qa = MultiChainComparison::<Qa>::new(2);
    let found = named_predictors(&qa).unwrap();
    let found: Vec<_> = found.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(found, ["module.predict", "compare"]);
    let input = QaInput { question: "2 + 2?".into() };
    let result = qa.call(&ctx(&typed), input).await.unwrap();
    assert_eq!((&*result.rationale, &*result.answer), ("the second adds up", "4"));

    let untyped = Arc::new(ScriptedLm::answering(answers()));
    run(GRAPH, &untyped, QUESTION).await;
    let said = |lm: &ScriptedLm| -> Vec<String> {
        let texts = |request: &LmRequest| {
            request.chat.messages().map(|message| message.content.to_string()).collect::<String>()
        };
        lm.requests().iter().map(texts).collect()
    };
    assert_eq!(said(&typed)[2], said(&untyped)[2]);

    let demo = Demo {
        input: fields(r#"{"question": "1 + 1?", "attempt_1": "2", "attempt_2": "3"}"#),
        output: fields(r#"{"rationale": "the first", "answer": "2"}"#),
    };
    let state = PredictState { demos: vec![demo], ..PredictState::default() };
    let mut found = named_predictors_mut(&mut qa).unwrap();
    found[1].1.load_state(state.clone(), &At::Root).unwrap();
    assert_eq!(found[1].1.state(), &state);
}
