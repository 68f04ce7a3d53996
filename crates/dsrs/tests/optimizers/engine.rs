//! The evaluation engine: no request is paid for twice, budgets are not exceeded, and a stopped
//! evaluation stops cleanly.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{
    Budget, BudgetAccount, BudgetLimit, BudgetedReplies, LmErrorKind, LmReply, Model, Models,
    NoStore, Prices, RecordedReply, RecordingError, ReplyStore, RequestKey, ScriptedAnswer,
    ScriptedLm, Usage,
};
use dsrs::optimize::{EarlyStop, Example, Task, TrialId, Workbench};
use dsrs::predict::Variation;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::labeled_few_shot::copies_demos;
use crate::support::{QA, questions, run, task};

/// A graph that returns `a0` if its LM fails.
const OR_A0: &str = r#"{
    "name": "qa",
    "nodes": {
        "qa": {"strategy": "predict", "signature": "question -> answer", "config": {}},
        "or": {"strategy": "unwrap_or", "config": {"default": "a0"}}
    },
    "edges": [{"from": "input.question", "to": "qa.question"},
              {"from": "qa.answer", "to": "or.value"}],
    "outputs": {"answer": "or.value"}
}"#;

fn all(examples: &[Example]) -> Vec<&Example> {
    examples.iter().collect()
}

#[tokio::test]
async fn a_rollout_is_never_repeated() {
    let lm = copies_demos();
    let bench = Workbench::new(task(QA, lm.clone(), Budget::default()));
    let base = bench.candidate(Workbench::BASE);
    let questions = questions(0..5);
    let first = bench.evaluate(&base, &all(&questions), None).await.unwrap();
    let again = bench.evaluate(&base, &all(&questions), None).await.unwrap();
    assert_eq!((first.scores(), lm.requests().len()), (again.scores(), 5));
}

#[tokio::test]
async fn a_budget_of_calls_is_spent_exactly() {
    for limit in [0, 1, 7, 15, 39] {
        let lm = copies_demos();
        let budget = Budget { lm_calls: Some(limit), ..Budget::default() };
        let task = task(QA, lm.clone(), budget);
        let (report, _) = run("labeled_few_shot", "{}", task, &questions(40..50)).await;
        let report = report.unwrap();
        assert_eq!(report.stopped, Some(EarlyStop::BudgetSpent(BudgetLimit::LmCalls)), "{limit}");
        assert!(lm.requests().len() as u64 <= limit);
        assert_eq!(report.spent.lm_calls, lm.requests().len() as u64);
        // A candidate without a full evaluation is not selected.
        assert!(report.trials[report.best.0].full.is_some() || report.best == TrialId(0));
    }
}

#[tokio::test]
async fn a_failing_example_scores_0_and_does_not_stop_the_others() {
    let lm = ScriptedLm::by(|request| {
        let asked = request.chat.messages().last().unwrap().content.clone();
        match asked.contains("q3?") {
            true => ScriptedAnswer::fail(LmErrorKind::Refused, "not this one"),
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
async fn a_default_for_an_unpaid_answer_does_not_count() {
    let lm = copies_demos();
    let budget = Budget { lm_calls: Some(1), ..Budget::default() };
    let bench = Workbench::new(task(OR_A0, lm, budget));
    let base = bench.candidate(Workbench::BASE);
    let questions = questions(0..3);
    let stopped = bench.evaluate(&base, &all(&questions), None).await.unwrap_err();
    assert_eq!(stopped, EarlyStop::BudgetSpent(BudgetLimit::LmCalls));
}

#[tokio::test]
async fn a_cancelled_optimization_returns_its_results() {
    let hanging = ScriptedLm::by(|_| ScriptedAnswer::hang());
    let task = task(QA, Arc::new(hanging), Budget::default());
    let cancelled = task.evaluator.cancelled.clone();
    let running = run("labeled_few_shot", "{}", task, &[]);
    let cancel = async {
        tokio::task::yield_now().await;
        cancelled.cancel();
    };
    let ((report, _), ()) = tokio::join!(running, cancel);
    let report = report.unwrap();
    assert_eq!((report.stopped, report.best), (Some(EarlyStop::Cancelled), TrialId(0)));
    assert_eq!(report.trials.len(), 2);
}

/// A model that costs 10 for a million tokens read and 30 for a million written.
fn priced(lm: Arc<ScriptedLm>) -> Models {
    let prices = Some(Prices::of(10.0, 30.0));
    Models::new([Model { prices, ..Model::of(Models::DEFAULT, lm) }], None)
}

#[tokio::test]
async fn concurrent_requests_never_exceed_a_budget() {
    let budgets = [
        Budget { tokens: Some(9_000), ..Budget::default() },
        Budget { tokens: Some(20_000), ..Budget::default() },
        Budget { cost: Some(0.2), ..Budget::default() },
        Budget { cost: Some(0.5), tokens: Some(30_000), ..Budget::default() },
    ];
    for budget in budgets {
        let mut task = task(QA, copies_demos(), budget);
        task.evaluator.models = Arc::new(priced(copies_demos()));
        let (report, _) = run("labeled_few_shot", r#"{"k": 8}"#, task, &questions(40..60)).await;
        let report = report.unwrap();
        let spent = report.spent;
        assert!(spent.lm_calls > 0, "{budget:?}");
        let tokens = spent.input_tokens + spent.output_tokens;
        assert!(budget.tokens.is_none_or(|limit| tokens <= limit), "{budget:?}, {spent:?}");
        assert!(budget.cost.is_none_or(|limit| spent.cost.unwrap() <= limit), "{spent:?}");
    }
}

#[tokio::test]
async fn a_request_has_max_tokens_if_tokens_are_limited() {
    let lm = copies_demos();
    let budget = Budget { tokens: Some(100_000), ..Budget::default() };
    let bench = Workbench::new(task(QA, lm.clone(), budget));
    let base = bench.candidate(Workbench::BASE);
    bench.evaluate(&base, &all(&questions(0..1)), None).await.unwrap();
    assert_eq!(lm.requests()[0].params.max_tokens, Some(4096));
}

#[tokio::test]
async fn a_cost_budget_requires_prices() {
    let budget = Budget { cost: Some(1.0), ..Budget::default() };
    let task = task(QA, copies_demos(), budget);
    let (report, _) = run("labeled_few_shot", "{}", task, &questions(40..42)).await;
    let failed = report.unwrap_err();
    assert!(matches!(&failed, EarlyStop::Failed(why) if why.contains("`default` has no prices")));
}

#[tokio::test(start_paused = true)]
async fn results_count_when_the_time_is_over() {
    let lm = ScriptedLm::by(|_| {
        ScriptedAnswer::from("[[ ## answer ## ]]\na1\n\n[[ ## completed ## ]]")
            .after(Duration::from_secs(1))
    });
    let budget = Budget { seconds: Some(2.5), ..Budget::default() };
    let task = Task { concurrency: 4, ..task(QA, Arc::new(lm), budget) };
    let start = tokio::time::Instant::now();
    let (report, _) = run("labeled_few_shot", "{}", task, &questions(40..44)).await;
    let report = report.unwrap();
    assert_eq!(report.stopped, Some(EarlyStop::BudgetSpent(BudgetLimit::Seconds)));
    assert!(start.elapsed() <= Duration::from_millis(2_600), "{:?}", start.elapsed());
}

#[tokio::test]
async fn usage_of_earlier_attempts_counts() {
    let lm = copies_demos();
    let mut task = task(QA, lm.clone(), Budget::default());
    let budget = Budget { lm_calls: Some(12), ..Budget::default() };
    let before = Usage { lm_calls: 9, ..Usage::default() };
    let budgeted =
        BudgetedReplies::new(BudgetAccount::open(budget, before, 0.0), Arc::new(NoStore));
    task.evaluator.budgeted = Some(Arc::new(budgeted));
    let (report, _) = run("labeled_few_shot", "{}", task, &questions(40..50)).await;
    assert_eq!((report.unwrap().spent.lm_calls, lm.requests().len()), (12, 3));
}

#[tokio::test]
async fn requests_that_fail_count_and_are_repeated() {
    let lm = ScriptedLm::by(|_| ScriptedAnswer::fail(LmErrorKind::Provider, "down").status(500));
    let lm = Arc::new(lm);
    let budget = Budget { lm_calls: Some(5), ..Budget::default() };
    let mut task = task(QA, lm.clone(), budget);
    task.concurrency = 1;
    let (report, _) = run("labeled_few_shot", "{}", task, &questions(40..50)).await;
    assert_eq!((report.unwrap().spent.lm_calls, lm.requests().len()), (5, 5));
}

#[tokio::test]
async fn tries_of_an_example_differ_and_are_reproducible() {
    let lm = copies_demos();
    let bench = Workbench::new(task(QA, lm.clone(), Budget::default()));
    let base = bench.candidate(Workbench::BASE);
    let question = questions(0..1);
    for number in [1, 2, 1] {
        let varied = Some(Variation { number, temperature: 0.9 });
        bench.evaluate(&base, &all(&question), varied).await.unwrap();
    }
    let seeds: Vec<_> = lm.requests().iter().map(|request| request.params.seed).collect();
    assert_eq!((seeds.len(), seeds[0] == seeds[1]), (2, false));
    assert_eq!(lm.requests()[0].params.temperature, Some(0.9));
}

/// Keeps nothing, as one who has lost the right to.
struct Lost;

impl ReplyStore for Lost {
    fn find(&self, _: RequestKey) -> BoxFuture<'_, Result<Option<LmReply>, RecordingError>> {
        async { Ok(None) }.boxed()
    }

    fn record(&self, _: RecordedReply) -> BoxFuture<'_, Result<(), RecordingError>> {
        async { Err(RecordingError("another has taken over".into())) }.boxed()
    }
}

#[tokio::test]
async fn a_failed_reply_store_stops_the_optimization() {
    let lm = copies_demos();
    let mut task = task(QA, lm.clone(), Budget::default());
    let account = BudgetAccount::open(Budget::default(), Usage::default(), 0.0);
    task.evaluator.budgeted = Some(Arc::new(BudgetedReplies::new(account, Arc::new(Lost))));
    let (report, _) = run("labeled_few_shot", "{}", task, &questions(40..41)).await;
    assert_eq!(report.unwrap_err(), EarlyStop::NotRecorded("another has taken over".into()));
    assert_eq!(lm.requests().len(), 1);
}

#[tokio::test]
async fn a_bench_can_select_by_a_fixed_sample() {
    let bench = Workbench::new(task(QA, copies_demos(), Budget::default()));
    let some = bench.choosing_by(7);
    let places = some.val().iter().map(|one| bench.val().iter().position(|other| one == other));
    let places: Option<Vec<usize>> = places.collect();
    assert!(places.is_some_and(|places| places.len() == 7 && places.is_sorted()));
    assert_eq!(bench.choosing_by(7).val(), some.val());
    assert_eq!(bench.choosing_by(100).val(), bench.val());
    assert_eq!(some.full(some.start()).await.unwrap().len(), 7);
    assert_eq!(some.starting_from(TrialId(0)).val(), some.val());
    // One candidate was tried, so others can be compared with it.
    assert_eq!(some.choosing_by(3).val(), some.val());
}

#[tokio::test]
async fn a_default_for_an_unrecorded_answer_does_not_count() {
    let mut task = task(OR_A0, copies_demos(), Budget::default());
    let account = BudgetAccount::open(Budget::default(), Usage::default(), 0.0);
    task.evaluator.budgeted = Some(Arc::new(BudgetedReplies::new(account, Arc::new(Lost))));
    let bench = Workbench::new(task);
    let base = bench.candidate(Workbench::BASE);
    let questions = questions(0..3);
    let (rollouts, stop) = bench.roll_out(&base, &all(&questions), None).await.unwrap();
    assert_eq!(stop, Some(EarlyStop::NotRecorded("another has taken over".into())));
    assert_eq!(rollouts.iter().flatten().count(), 0);
}
