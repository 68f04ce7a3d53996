//! The command `optimize`: improves a graph on a dataset within a budget.

use clap::Args;
use serde_json::{Map, Value, json};

use super::failure::CommandFailure;
use super::progress::{
    advance, bar, check_succeeded, check_threshold, name_or_object, object, score, score_text, with,
};
use super::session::{ClientArgs, Session, print_json};
use super::table::{TextTable, cell, usage};
use crate::client::Follower;

/// Improve a graph on a dataset
#[derive(Debug, Args)]
pub(super) struct OptimizeArgs {
    /// The graph
    #[arg(value_name = "GRAPH")]
    graph: String,
    /// The optimizer (docs/optimizers.md)
    #[arg(long, value_name = "NAME")]
    optimizer: String,
    /// The settings of the optimizer
    #[arg(long, value_name = "JSON", value_parser = object)]
    config: Option<Value>,
    /// The examples for demos and reflections: a dataset, or a part of one as JSON
    #[arg(long, value_name = "NAME|JSON", value_parser = name_or_object)]
    trainset: Value,
    /// The examples that select candidates; drawn from the trainset by default
    #[arg(long, value_name = "NAME|JSON", value_parser = name_or_object)]
    valset: Option<Value>,
    /// The held-out examples; drawn from the others by default
    #[arg(long, value_name = "NAME|JSON", value_parser = name_or_object)]
    testset: Option<Value>,
    /// The metric: its name, or JSON with its options (docs/metrics.md)
    #[arg(long, value_name = "NAME|JSON", value_parser = name_or_object)]
    metric: Value,
    /// The most requests to models
    #[arg(long, value_name = "COUNT")]
    calls: Option<u64>,
    /// The most tokens
    #[arg(long, value_name = "COUNT")]
    tokens: Option<u64>,
    /// The most money, in the unit of the prices
    #[arg(long, value_name = "PRICE")]
    cost: Option<f64>,
    /// The most seconds
    #[arg(long, value_name = "COUNT")]
    seconds: Option<u64>,
    /// Activate the result if its gain is certain
    #[arg(long)]
    activate: bool,
    /// The seed of all random choices
    #[arg(long, value_name = "N")]
    seed: Option<i64>,
    /// Rollouts that run at the same time
    #[arg(long, value_name = "COUNT")]
    concurrency: Option<u32>,
    /// The alias of the model that writes proposals
    #[arg(long, value_name = "ALIAS")]
    prompt_model: Option<String>,
    /// Give up when a larger share of the examples has no score
    #[arg(long, value_name = "SHARE", value_parser = score)]
    max_unmeasured: Option<f64>,
    /// Exit with code 1 if the best score on the held-out examples is lower
    #[arg(long, value_name = "SCORE", value_parser = score)]
    fail_under: Option<f64>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Runs an optimization.
pub(super) async fn run(args: OptimizeArgs) -> Result<(), CommandFailure> {
    let session = Session::open(&args.client)?;
    let path = ["graphs", &args.graph, "optimizations"];
    let started = session.server.post(&path).document(&body(&args)).json().await?;
    let id = cell(&started["id"]);
    let examples = &started["examples"];
    eprintln!(
        "optimization {id} with {} examples to train, {} to select, {} held out",
        examples["train"], examples["val"], examples["held_out"]
    );
    let optimization = follow(&session, &id).await?;
    print(&session, &optimization)?;
    check_succeeded("optimization", &optimization)?;
    check_threshold(&optimization["result"]["best"]["score"], args.fail_under)
}

fn body(args: &OptimizeArgs) -> Value {
    let mut budget = Map::new();
    let limits = [
        ("lm_calls", args.calls.map(Value::from)),
        ("tokens", args.tokens.map(Value::from)),
        ("cost", args.cost.map(Value::from)),
        ("seconds", args.seconds.map(Value::from)),
    ];
    budget.extend(limits.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    with(
        json!({ "optimizer": args.optimizer, "trainset": args.trainset, "metric": args.metric }),
        vec![
            ("config", args.config.clone()),
            ("valset", args.valset.clone()),
            ("testset", args.testset.clone()),
            ("budget", (!budget.is_empty()).then_some(Value::Object(budget))),
            ("activate", args.activate.then(|| "if_better".into())),
            ("seed", args.seed.map(Value::from)),
            ("concurrency", args.concurrency.map(Value::from)),
            ("prompt_model", args.prompt_model.clone().map(Value::from)),
            ("max_unmeasured", args.max_unmeasured.map(Value::from)),
        ],
    )
}

/// Moves a bar until the optimization has ended, and returns it.
async fn follow(session: &Session, id: &str) -> Result<Value, CommandFailure> {
    let bar = bar();
    let mut phase = String::new();
    let mut events = Follower::new(&session.server, &["optimizations", id, "events"]);
    while let Some(event) = events.next().await? {
        let data = &event.data;
        match &*event.name {
            "optimization.phase" => phase = cell(&data["phase"]),
            "optimization.progress" => {
                let message = format!("{phase}, {}", usage(&data["usage"]));
                advance(&bar, &data["done"], &data["of"], message);
            }
            "optimization.completed" | "optimization.failed" | "optimization.cancelled" => break,
            _ => {}
        }
    }
    bar.finish_and_clear();
    Ok(session.server.get(&["optimizations", id]).json().await?)
}

fn print(session: &Session, optimization: &Value) -> Result<(), CommandFailure> {
    if session.json {
        return print_json(optimization);
    }
    let result = &optimization["result"];
    let mut table = TextTable::new(&["program", "score", "examples", "origin"]);
    let row = |name: &str, found: &Value| {
        [name.to_owned(), score_text(&found["score"]), cell(&found["n"]), cell(&found["origin"])]
    };
    table.row(row("before", &result["baseline"]));
    let best = format!("candidate {}", cell(&result["best"]["candidate"]));
    table.row(row(&best, &result["best"]));
    table.print()?;
    for line in conclusions(optimization) {
        super::session::print_line(&line)?;
    }
    Ok(())
}

/// The gain, what it cost, and where the result is.
fn conclusions(optimization: &Value) -> Vec<String> {
    let (result, activation) = (&optimization["result"], &optimization["activation"]);
    let mut lines = Vec::new();
    if let Value::Object(_) = result["comparison"] {
        let number = |name: &str| score_text(&result["comparison"][name]);
        let (gain, low, high) = (number("gain"), number("low"), number("high"));
        lines.push(format!("gain {gain}, 95 % interval from {low} to {high}"));
    }
    if let Value::Object(_) = result["stopped"] {
        lines.push(format!("stopped: {}", cell(&result["stopped"]["detail"])));
    }
    let candidates = cell(&optimization["candidates"]);
    lines.push(format!("{candidates} candidates, {}", usage(&optimization["usage"])));
    if let Some(version) = optimization["found_state_version"].as_i64() {
        lines.push(format!("state version {version}"));
    }
    if let Value::Object(_) = activation {
        let done = if activation["activated"] == true { "activated" } else { "not activated" };
        lines.push(format!("{done}: {}", cell(&activation["reason"])));
    }
    lines
}
