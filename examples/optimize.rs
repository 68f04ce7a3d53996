//! Optimizers on a small task, over the LM of the environment or, without one, a synthetic LM:
//!
//!     cargo run --release -p dsrs --example optimize -- triage 400 bootstrap_few_shot copro
//!     OPENAI_BASE_URL=http://127.0.0.1:9931/v1 cargo run --release -p dsrs --example optimize -- triage 400
//!
//! The task (`triage`, `sums`, `orders`), the budget of LM calls for each, then optimizers, or none
//! for all of them. `DSRS_CONSTRAIN=gbnf` holds the answers of a llama.cpp server to their form;
//! `DSRS_EXAMPLES=40,60,100` says how many are learnt from, chosen by and held out.
//! `DSRS_SEED=7` is another seed than 1.

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::Program;
use dsrs::lm::{
    Budget, BudgetAccount, BudgetedReplies, ConstrainedDecoding, ConstraintForm, Lm, LmParams,
    Model, Models, NoStore, OpenAi, OpenAiConfig, Usage,
};
use dsrs::optimize::{
    Candidate, Comparison, Evaluator, Example, LocalProgramBuilder, MAX_UNMEASURED, Metric,
    NoopListener, OptimizationReport, Task, Workbench, create_optimizer, optimize, optimizers,
    paired_bootstrap,
};
use dsrs::predict::LmOverrides;
use dsrs::problem::{At, Problems};
use dsrs::strategy::BuildEnv;
use dsrs::value::{Map, Payload};
use dsrs_synthetic::{SyntheticLm, SyntheticTask};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = env::args().skip(1);
    let task = words.next().unwrap_or_else(|| "triage".to_owned());
    let calls: u64 = words.next().unwrap_or_else(|| "400".to_owned()).parse()?;
    let mut names: Vec<String> = words.collect();
    if names.is_empty() {
        names = optimizers().map(|found| found.name().to_owned()).collect();
    }
    println!("| optimizer | before | after | gain (95 %) | candidates | LM calls | stopped |");
    println!("|---|---|---|---|---|---|---|");
    for optimizer in names {
        let order = Order {
            task: task.clone(),
            optimizer: optimizer.clone(),
            config: Payload::map(Map::new()),
            budget: Budget { lm_calls: Some(calls), ..Budget::default() },
            examples: examples()?,
            concurrency: 4,
            seed: seed()?,
        };
        match run(&order, models()?).await {
            Ok(found) => println!("| `{optimizer}` {}", row(&found)),
            Err(error) => println!("| `{optimizer}` | failed: {error} |"),
        }
    }
    Ok(())
}

fn row(Found { report, held_out }: &Found) -> String {
    let stopped = report.stopped.as_ref().map_or_else(String::new, ToString::to_string);
    format!(
        "| {:.2} | {:.2} | {:+.2} ({:+.2} to {:+.2}) | {} | {} | {stopped} |",
        held_out.mean_before,
        held_out.mean_after,
        held_out.gain,
        held_out.low,
        held_out.high,
        report.trials.len(),
        report.spent.lm_calls,
    )
}

fn seed() -> Result<u64, Box<dyn Error>> {
    Ok(env::var("DSRS_SEED").map_or(Ok(1), |seed| seed.parse())?)
}

fn examples() -> Result<(usize, usize, usize), Box<dyn Error>> {
    let said = env::var("DSRS_EXAMPLES").unwrap_or_else(|_| "40,60,100".to_owned());
    let counts: Result<Vec<usize>, _> = said.split(',').map(|count| count.trim().parse()).collect();
    match counts?.as_slice() {
        [learn, choose, hold] => Ok((*learn, *choose, *hold)),
        _ => Err("DSRS_EXAMPLES takes three counts".into()),
    }
}

/// The LM of the environment, else one that is none.
fn models() -> Result<Models, Box<dyn Error>> {
    let Ok(base_url) = env::var("OPENAI_BASE_URL") else {
        return Ok(Models::only(Arc::new(SyntheticLm::seeded(seed()?))));
    };
    let name = env::var("DSRS_MODEL").unwrap_or_else(|_| "gpt-4o-mini".to_owned());
    let api_key = env::var("OPENAI_API_KEY").ok();
    let lm: Arc<dyn Lm> =
        Arc::new(OpenAi::new(OpenAiConfig { api_key, ..OpenAiConfig::new(base_url, name) })?);
    let mut model = Model::of(Models::DEFAULT, lm);
    model.params =
        LmParams { temperature: Some(0.0), max_tokens: Some(256), ..LmParams::default() };
    if env::var("DSRS_CONSTRAIN").is_ok_and(|form| form == "gbnf") {
        model.constrain = Arc::new(ConstrainedDecoding::to(Some(ConstraintForm::Gbnf)));
    }
    Ok(Models::new([model], None))
}

/// What is to be done.
struct Order {
    /// `triage`, `sums` or `orders`.
    task: String,
    /// An optimizer of the registry.
    optimizer: String,
    /// Its config.
    config: Payload,
    /// What may be spent.
    budget: Budget,
    /// Numbers of training, validation and held-out examples.
    examples: (usize, usize, usize),
    /// Concurrent requests.
    concurrency: usize,
    /// The seed of all random choices.
    seed: u64,
}

/// The result.
struct Found {
    /// The report of the optimizer.
    report: OptimizationReport,
    /// The scores on the held-out examples, before and after.
    held_out: Comparison,
}

struct Env;

impl BuildEnv for Env {
    fn knows_model(&self, alias: &str) -> bool {
        alias == Models::DEFAULT
    }
}

/// Runs an optimizer.
///
/// # Errors
/// When the order names an unknown task or optimizer, or the optimization fails.
async fn run(order: &Order, models: Models) -> Result<Found, Box<dyn Error>> {
    let task = SyntheticTask::named(&order.task).ok_or("there is no such task")?;
    let document = Payload::from_json(task.document)?;
    let program = Arc::new(Program::from_document(&document, &Env).map_err(joined)?);
    let metric = Metric::read(&Payload::str("exact"), &Env, &program, &At::Root).map_err(joined)?;
    let (_, optimizer) =
        create_optimizer(&order.optimizer, Some(&order.config), &At::Root).map_err(joined)?;
    let (learn, choose, hold) = order.examples;
    let rows = task.rows(order.seed, learn + choose + hold).into_iter();
    let mut train: Vec<_> = rows.map(|row| Example::of(row.inputs, row.expected)).collect();
    let held_out = train.split_off(learn + choose);
    let val = train.split_off(learn);
    let account = BudgetAccount::open(order.budget, Usage::default(), 0.0);
    let bench = Workbench::new(Task {
        base: Candidate::of(&program),
        train,
        val,
        evaluator: Evaluator {
            models: Arc::new(models),
            indexes: None,
            call_record: None,
            metric: Arc::new(metric),
            budgeted: Some(Arc::new(BudgetedReplies::new(account, Arc::new(NoStore)))),
            timeout: Duration::from_secs(300),
            cancelled: CancellationToken::new(),
            observer: None,
        },
        builder: Arc::new(LocalProgramBuilder::new(Arc::new(Env), program)),
        store: Arc::new(NoStore),
        offers: None,
        listener: Arc::new(NoopListener),
        concurrency: order.concurrency,
        max_unmeasured: MAX_UNMEASURED,
        seed: order.seed,
        proposer: LmOverrides::default(),
    });
    let report = optimize(&bench, optimizer.as_ref(), &held_out).await?;
    let (before, after) = report.held_out_scores();
    let held_out = paired_bootstrap(&before, &after, order.seed);
    Ok(Found { report, held_out })
}

fn joined(problems: Problems) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
