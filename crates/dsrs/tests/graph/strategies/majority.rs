//! `majority` and `parallel`: several attempts at once, counted or listed.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{LmErrorKind, LmRequest, ScriptedAnswer, ScriptedLm};
use dsrs::predict::PredictErrorKind;

use super::support::{
    answer, assert_demos_are_seen, module, outputs, paths, refused, run, signature_text,
};

const QUESTION: &str = r#"{"question": "2 + 2?"}"#;

fn graph(strategy: &str, config: &str) -> String {
    format!(
        r#"{{"name": "g", "nodes": {{"a": {{"strategy": "{strategy}", "config": {config},
            "signature": "question -> answer", "retries": 0, "parse_retries": 0}}}}}}"#
    )
}

fn thought(reasoning: &str, text: &str) -> ScriptedAnswer {
    answer(&[("reasoning", reasoning), ("answer", text)]).into()
}

fn broken() -> ScriptedAnswer {
    ScriptedAnswer::fail(LmErrorKind::Refused, "no such model").status(404)
}

const VOTE: &str = r#"{"module": {"strategy": "chain_of_thought"}, "n": 5}"#;

#[test]
fn majority_and_parallel_wrap_a_strategy() {
    let mut majority = module("majority", "question -> answer: int", VOTE);
    assert_eq!(signature_text(&*majority), "question: str -> reasoning: str, answer: int");
    assert_eq!(paths(&*majority), ["module.predict"]);
    assert_demos_are_seen(&mut *majority);
    let mut parallel = module("parallel", "question -> answer: int", VOTE);
    assert_eq!(
        signature_text(&*parallel),
        "question: str -> reasoning: list[str], answer: list[int]"
    );
    assert_eq!(paths(&*parallel), ["module.predict"]);
    assert_demos_are_seen(&mut *parallel);
    let wrong = VOTE.replace("\"n\"", "\"field\": \"answr\", \"n\"");
    assert_eq!(refused("majority", "question -> answer", &wrong), ["/config/field unknown_field"]);
    assert_eq!(refused("parallel", "question -> answer", "{}"), ["/config invalid_config"]);
}

#[tokio::test]
async fn the_majority_wins_with_the_outputs_of_its_first_attempt() {
    let lm = Arc::new(ScriptedLm::answering([
        thought("a guess", "5"),
        thought("counted", "Four."),
        broken(),
        thought("added", "four"),
        thought("another guess", "six"),
    ]));
    let outcome = run(&graph("majority", VOTE), &lm, QUESTION).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":"counted","answer":"Four."}"#);
}

#[tokio::test]
async fn the_earliest_of_equal_votes_wins_and_null_does_not_vote() {
    let lm = Arc::new(ScriptedLm::answering([
        thought("", ""),
        thought("", ""),
        thought("b", "B"),
        thought("a", "A"),
        thought("", ""),
    ]));
    let optional = graph("majority", VOTE);
    let outcome = run(&optional, &lm, QUESTION).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":"b","answer":"B"}"#);
}

#[tokio::test(start_paused = true)]
async fn voting_stops_once_no_other_value_can_win() {
    let now = |text: &str| thought("hm", text);
    let never = ScriptedAnswer::hang();
    let lm = [now("4"), never.clone(), now("4").after(Duration::from_secs(1)), now("4"), never];
    let lm = Arc::new(ScriptedLm::answering(lm));
    let outcome = run(&graph("majority", VOTE), &lm, QUESTION).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":"hm","answer":"4"}"#);
    let sent = |request: &LmRequest| (request.params.temperature, request.params.seed);
    let sent: Vec<_> = lm.requests().iter().map(sent).take(2).collect();
    assert_eq!(sent, [(None, None), (Some(1.0), Some(1))]);
}

#[tokio::test]
async fn the_last_failure_is_returned_if_all_attempts_fail() {
    let lm = Arc::new(ScriptedLm::always(broken()));
    let outcome = run(&graph("majority", VOTE), &lm, QUESTION).await;
    assert_eq!(outcome.outputs.unwrap_err().error.kind, PredictErrorKind::Lm);
    assert_eq!(lm.requests().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn parallel_lists_all_answers_in_order_and_honors_fail_count() {
    let lm = || {
        let late = thought("a", "A").after(Duration::from_secs(1));
        Arc::new(ScriptedLm::answering([late, broken(), thought("c", "C")]))
    };
    let config = r#"{"module": {"strategy": "chain_of_thought"}, "n": 3, "fail_count": 1,
        "temperature": 0.3}"#;
    let scripted = lm();
    let outcome = run(&graph("parallel", config), &scripted, QUESTION).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":["a","c"],"answer":["A","C"]}"#);
    let warm = |request: &LmRequest| request.params.temperature == Some(0.3);
    assert!(scripted.requests().iter().all(warm));

    let strict = config.replace("\"fail_count\": 1,", "");
    let outcome = run(&graph("parallel", &strict), &lm(), QUESTION).await;
    assert_eq!(outcome.outputs.unwrap_err().error.kind, PredictErrorKind::Lm);
}
