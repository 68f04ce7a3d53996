//! Metrics that ask an LM: judges of their own signature, and stored graphs.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{LmErrorKind, LmRequest, ScriptedAnswer, ScriptedLm};
use dsrs::optimize::Metric;
use dsrs::problem::At;
use dsrs::strategy::StoredEnv;
use tokio::time::Instant;

use super::support::{judged, metric, program, score_text_by, score_text_of};

const EXPECTED: &str = r#"{"answer": "Paris", "tags": ["city"], "note": "be strict"}"#;
const OUTPUTS: &str = r#"{"answer": "Rome", "tags": ["town"]}"#;

/// An answer in sections.
fn answer(fields: &[(&str, &str)]) -> String {
    let sections = fields.iter().map(|(name, text)| format!("[[ ## {name} ## ]]\n{text}\n\n"));
    sections.chain(["[[ ## completed ## ]]".to_owned()]).collect()
}

fn lm(fields: &[(&str, &str)]) -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::always(answer(fields)))
}

/// The user message of the only request.
fn asked(lm: &ScriptedLm) -> String {
    let requests = lm.requests();
    let [request]: &[LmRequest] = &requests else { panic!("{} requests", requests.len()) };
    request.chat.turns.iter().map(|turn| turn.content.as_ref()).collect()
}

#[tokio::test]
async fn inputs_of_a_judge_are_filled_by_name() {
    let judge = r#"{"judge": {"signature":
        "question, answer, expected_answer, expected_tags: list[str], expected_note: str, hint: str? -> good: bool",
        "score": "good"}}"#;
    let lm = lm(&[("good", "true")]);
    assert_eq!(score_text_by(&lm, judge, EXPECTED, OUTPUTS).await, "1");
    let asked = asked(&lm);
    for (name, value) in [
        ("question", "Where?"),
        ("answer", "Rome"),
        ("expected_answer", "Paris"),
        ("expected_tags", r#"["city"]"#),
        ("expected_note", "be strict"),
    ] {
        assert!(asked.contains(&format!("[[ ## {name} ## ]]\n{value}\n")), "{name}: {asked}");
    }
}

#[tokio::test]
async fn scores_of_a_judge_are_scaled_with_feedback() {
    let judge = |score: &str, more: &str| {
        format!(
            r#"{{"judge": {{"signature": "answer -> score: {score}, why: str?", "score": "score"{more}}}}}"#
        )
    };
    let rows = [
        (judge("float", ""), "0.4", "0.4"),
        (judge("float", r#", "feedback": "why""#), "0.4", "0.4 | Wrong country."),
        (judge("int", r#", "scale": [1, 5], "feedback": "why""#), "4", "0.75 | Wrong country."),
        (judge("int", r#", "scale": [1, 5]"#), "7", "1"),
        (judge("int", r#", "scale": [1, 5]"#), "-1", "0"),
        (judge("bool", ""), "false", "0"),
    ];
    for (metric, score, wanted) in rows {
        let lm = lm(&[("score", score), ("why", "Wrong country.")]);
        assert_eq!(score_text_by(&lm, &metric, EXPECTED, OUTPUTS).await, wanted, "{metric}");
    }
    let silent = lm(&[("score", "0.4"), ("why", "null")]);
    let metric = judge("float", r#", "feedback": "why""#);
    assert_eq!(score_text_by(&silent, &metric, EXPECTED, OUTPUTS).await, "0.4");
}

#[tokio::test]
async fn a_judge_may_use_chain_of_thought() {
    let judge = r#"{"judge": {"signature": "answer -> score: float", "score": "score",
        "feedback": "reasoning", "strategy": "chain_of_thought"}}"#;
    let lm = lm(&[("reasoning", "Rome is in Italy."), ("score", "0")]);
    assert_eq!(score_text_by(&lm, judge, EXPECTED, OUTPUTS).await, "0 | Rome is in Italy.");
}

#[tokio::test]
async fn a_stored_graph_judges_with_one_of_its_outputs() {
    let lm = lm(&[("score", "0.25"), ("why", "Too far south.")]);
    let graded = score_text_by(&lm, r#"{"graph": "grader"}"#, EXPECTED, OUTPUTS).await;
    assert_eq!(graded, "0.25");
    assert!(asked(&lm).contains("[[ ## expected_answer ## ]]\nParis"), "{}", asked(&lm));
    let scaled = r#"{"graph": "grader", "score": "score", "feedback": "why", "scale": [0, 0.5]}"#;
    assert_eq!(score_text_by(&lm, scaled, EXPECTED, OUTPUTS).await, "0.5 | Too far south.");
    // An input with an optional type may be missing from the example.
    assert_eq!(score_text_by(&lm, r#"{"graph": "grader"}"#, "{}", OUTPUTS).await, "0.25");
}

#[tokio::test]
async fn a_deleted_judge_graph_fails_the_metric() {
    let written = metric(r#"{"graph": "grader"}"#).to_payload();
    let stored = Metric::read(&written, &StoredEnv, &program(), &At::Root).unwrap();
    assert_eq!(stored.to_payload(), written, "it is pinned as it was");
    let found = score_text_of(&lm(&[]), &stored, EXPECTED, OUTPUTS).await;
    assert_eq!(found, "missing_graph: there is no graph `grader`: this program stores none");
}

#[tokio::test]
async fn an_example_without_a_judge_input_cannot_be_scored() {
    let judge = r#"{"judge": {"signature": "expected_answer -> good: bool", "score": "good"}}"#;
    let lm = lm(&[("good", "true")]);
    let found = score_text_by(&lm, judge, "{}", OUTPUTS).await;
    let wanted = "reward_failed: the judge reads the expected `answer`, and the example has none";
    assert_eq!(found, wanted);
    let found = score_text_by(&lm, judge, r#"{"answer": 3}"#, OUTPUTS).await;
    assert!(found.starts_with("reward_failed: the expected `answer` cannot be passed"), "{found}");
    assert!(lm.requests().is_empty());
}

#[tokio::test]
async fn the_failure_of_a_judges_lm_is_the_failure_of_the_metric() {
    let judge =
        r#"{"mean": ["exact", {"judge": {"signature": "answer -> good: bool", "score": "good"}}]}"#;
    let failing = Arc::new(ScriptedLm::always(ScriptedAnswer::fail(LmErrorKind::Refused, "no")));
    let error = judged(&failing, &metric(judge), EXPECTED, OUTPUTS).await.unwrap_err();
    assert_eq!(error.kind.code(), "lm_error");
}

#[tokio::test(start_paused = true)]
async fn judges_of_one_metric_run_concurrently() {
    let lm = Arc::new(ScriptedLm::by(|request: &LmRequest| {
        let asked: String = request.chat.turns.iter().map(|turn| turn.content.as_ref()).collect();
        let kind = asked.contains("[[ ## kind ## ]]");
        let verdict = if kind { ("kind", "true") } else { ("right", "false") };
        ScriptedAnswer::from(answer(&[verdict, ("why", verdict.0)])).after(Duration::from_secs(5))
    }));
    let judge = |score: &str| {
        format!(
            r#"{{"judge": {{"signature": "answer -> {score}: bool, why", "score": "{score}", "feedback": "why"}}}}"#
        )
    };
    let both = format!(r#"{{"mean": [{}, {}]}}"#, judge("kind"), judge("right"));
    let begin = Instant::now();
    let found = score_text_by(&lm, &both, "{}", OUTPUTS).await;
    assert_eq!(found, "0.5 | judge: kind\njudge: right");
    assert_eq!(begin.elapsed(), Duration::from_secs(5));
}
