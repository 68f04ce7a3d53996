//! Waiting times, exhausted budgets and programs that cannot be built never affect a score, and an
//! optimization that another process resumes makes the same decisions.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{
    Budget, BudgetAccount, BudgetLimit, BudgetedReplies, LmErrorKind, LmReply, Model, Models,
    ReplyCache, ScriptedAnswer, ScriptedLm, Usage,
};
use dsrs::optimize::{
    CandidateSearch, EarlyStop, Example, Task, TrialId, Workbench, optimize, tunable,
};
use dsrs::predict::{Demo, PredictError, PredictErrorKind};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};

use crate::labeled_few_shot::copies_demos;
use crate::support::{QA, Remembering, fields, program, questions, run, synthetic, task};

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

const SECOND: Duration = Duration::from_secs(1);

fn all(examples: &[Example]) -> Vec<&Example> {
    examples.iter().collect()
}

fn says(answer: &str) -> String {
    format!("[[ ## answer ## ]]\n{answer}\n\n[[ ## completed ## ]]")
}

fn budgeted(budget: Budget, spent: Usage, store: Arc<Remembering>) -> Arc<BudgetedReplies> {
    Arc::new(BudgetedReplies::new(BudgetAccount::open(budget, spent, 0.0), store))
}

/// Knows the answers to as many questions from `q20` on as its instruction says, and to all others.
fn knows_as_instructed() -> Arc<ScriptedLm> {
    let number = |text: &str| -> usize {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or_default()
    };
    Arc::new(ScriptedLm::by(move |request| {
        let said: Vec<_> = request.chat.messages().collect();
        let known = said[0].content.split("know ").nth(1).map_or(0, number);
        let asked = said.last().unwrap().content.split('q').nth(2).map_or(0, number);
        says(&if (20 + known..40).contains(&asked) {
            "no idea".to_owned()
        } else {
            format!("a{asked}")
        })
    }))
}

/// Tries instructions that are better and better, for ever.
struct Endless;

impl CandidateSearch for Endless {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        async {
            for known in 1.. {
                let instruction = format!("You know {known} things.");
                let next = bench.candidate(Workbench::BASE);
                let next = next.with("qa", |state| state.instruction = Some(instruction.into()));
                let id = bench.enter(next, &[Workbench::BASE], "knows more");
                bench.full(id).await?;
            }
            Ok(Workbench::BASE)
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_restart_during_the_final_measurement_selects_the_same_candidate() {
    let budget = Budget { lm_calls: Some(100), ..Budget::default() };
    let (store, held_out) = (Arc::new(Remembering::default()), questions(40..50));
    let mut found = Vec::new();
    // The second attempt has the replies of the first, and a smaller budget than the final measurement needs.
    for spent in [0, 88] {
        let mut task = task(QA, knows_as_instructed(), budget);
        let spent = Usage { lm_calls: spent, ..Usage::default() };
        task.evaluator.budgeted = Some(budgeted(budget, spent, store.clone()));
        let bench = Workbench::new(task);
        let report = optimize(&bench, &Endless, &held_out).await.unwrap();
        assert_eq!(report.stopped, Some(EarlyStop::BudgetSpent(BudgetLimit::LmCalls)));
        found.push((report.best, report.held_out_scores().0.len()));
    }
    assert_eq!(found, [(TrialId(3), 10); 2]);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_budget_does_not_count_as_time_of_the_program() {
    // All requests at once could exceed the budget, a few at a time do not. The time of some
    // runs out while they are in flight, but they waited for the budget longer than that.
    let lm = ScriptedLm::by(|_| ScriptedAnswer::from(says("a1")).after(25 * SECOND));
    let budget = Budget { tokens: Some(15_000), ..Budget::default() };
    let mut task = task(QA, Arc::new(lm), budget);
    task.evaluator.timeout = 60 * SECOND;
    let bench = Workbench::new(task);
    let base = bench.candidate(Workbench::BASE);
    let evaluation = bench.evaluate(&base, &all(&questions(0..6)), None).await.unwrap();
    assert_eq!(evaluation.failures(), 0, "{:?}", evaluation.rollouts[5].error);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_permit_does_not_count_as_time_of_a_proposal() {
    let lm = ScriptedLm::by(|_| ScriptedAnswer::from(says("a1")).after(40 * SECOND));
    let mut task = Task { concurrency: 1, ..task(QA, Arc::new(lm), Budget::default()) };
    task.evaluator.timeout = 60 * SECOND;
    let bench = Workbench::new(task);
    let (_, schema) = tunable(&program(QA)).remove(0);
    let asked =
        (1..=4).map(|number| bench.ask(&schema, fields(r#"{"question": "?"}"#), number, 1.0));
    let answered = join_all(asked).await.into_iter().filter(Result::is_ok).count();
    assert_eq!(answered, 4);
}

#[tokio::test(start_paused = true)]
async fn a_request_of_unknown_cost_counts_with_its_worst_case_cost() {
    let budget = Budget { tokens: Some(20_000), ..Budget::default() };
    for (answer, counts) in [
        (ScriptedAnswer::hang(), true),
        (ScriptedAnswer::fail(LmErrorKind::Malformed, "half an answer"), true),
        (ScriptedAnswer::fail(LmErrorKind::Provider, "down").status(500), false),
        (ScriptedAnswer::fail(LmErrorKind::Refused, "no").status(400), false),
    ] {
        let bench = Workbench::new(task(QA, Arc::new(ScriptedLm::always(answer)), budget));
        let base = bench.candidate(Workbench::BASE);
        bench.evaluate(&base, &all(&questions(0..1)), None).await.unwrap();
        let spent = bench.account().unwrap().spent();
        assert!(spent.lm_calls > 0);
        assert_eq!(spent.input_tokens > 0 && spent.output_tokens >= 4_096, counts, "{spent:?}");
    }
}

#[tokio::test]
async fn a_candidate_that_does_not_build_fails_on_every_example() {
    let bench = Workbench::new(task(QA, copies_demos(), Budget::default()));
    let base = bench.candidate(Workbench::BASE);
    let gap = Demo { input: fields("{}"), output: fields(r#"{"answer": "a1"}"#) };
    let unfit = base.with("qa", |state| state.demos = vec![gap]);
    let id = bench.enter(unfit, &[Workbench::BASE], "a demo without its question");
    let evaluation = bench.full(id).await.unwrap();
    assert_eq!((evaluation.len(), evaluation.failures(), evaluation.mean()), (20, 20, 0.0));
    let error = evaluation.rollouts[0].error.as_ref().unwrap();
    assert_eq!(&*error.code, "unfit");
    assert!(error.message.contains("`question`"), "{}", error.message);
}

#[tokio::test(start_paused = true)]
async fn a_default_for_a_late_answer_does_not_count() {
    let budget = Budget { seconds: Some(2.0), ..Budget::default() };
    let bench =
        Workbench::new(task(OR_A0, Arc::new(ScriptedLm::always(ScriptedAnswer::hang())), budget));
    let base = bench.candidate(Workbench::BASE);
    let stopped = bench.evaluate(&base, &all(&questions(0..1)), None).await;
    assert_eq!(stopped.unwrap_err(), EarlyStop::BudgetSpent(BudgetLimit::Seconds));
}

#[tokio::test]
async fn a_default_for_a_cancelled_answer_does_not_count() {
    let mut task =
        task(OR_A0, Arc::new(ScriptedLm::always(ScriptedAnswer::hang())), Budget::default());
    // As in an evaluation without a budget.
    task.evaluator.budgeted = None;
    let cancelled = task.evaluator.cancelled.clone();
    let bench = Workbench::new(task);
    let (base, examples) = (bench.candidate(Workbench::BASE), questions(0..1));
    let examples = all(&examples);
    let cancel = async {
        tokio::task::yield_now().await;
        cancelled.cancel();
    };
    let (stopped, ()) = tokio::join!(bench.evaluate(&base, &examples, None), cancel);
    assert_eq!(stopped.unwrap_err(), EarlyStop::Cancelled);
}

#[tokio::test]
async fn a_default_for_an_answer_without_a_price_is_no_score() {
    let budget = Budget { cost: Some(1.0), ..Budget::default() };
    let bench = Workbench::new(task(OR_A0, copies_demos(), budget));
    let base = bench.candidate(Workbench::BASE);
    let stopped = bench.evaluate(&base, &all(&questions(0..1)), None).await.unwrap_err();
    assert!(matches!(&stopped, EarlyStop::Failed(why) if why.contains("prices")), "{stopped:?}");
}

#[tokio::test]
async fn a_reply_from_the_cache_costs_nothing_and_is_recorded() {
    let reply = LmReply { finish_reason: Some("stop".into()), ..LmReply::of(says("a1"), "m") };
    let usage = Usage { lm_calls: 1, input_tokens: 50, output_tokens: 5, ..Usage::default() };
    let lm = Arc::new(ScriptedLm::always(LmReply { usage, ..reply }));
    let cache = Some(Arc::new(ReplyCache::of(1 << 20, 600 * SECOND)));
    let models = Models::new([Model { cache, ..Model::of(Models::DEFAULT, lm.clone()) }], None);
    let (models, store) = (Arc::new(models), Arc::new(Remembering::default()));
    // First a run without a budget fills the cache, then a budgeted one asks the same.
    for paid_by in [None, Some(budgeted(Budget::default(), Usage::default(), store.clone()))] {
        let mut task = task(QA, lm.clone(), Budget::default());
        (task.evaluator.models, task.evaluator.budgeted) = (models.clone(), paid_by);
        let bench = Workbench::new(task);
        let base = bench.candidate(Workbench::BASE);
        let evaluation = bench.evaluate(&base, &all(&questions(0..3)), None).await.unwrap();
        assert_eq!(evaluation.usage().input_tokens, 150);
        assert_eq!(bench.account().map_or(0, |account| account.spent().lm_calls), 0);
    }
    assert_eq!((store.requests(), lm.requests().len()), (3, 3));
}

#[tokio::test]
async fn no_demos_are_bootstrapped_if_disabled() {
    let lm = copies_demos();
    let config = r#"{"max_bootstrapped_demos": 0, "num_candidate_programs": 2}"#;
    let task = task(QA, lm.clone(), Budget::default());
    let (report, _) = run("bootstrap_random_search", config, task, &[]).await;
    let tried = report.unwrap().trials.len();
    assert_eq!(lm.requests().len(), 20 * tried);
}

#[tokio::test]
async fn an_expensive_result_is_still_measured_completely() {
    let config = r#"{"strategies": ["majority"], "moves": ["strategy"], "minibatch": 10}"#;
    for limit in [1_000, 1_200, 1_400] {
        let budget = Budget { lm_calls: Some(limit), ..Budget::default() };
        let (task, held_out) = synthetic("sums", 1, budget);
        let tuned = r#"{"optimizer": "copro", "config": {"breadth": 20}}"#;
        let config = config.replacen('{', &format!(r#"{{"prompt_optimizer": {tuned}, "#), 1);
        let (report, _) = run("strategy_search", &config, task, &held_out).await;
        let report = report.unwrap();
        assert!(report.best != TrialId(0) && report.stopped.is_some(), "{limit}");
        let (_, after) = report.held_out_scores();
        assert_eq!(after.len(), held_out.len(), "{limit}");
    }
}

#[tokio::test]
async fn a_failure_of_cancelled_work_is_no_result() {
    let evaluator = task(QA, knows_as_instructed(), Budget::default()).evaluator;
    let error = PredictError::new(PredictErrorKind::Op, "the time limit is over");
    assert_eq!(evaluator.check_stop(&error), Ok(()));
    evaluator.cancelled.cancel();
    assert_eq!(evaluator.check_stop(&error), Err(EarlyStop::Cancelled));
}
