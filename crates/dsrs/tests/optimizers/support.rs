//! What the tests of optimizers share: a task over a graph, an LM and rows of examples.

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::Program;
use dsrs::lm::{Account, Budget, InMemory, Lm, Models, Purse, Usage};
use dsrs::optimize::{
    Bench, Candidate, Deaf, Evaluator, Example, Metric, Report, Stop, Task, Workbench,
    create_optimizer, optimize,
};
use dsrs::predict::LmOverrides;
use dsrs::problem::At;
use dsrs::strategy::BuildEnv;
use dsrs::value::{Fields, Payload};
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

/// A task that everything may be changed of before it is worked on.
pub(crate) fn task(document: &str, lm: Arc<dyn Lm>, budget: Budget) -> Task {
    let program = program(document);
    let metric = Metric::read(&json(r#""exact""#), &Env, &program, &At::Root).unwrap();
    let account = Account::open(budget, Usage::default(), 0.0);
    Task {
        base: Candidate::of(&program),
        train: questions(0..20),
        val: questions(20..40),
        evaluator: Evaluator {
            models: Arc::new(Models::only(lm)),
            metric: Arc::new(metric),
            purse: Some(Arc::new(Purse::new(account, Arc::new(InMemory)))),
            timeout: Duration::from_secs(60),
            cancelled: CancellationToken::new(),
        },
        workshop: Arc::new(Bench::new(Arc::new(Env), program)),
        store: Arc::new(InMemory),
        listener: Arc::new(Deaf),
        concurrency: 8,
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
) -> (Result<Report, Stop>, Workbench) {
    let (_, made) = create_optimizer(optimizer, Some(&json(config)), &At::Root).unwrap();
    let bench = Workbench::new(task);
    let report = optimize(&bench, made.as_ref(), held_out).await;
    (report, bench)
}
