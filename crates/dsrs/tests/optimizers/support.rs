//! What the tests of optimizers share: a task over a graph, an LM and rows of examples.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsrs::graph::Program;
use dsrs::lm::{
    Budget, BudgetAccount, BudgetedReplies, EmbeddingModel, Lm, LmReply, Model, Models, NoStore,
    RecordedReply, RecordingError, ReplyStore, RequestKey, Usage,
};
use dsrs::optimize::{
    Candidate, EarlyStop, Evaluator, Example, LocalProgramBuilder, MAX_UNMEASURED, Metric,
    NoopListener, OptimizationReport, Task, Workbench, create_optimizer, optimize,
};
use dsrs::predict::LmOverrides;
use dsrs::problem::At;
use dsrs::strategy::BuildEnv;
use dsrs::value::{Fields, Payload};
use dsrs_synthetic::{SyntheticEmbedder, SyntheticLm, SyntheticTask};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

pub(crate) struct Env;

impl BuildEnv for Env {
    fn knows_model(&self, _: &str) -> bool {
        true
    }
}

/// A graph of one node that answers questions.
pub(crate) const QA: &str = r#"{
    "name": "qa",
    "nodes": {"qa": {"strategy": "predict", "signature": "question -> answer", "config": {}}}
}"#;

pub(crate) fn json(text: &str) -> Payload {
    Payload::from_json(text).unwrap()
}

pub(crate) fn fields(text: &str) -> Fields {
    json(text).as_map().unwrap().clone()
}

pub(crate) fn program(document: &str) -> Arc<Program> {
    Arc::new(Program::from_document(&json(document), &Env).unwrap())
}

/// Questions `q0`, `q1`, … whose answers are `a0`, `a1`, …
pub(crate) fn questions(range: std::ops::Range<usize>) -> Vec<Example> {
    let example = |n: usize| {
        let inputs = fields(&format!(r#"{{"question": "q{n}?"}}"#));
        Example::of(inputs, fields(&format!(r#"{{"answer": "a{n}"}}"#)))
    };
    range.map(example).collect()
}

/// An LM, and an embedding model.
pub(crate) fn models(lm: Arc<dyn Lm>) -> Models {
    let vectors = EmbeddingModel::of("vectors", Arc::new(SyntheticEmbedder));
    let models = Models::new([Model::of(Models::DEFAULT, lm)], Some(Models::DEFAULT.into()));
    models.with_embedding([vectors])
}

/// A task that everything may be changed of before it is worked on.
pub(crate) fn task(document: &str, lm: Arc<dyn Lm>, budget: Budget) -> Task {
    let program = program(document);
    let metric = Metric::read(&json(r#""exact""#), &Env, &program, &At::Root).unwrap();
    let account = BudgetAccount::open(budget, Usage::default(), 0.0);
    Task {
        base: Candidate::of(&program),
        train: questions(0..20),
        val: questions(20..40),
        evaluator: Evaluator {
            models: Arc::new(models(lm)),
            metric: Arc::new(metric),
            budgeted: Some(Arc::new(BudgetedReplies::new(account, Arc::new(NoStore)))),
            timeout: Duration::from_secs(600),
            cancelled: CancellationToken::new(),
            indexes: None,
            call_record: None,
            observer: None,
        },
        builder: Arc::new(LocalProgramBuilder::new(Arc::new(Env), program)),
        store: Arc::new(NoStore),
        offers: None,
        listener: Arc::new(NoopListener),
        concurrency: 8,
        max_unmeasured: MAX_UNMEASURED,
        seed: 7,
        proposer: LmOverrides::default(),
    }
}

/// Runs an optimizer on a task, with these examples held out.
pub(crate) async fn run(
    optimizer: &str,
    config: &str,
    task: Task,
    held_out: &[Example],
) -> (Result<OptimizationReport, EarlyStop>, Workbench) {
    let (_, made) = create_optimizer(optimizer, Some(&json(config)), &At::Root).unwrap();
    let bench = Workbench::new(task);
    let report = optimize(&bench, made.as_ref(), held_out).await;
    (report, bench)
}

/// One of the three tasks of the synthetic LM, `triage`, `sums` or `orders`: 40 training, 60
/// validation and 100 held-out examples.
pub(crate) fn synthetic(name: &str, seed: u64, budget: Budget) -> (Task, Vec<Example>) {
    let known = SyntheticTask::named(name).unwrap();
    let rows = known.rows(seed, 200).into_iter();
    let mut rows: Vec<_> = rows.map(|row| Example::of(row.inputs, row.expected)).collect();
    let held_out = rows.split_off(100);
    let val = rows.split_off(40);
    let lm = Arc::new(SyntheticLm::seeded(seed));
    (Task { train: rows, val, seed, ..task(known.document, lm, budget) }, held_out)
}

/// The mean scores on held-out examples, before and after.
pub(crate) fn means(report: &OptimizationReport) -> (f64, f64) {
    let (before, after) = report.held_out_scores();
    let mean = |scores: Vec<f64>| scores.iter().sum::<f64>() / scores.len().max(1) as f64;
    (mean(before), mean(after))
}

/// Records replies like a database.
#[derive(Default)]
pub(crate) struct Remembering {
    bought: Mutex<HashMap<RequestKey, LmReply>>,
    /// How many requests were paid for.
    pub(crate) paid: Mutex<usize>,
}

impl Remembering {
    /// How many different requests were answered.
    pub(crate) fn requests(&self) -> usize {
        self.bought.lock().unwrap().len()
    }
}

impl ReplyStore for Remembering {
    fn find(&self, key: RequestKey) -> BoxFuture<'_, Result<Option<LmReply>, RecordingError>> {
        let found = self.bought.lock().unwrap().get(&key).cloned();
        async { Ok(found) }.boxed()
    }

    fn record(&self, recorded: RecordedReply) -> BoxFuture<'_, Result<(), RecordingError>> {
        *self.paid.lock().unwrap() += 1;
        let mut bought = self.bought.lock().unwrap();
        bought.extend(recorded.reply.map(|reply| (recorded.key, reply)));
        async { Ok(()) }.boxed()
    }
}

/// The task with a budget that records replies: a second run of it is a resumed one.
pub(crate) fn remembering(mut task: Task, budget: Budget, store: &Arc<Remembering>) -> Task {
    let account = BudgetAccount::open(budget, Usage::default(), 0.0);
    task.evaluator.budgeted = Some(Arc::new(BudgetedReplies::new(account, store.clone())));
    task
}

/// Checks what all optimizers guarantee: a minimum gain on held-out examples for three seeds within a
/// budget of calls, the same board each time, no new request when it runs again, and the best
/// candidate so far when a smaller budget is spent.
pub(crate) async fn keeps_the_rules(
    optimizer: &str,
    config: &str,
    name: &str,
    calls: u64,
    gain: f64,
) {
    keeps_the_rules_at(synthetic, optimizer, config, name, calls, gain).await;
}

/// [`keeps_the_rules`] for tasks that `made` creates.
pub(crate) async fn keeps_the_rules_at(
    made: impl Fn(&str, u64, Budget) -> (Task, Vec<Example>),
    optimizer: &str,
    config: &str,
    name: &str,
    calls: u64,
    gain: f64,
) {
    let budget = Budget { lm_calls: Some(calls), ..Budget::default() };
    for seed in 1..=3 {
        let store = Arc::new(Remembering::default());
        let (task, held_out) = made(name, seed, budget);
        let (first, _) = run(optimizer, config, remembering(task, budget, &store), &held_out).await;
        let first = first.unwrap();
        assert_eq!(first.stopped, None, "{optimizer}, {name}, seed {seed}: {:?}", first.spent);
        let (before, after) = means(&first);
        let summary = format!("{optimizer}, {name}, seed {seed}: {before} to {after}");
        println!("{summary}, {} candidates, {} calls", first.trials.len(), first.spent.lm_calls);
        assert!(after - before >= gain, "{summary}");

        let paid = *store.paid.lock().unwrap();
        let (task, held_out) = made(name, seed, budget);
        let (again, _) = run(optimizer, config, remembering(task, budget, &store), &held_out).await;
        let again = again.unwrap();
        assert_eq!(*store.paid.lock().unwrap(), paid, "{summary}: asked for something anew");
        assert_eq!(board(&again), board(&first), "{summary}");
    }
    let small = Budget { lm_calls: Some(calls / 2), ..Budget::default() };
    let (task, held_out) = made(name, 1, small);
    let (stopped, bench) = run(optimizer, config, task, &held_out).await;
    let stopped = stopped.unwrap();
    assert!(stopped.spent.lm_calls <= calls / 2);
    let best = bench.best().map_or(Workbench::BASE, |best| best.id);
    assert!(stopped.stopped.is_none() || stopped.best == best, "{optimizer}, {name}");
}

/// The content of a board: origins and scores.
pub(crate) fn board(report: &OptimizationReport) -> Vec<(String, Option<String>)> {
    let describe = |trial: &dsrs::optimize::Trial| {
        let mean = trial.full.map(|scored| format!("{:.4}", scored.mean));
        (trial.origin.to_string(), mean)
    };
    report.trials.iter().map(describe).collect()
}
