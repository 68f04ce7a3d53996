//! `threshold_calibration`: rules of decisions from examples, with an LM whose probabilities are in order and too low.

use std::sync::Arc;

use dsrs::lm::{Budget, LmRequest, ScriptedLm};
use dsrs::optimize::{EarlyStop, Example, OptimizationReport, Task, Workbench};
use dsrs::predict::state_to_payload;

use crate::support::{fields, keeps_the_rules_at, means, run, task};

const SPAM: &str = r#"{"name": "g", "nodes": {"judge": {"strategy": "decide", "config": {},
    "signature": "text -> spam: bool"}}}"#;

/// A decision that another prompt depends on.
const CHAIN: &str = r#"{"name": "g",
    "nodes": {"judge": {"strategy": "decide", "config": {}, "signature": "text -> spam: bool"},
              "reply": {"strategy": "predict", "signature": "spam: bool -> answer", "config": {}}},
    "edges": [{"from": "judge.spam", "to": "reply.spam"}], "outputs": {"answer": "reply.answer"}}"#;

const MOOD: &str = r#"{"name": "g", "nodes": {"judge": {"strategy": "decide",
    "config": {"criteria": {"mood": ["bad", "fair", "good"]}}, "signature": "text -> mood: int"}}}"#;

const QUEUE: &str = r#"{"name": "g", "types": {"Queue": {"enum": {"amber": null, "blue": null, "green": null}}},
    "nodes": {"judge": {"strategy": "decide", "config": {}, "signature": "text -> queue: Queue"}}}"#;

/// The number in the text of a request, from 0 to 99.
fn number(request: &LmRequest) -> f64 {
    let asked = &request.chat.turns[0].content;
    let digits = asked.split("case ").nth(1).and_then(|rest| rest.split_whitespace().next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(-1.0)
}

/// An LM that states probabilities of all three kinds; they rise with the number and are too low for what is expected.
fn lm() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::by(|request: &LmRequest| {
        let number = number(request);
        if number < 0.0 {
            let spam = request.chat.turns[0].content.contains("true");
            return format!("[[ ## answer ## ]]\n{}", if spam { "no" } else { "yes" });
        }
        let low = number * 0.004;
        let amber = (1.0 - low) * 0.2;
        let section = |name: &str, value: String| format!("[[ ## {name} ## ]]\n{value}\n\n");
        section("spam_probability", format!("{low}"))
            + &section(
                "mood_probabilities",
                format!(r#"{{"0": {}, "1": 0, "2": {low}}}"#, 1.0 - low),
            )
            + &section(
                "queue_probabilities",
                format!(r#"{{"amber": {amber}, "blue": {low}, "green": 0.5}}"#),
            )
    }))
}

/// The task of a graph, with the expected output of each number: 20 train, 20 val, 20 held out.
fn made(document: &str, expected: fn(usize) -> String, budget: Budget) -> (Task, Vec<Example>) {
    let example = |n: usize| {
        let number = n * 37 % 100;
        let inputs = fields(&format!(r#"{{"text": "case {number} of many"}}"#));
        Example::of(inputs, fields(&expected(number)))
    };
    let mut rows: Vec<Example> = (0..60).map(example).collect();
    let held_out = rows.split_off(40);
    let val = rows.split_off(20);
    (Task { train: rows, val, ..task(document, lm(), budget) }, held_out)
}

fn spam(number: usize) -> String {
    format!(r#"{{"spam": {}}}"#, number >= 50)
}

/// The rules of the best candidate.
fn rules(report: &OptimizationReport, bench: &Workbench) -> String {
    let best = bench.candidate(report.best);
    let states = best.state.0.iter().map(|(_, state)| state_to_payload(state).to_json());
    states.collect::<Vec<_>>().join("\n")
}

async fn calibrated(document: &str, expected: fn(usize) -> String) -> (f64, f64, String, u64) {
    let (task, held_out) = made(document, expected, Budget::default());
    let (report, bench) = run("threshold_calibration", "{}", task, &held_out).await;
    let report = report.unwrap();
    let (before, after) = means(&report);
    (before, after, rules(&report, &bench), report.spent.lm_calls)
}

#[tokio::test]
async fn a_threshold_is_found_in_the_widest_gap_and_each_example_is_bought_once() {
    let (before, after, rules, calls) = calibrated(SPAM, spam).await;
    assert_eq!((before, after), (0.45, 1.0));
    assert_eq!(rules, r#"{"instruction":null,"demos":[],"decisions":{"spam":{"threshold":0.2}}}"#);
    assert_eq!(calls, 60);
}

#[tokio::test]
async fn cuts_of_a_score_are_found() {
    let mood = |number: usize| {
        let level = if number < 20 { 0 } else { usize::from(number >= 60) + 1 };
        format!(r#"{{"mood": {level}}}"#)
    };
    let (before, after, rules, calls) = calibrated(MOOD, mood).await;
    assert!(before < 0.5 && after > 0.9, "{before} to {after}: {rules}");
    assert_eq!(calls, 60);
}

#[tokio::test]
async fn weights_of_a_choice_are_found() {
    let queue = |number: usize| {
        let queue = if number < 40 { "amber" } else { "blue" };
        format!(r#"{{"queue": "{queue}"}}"#)
    };
    let (before, after, rules, calls) = calibrated(QUEUE, queue).await;
    assert!(before < 0.1 && after > 0.9, "{before} to {after}: {rules}");
    assert_eq!(calls, 60);
}

#[tokio::test]
async fn a_decision_that_leads_to_other_requests_buys_only_those() {
    let answer = |number: usize| {
        let answer = if number >= 50 { "no" } else { "yes" };
        format!(r#"{{"answer": "{answer}"}}"#)
    };
    let (before, after, rules, calls) = calibrated(CHAIN, answer).await;
    assert!(before < 0.5 && after > 0.9, "{before} to {after}: {rules}");
    // One request for each text, and one for each of the two decisions.
    assert_eq!(calls, 62);
}

#[tokio::test]
async fn a_rule_that_is_not_better_stays() {
    let never = |_: usize| r#"{"spam": false}"#.to_owned();
    let (before, after, rules, _) = calibrated(SPAM, never).await;
    assert_eq!((before, after, rules.as_str()), (1.0, 1.0, ""));
}

#[tokio::test]
async fn a_program_without_decisions_is_refused_with_the_way_out() {
    let other = SPAM.replace("decide", "predict");
    let (task, held_out) = made(&other, spam, Budget::default());
    let (report, _) = run("threshold_calibration", "{}", task, &held_out).await;
    let Err(EarlyStop::Failed(why)) = report else { panic!("{report:?}") };
    assert!(why.contains("use the strategy `decide`"), "{why}");
}

#[tokio::test]
async fn it_resumes_and_stops_like_the_others() {
    let made = |_: &str, _: u64, budget: Budget| made(SPAM, spam, budget);
    keeps_the_rules_at(made, "threshold_calibration", "{}", "spam", 100, 0.4).await;
}
