//! Outages: a failure of the provider is no score. What it keeps from a score is tried again, counted, and left out
//! of every comparison; if that is too much, the work has failed.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dsrs::lm::{Budget, LmErrorKind, LmRequest, Role, ScriptedAnswer, ScriptedLm};
use dsrs::optimize::{
    EarlyStop, Rollout, RolloutFailure, Task, TrialId, Workbench, paired_bootstrap,
};
use dsrs::value::Payload;

use crate::support::{QA, questions, run, task};

fn said(request: &LmRequest) -> String {
    request.chat.messages().last().unwrap().content.to_string()
}

/// The number of the question, and the right answer to it.
fn right(request: &LmRequest) -> ScriptedAnswer {
    let said = said(request);
    let question = said.split("[[ ## question ## ]]\nq").nth(1).unwrap_or_default();
    let number = question.split('?').next().unwrap_or_default();
    format!("[[ ## answer ## ]]\na{number}\n\n[[ ## completed ## ]]").into()
}

fn down() -> ScriptedAnswer {
    ScriptedAnswer::fail(LmErrorKind::Provider, "the provider is down").status(503)
}

/// Right at everything, but the first requests meet an outage.
fn down_at_first(requests: usize) -> Arc<ScriptedLm> {
    let asked = AtomicUsize::new(0);
    Arc::new(ScriptedLm::by(move |request| {
        let is_down = asked.fetch_add(1, Ordering::Relaxed) < requests;
        if is_down { down() } else { right(request) }
    }))
}

/// Right once it is shown demos; for one question it is down whenever it has none.
fn down_for(question: &'static str) -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::by(move |request| {
        let is_shown = request.chat.messages().any(|turn| turn.role == Role::Assistant);
        match is_shown {
            true => right(request),
            false if said(request).contains(question) => down(),
            false => "[[ ## answer ## ]]\n?\n\n[[ ## completed ## ]]".into(),
        }
    }))
}

#[tokio::test(start_paused = true)]
async fn a_baseline_that_met_an_outage_is_no_baseline() {
    // Long enough for all tries of the ten held-out examples.
    let task = task(QA, down_at_first(60), Budget::default());
    let (report, _) = run("labeled_few_shot", "{}", task, &questions(40..50)).await;
    let stop = report.expect_err("an outage must not count as a score of 0");
    let EarlyStop::Failed(why) = stop else { panic!("{stop}") };
    for part in ["10 of 10", "`max_unmeasured`", "lm_error", "the provider is down"] {
        assert!(why.contains(part), "{part} in {why}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_example_without_a_score_is_tried_again_at_the_end() {
    let failed_once = Mutex::new(HashSet::new());
    let lm = Arc::new(ScriptedLm::by(move |request| {
        // Refused for the key, so that the request itself is not repeated.
        match failed_once.lock().unwrap().insert(said(request)) {
            true => ScriptedAnswer::fail(LmErrorKind::Refused, "no such key").status(401),
            false => right(request),
        }
    }));
    let task = task(QA, lm.clone(), Budget::default());
    let bench = Workbench::new(task);
    let base = bench.candidate(Workbench::BASE);
    let questions = questions(0..4);
    let examples: Vec<_> = questions.iter().collect();
    let evaluation = bench.evaluate(&base, &examples, None).await.unwrap();
    assert_eq!((evaluation.mean(), evaluation.unmeasured(), lm.requests().len()), (1.0, 0, 8));
}

#[tokio::test(start_paused = true)]
async fn an_unmeasured_example_is_on_neither_side_of_a_comparison() {
    let task = Task { max_unmeasured: 0.1, ..task(QA, down_for("q44?"), Budget::default()) };
    let (report, _) = run("labeled_few_shot", "{}", task, &questions(40..50)).await;
    let report = report.unwrap();
    assert_eq!((report.best, report.unmeasured()), (TrialId(1), 1));
    let (before, after) = report.held_out_scores();
    assert_eq!((before, after), (vec![0.0; 9], vec![1.0; 9]));
}

#[tokio::test(start_paused = true)]
async fn without_a_measured_pair_no_gain_is_certain() {
    let lm = Arc::new(ScriptedLm::by(|request| {
        let is_shown = request.chat.messages().any(|turn| turn.role == Role::Assistant);
        if is_shown { right(request) } else { down() }
    }));
    let task = Task { max_unmeasured: 1.0, ..task(QA, lm, Budget::default()) };
    let (report, _) = run("labeled_few_shot", "{}", task, &questions(40..50)).await;
    let report = report.unwrap();
    assert_eq!((report.best, report.unmeasured()), (TrialId(1), 10));
    let (before, after) = report.held_out_scores();
    assert!(paired_bootstrap(&before, &after, 7).certainty().is_err());
}

#[tokio::test(start_paused = true)]
async fn the_search_compares_candidates_by_what_both_measured() {
    let task = Task { max_unmeasured: 1.0, ..task(QA, down_for("q24?"), Budget::default()) };
    let bench = Workbench::new(task);
    let evaluation = bench.full(Workbench::BASE).await.unwrap();
    assert_eq!((evaluation.unmeasured(), evaluation.failures(), evaluation.mean()), (1, 0, 0.0));
    let trial = bench.trial(Workbench::BASE).unwrap();
    let scored = trial.full.unwrap();
    assert_eq!((scored.examples, scored.unmeasured), (19, 1));
    let cause = trial.cause.unwrap();
    assert_eq!((&*cause.failure.code, cause.count), ("lm_error", 1));
}

#[tokio::test(start_paused = true)]
async fn a_search_stops_when_an_outage_begins_in_the_middle() {
    let asked = AtomicUsize::new(0);
    let lm = Arc::new(ScriptedLm::by(move |request| {
        let is_down = asked.fetch_add(1, Ordering::Relaxed) >= 10;
        if is_down { down() } else { right(request) }
    }));
    let (report, bench) =
        run("labeled_few_shot", "{}", task(QA, lm, Budget::default()), &questions(40..50)).await;
    let stop = report.unwrap_err();
    assert!(matches!(&stop, EarlyStop::Failed(why) if why.contains("20 of 20")), "{stop}");
    let scored = bench.trial(TrialId(1)).unwrap().full.unwrap();
    assert_eq!((scored.examples, scored.unmeasured), (0, 20), "the candidate says why");
}

#[tokio::test(start_paused = true)]
async fn an_optimization_without_a_single_proposal_has_failed() {
    for optimizer in ["copro", "gepa", "simba", "mipro_v2"] {
        let lm = Arc::new(ScriptedLm::by(|request| {
            let all: String =
                request.chat.messages().map(|turn| turn.content.to_string()).collect();
            match all.contains("[[ ## question ## ]]") && !all.contains("instruction_so_far") {
                true => "[[ ## answer ## ]]\n?\n\n[[ ## completed ## ]]".into(),
                false => {
                    ScriptedAnswer::fail(LmErrorKind::Provider, "proposals are down").status(503)
                }
            }
        }));
        let task = task(QA, lm, Budget::default());
        let (report, _) = run(optimizer, "{}", task, &questions(40..50)).await;
        let stop = report.err().unwrap_or_else(|| panic!("{optimizer} reports a result"));
        assert!(matches!(stop, EarlyStop::Failed(_)), "{optimizer}: {stop}");
        assert!(stop.to_string().contains("proposals are down"), "{optimizer}: {stop}");
    }
}

#[test]
fn a_stored_failure_says_whether_it_is_the_programs() {
    let failure = |is_unmeasured| RolloutFailure {
        code: "timeout".into(),
        message: "too late".into(),
        node: None,
        is_unmeasured,
    };
    for is_unmeasured in [true, false] {
        let rollout = Rollout::failed(failure(is_unmeasured));
        let read = Payload::from_json(&rollout.to_payload().to_json()).unwrap();
        let read = Rollout::from_payload(&read).unwrap();
        assert_eq!((read.is_measured(), &read), (!is_unmeasured, &rollout));
    }
}
