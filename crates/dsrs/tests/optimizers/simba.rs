//! `simba`: demos and rules from examples at which tries differ.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsrs::lm::{Budget, LmErrorKind, LmRequest, ScriptedAnswer, ScriptedLm};
use dsrs::optimize::{OptimizationReport, Task, Workbench};

use crate::learning::{resumes_after_an_interruption, with_feedback};
use crate::support::{QA, keeps_the_rules_at, run, task};

/// Steps of the tests that find an improvement.
const CONFIG: &str = r#"{"bsize": 10, "num_candidates": 4, "max_steps": 4}"#;

#[tokio::test]
async fn demos_and_rules_make_triage_better() {
    keeps_the_rules_at(with_feedback, "simba", CONFIG, "triage", 900, 0.15).await;
}

#[tokio::test]
async fn demos_and_rules_make_sums_better() {
    keeps_the_rules_at(with_feedback, "simba", CONFIG, "sums", 900, 0.12).await;
}

#[tokio::test]
async fn demos_and_rules_improve_both_predictors_of_a_chain() {
    keeps_the_rules_at(with_feedback, "simba", CONFIG, "orders", 1_750, 0.3).await;
}

#[tokio::test]
async fn an_interrupted_ascent_resumes_to_the_same_result() {
    let config = r#"{"bsize": 6, "num_candidates": 3, "max_steps": 2}"#;
    resumes_after_an_interruption("simba", config, "triage", &[50, 150, 190]).await;
}

#[tokio::test]
async fn a_predictor_never_exceeds_max_demos() {
    let config = r#"{"bsize": 8, "num_candidates": 4, "max_steps": 5, "max_demos": 2}"#;
    let (task, _) = with_feedback("triage", 1, Budget::default());
    let (report, _) = ascended(config, task).await;
    let held = |trial: &dsrs::optimize::Trial| {
        trial.candidate.state.0.get("sort").map_or(0, |state| state.demos.len())
    };
    let most = report.trials.iter().map(held).max();
    assert_eq!(most, Some(2));
}

#[tokio::test]
async fn without_demos_only_rules_are_learned() {
    let config = r#"{"bsize": 8, "num_candidates": 3, "max_steps": 2, "max_demos": 0}"#;
    let (task, _) = with_feedback("triage", 1, Budget::default());
    let (report, _) = ascended(config, task).await;
    assert!(report.trials.len() > 2);
    for trial in &report.trials[1..] {
        let state = &trial.candidate.state.0["sort"];
        let instruction = state.instruction.as_deref().unwrap();
        assert!(instruction.starts_with("Put the message into a queue.\n\n"), "{instruction}");
        assert!(state.demos.is_empty() && trial.origin.contains("rules"), "{}", trial.origin);
    }
}

async fn ascended(config: &str, task: Task) -> (OptimizationReport, Workbench) {
    let (report, bench) = run("simba", config, task, &[]).await;
    (report.unwrap(), bench)
}

/// The text of a request.
fn said(request: &LmRequest) -> String {
    request.chat.messages().map(|said| &*said.content).collect()
}

fn is_comparison(request: &LmRequest) -> bool {
    said(request).contains("worse_run")
}

fn answered(answer: &str) -> ScriptedAnswer {
    format!("[[ ## answer ## ]]\n{answer}\n\n[[ ## completed ## ]]").into()
}

/// Knows the answer at the second try only, unless the instruction says to try harder. Its first comparisons fail.
fn knows_at_times(rules: &'static str, failing: usize) -> Arc<ScriptedLm> {
    let compared = AtomicUsize::new(0);
    Arc::new(ScriptedLm::by(move |request| {
        if is_comparison(request) {
            if compared.fetch_add(1, Ordering::Relaxed) < failing {
                return ScriptedAnswer::fail(LmErrorKind::Refused, "not today");
            }
            return format!(
                "[[ ## comparison ## ]]\n…\n\n[[ ## advice ## ]]\n{rules}\n\n[[ ## completed ## ]]"
            )
            .into();
        }
        let asked = request.chat.messages().last().unwrap().content.to_string();
        let number = asked.split('q').nth(2).unwrap_or_default();
        let number: String = number.chars().take_while(char::is_ascii_digit).collect();
        let warm = request.params.temperature.is_some_and(|temperature| temperature > 0.6);
        match warm || said(request).contains("Try harder.") {
            true => answered(&format!("a{number}")),
            false => answered("no idea"),
        }
    }))
}

const RULES: &str = r#"{"bsize": 4, "num_candidates": 2, "max_steps": 1, "max_demos": 0}"#;

#[tokio::test]
async fn a_good_and_a_bad_try_of_one_example_are_compared() {
    let lm = knows_at_times(r#"{"`qa`": "Try harder.", "nobody": "Do nothing."}"#, 0);
    let (report, _) = ascended(RULES, task(QA, lm.clone(), Budget::default())).await;
    let best = &report.trials[report.best.0];
    assert_eq!((best.full.unwrap().mean, report.trials[0].full.unwrap().mean), (1.0, 0.0));
    assert_eq!(&*best.origin, "step 1: rules from runs that scored 0.00 and 1.00");
    let instruction = best.candidate.state.0["qa"].instruction.as_deref().unwrap();
    assert!(instruction.ends_with("\n\nTry harder."), "{instruction}");
    let requests = lm.requests();
    let request = said(requests.iter().find(|request| is_comparison(request)).unwrap());
    let (_, runs) = request.rsplit_once("[[ ## worse_run ## ]]").unwrap();
    let (worse, better) = runs.split_once("[[ ## better_run ## ]]").unwrap();
    assert!(worse.contains("answer: no idea") && worse.contains("score (0 to 1): 0"), "{worse}");
    assert!(better.contains("answer: a") && better.contains("score (0 to 1): 1"), "{better}");
}

#[tokio::test]
async fn a_failed_comparison_is_skipped() {
    let lm = knows_at_times(r#"{"qa": "Try harder."}"#, 1);
    let (report, _) = ascended(RULES, task(QA, lm.clone(), Budget::default())).await;
    assert_eq!((report.stopped.clone(), report.trials.len()), (None, 2));
    assert_eq!(lm.requests().iter().filter(|request| is_comparison(request)).count(), 2);
}

#[tokio::test]
async fn an_ascent_whose_every_comparison_fails_has_failed() {
    let lm = knows_at_times("", usize::MAX);
    let (report, _) = run("simba", RULES, task(QA, lm, Budget::default()), &[]).await;
    let why = "all 2 requests for proposals failed, the last with `lm_error`: not today";
    assert_eq!(report.unwrap_err().to_string(), why);
}

#[tokio::test]
async fn tries_that_are_all_perfect_bring_no_rules() {
    let lm = knows_at_times(r#"{"qa": "Be nice."}"#, 0);
    let mut task = task(QA, lm.clone(), Budget::default());
    task.base = task.base.with("qa", |state| state.instruction = Some("Try harder.".into()));
    let (report, _) = ascended(RULES, task).await;
    assert_eq!((report.best, report.trials.len()), (Workbench::BASE, 1));
    assert!(!lm.requests().iter().any(is_comparison));
}
