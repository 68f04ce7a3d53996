//! The evaluation engine: nothing is bought twice, budgets are kept, what stops stops cleanly.

use std::sync::Arc;

use dsrs::lm::{Answer, Budget, Limit, LmErrorKind, Scripted};
use dsrs::optimize::{Example, Stop, TrialId, Workbench};

use crate::labeled_few_shot::copies_demos;
use crate::support::{QA, questions, run, task};

fn all(examples: &[Example]) -> Vec<&Example> {
    examples.iter().collect()
}

#[tokio::test]
async fn what_was_rolled_out_once_is_not_rolled_out_again() {
    let lm = copies_demos();
    let bench = Workbench::new(task(QA, lm.clone(), Budget::default()));
    let base = bench.candidate(Workbench::BASE);
    let questions = questions(0..5);
    let first = bench.evaluate(&base, &all(&questions), None).await.unwrap();
    let again = bench.evaluate(&base, &all(&questions), None).await.unwrap();
    assert_eq!((first.scores(), lm.requests().len()), (again.scores(), 5));
}

#[tokio::test]
async fn a_budget_of_calls_is_spent_to_the_last_one_and_not_beyond() {
    for limit in [0, 1, 7, 15, 39] {
        let lm = copies_demos();
        let budget = Budget { lm_calls: Some(limit), ..Budget::default() };
        let task = task(QA, lm.clone(), budget);
        let (report, _) = run("labeled_few_shot", "{}", task, &questions(40..50)).await;
        let report = report.unwrap();
        assert_eq!(report.stopped, Some(Stop::Spent(Limit::LmCalls)), "{limit}");
        assert!(lm.requests().len() as u64 <= limit);
        assert_eq!(report.spent.lm_calls, lm.requests().len() as u64);
        // What was not tried on all examples is not chosen.
        assert!(report.trials[report.best.0].full.is_some() || report.best == TrialId(0));
    }
}

#[tokio::test]
async fn a_failing_example_scores_0_and_does_not_stop_the_others() {
    let lm = Scripted::by(|request| {
        let asked = request.chat.messages().last().unwrap().content.clone();
        match asked.contains("q3?") {
            true => Answer::fail(LmErrorKind::Refused, "not this one"),
            false => "[[ ## answer ## ]]\na1\n\n[[ ## completed ## ]]".into(),
        }
    });
    let bench = Workbench::new(task(QA, Arc::new(lm), Budget::default()));
    let base = bench.candidate(Workbench::BASE);
    let questions = questions(1..5);
    let evaluation = bench.evaluate(&base, &all(&questions), None).await.unwrap();
    assert_eq!((evaluation.scores(), evaluation.failures()), (vec![1.0, 0.0, 0.0, 0.0], 1));
    assert_eq!(&*evaluation.rollouts[2].error.as_ref().unwrap().code, "lm_error");
}

#[tokio::test]
async fn a_default_in_the_place_of_an_answer_that_was_not_paid_for_does_not_count() {
    let graph = r#"{
        "name": "qa",
        "nodes": {
            "qa": {"strategy": "predict", "signature": "question -> answer", "config": {}},
            "or": {"strategy": "unwrap_or", "config": {"default": "a0"}}
        },
        "edges": [{"from": "input.question", "to": "qa.question"},
                  {"from": "qa.answer", "to": "or.value"}],
        "outputs": {"answer": "or.value"}
    }"#;
    let lm = copies_demos();
    let budget = Budget { lm_calls: Some(1), ..Budget::default() };
    let bench = Workbench::new(task(graph, lm, budget));
    let base = bench.candidate(Workbench::BASE);
    let questions = questions(0..3);
    let stopped = bench.evaluate(&base, &all(&questions), None).await.unwrap_err();
    assert_eq!(stopped, Stop::Spent(Limit::LmCalls));
}

#[tokio::test]
async fn who_cancels_gets_what_was_found() {
    let hanging = Scripted::by(|_| Answer::hang());
    let task = task(QA, Arc::new(hanging), Budget::default());
    let cancelled = task.evaluator.cancelled.clone();
    let running = run("labeled_few_shot", "{}", task, &[]);
    let cancel = async {
        tokio::task::yield_now().await;
        cancelled.cancel();
    };
    let ((report, _), ()) = tokio::join!(running, cancel);
    let report = report.unwrap();
    assert_eq!((report.stopped, report.best), (Some(Stop::Cancelled), TrialId(0)));
    assert_eq!(report.trials.len(), 2);
}
