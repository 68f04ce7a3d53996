//! The command `eval`: scores a graph on a dataset and fails below a threshold.

use clap::Args;
use serde_json::{Value, json};

use super::failure::CommandFailure;
use super::progress::{
    advance, bar, check_succeeded, check_threshold, name_or_object, part, score, score_text, with,
};
use super::session::{ClientArgs, Session, print_json};
use super::table::{TextTable, cell, shortened, usage};
use crate::client::Follower;

/// The worst examples that are printed.
const WORST: usize = 5;

/// Score a graph on a dataset
#[derive(Debug, Args)]
pub(super) struct EvalArgs {
    /// The graph
    #[arg(value_name = "GRAPH")]
    graph: String,
    /// The dataset: its name, or a part of it as JSON (docs/datasets.md)
    #[arg(long, value_name = "NAME|JSON", value_parser = name_or_object)]
    dataset: Value,
    /// The metric: its name, or JSON with its options (docs/metrics.md)
    #[arg(long, value_name = "NAME|JSON", value_parser = name_or_object)]
    metric: Value,
    /// Only examples of this split
    #[arg(long, value_name = "SPLIT")]
    split: Option<String>,
    /// Only the first examples
    #[arg(long, value_name = "COUNT")]
    limit: Option<u32>,
    /// Exit with code 1 if the mean score is lower
    #[arg(long, value_name = "SCORE", value_parser = score)]
    fail_under: Option<f64>,
    /// Examples that run at the same time
    #[arg(long, value_name = "COUNT")]
    concurrency: Option<u32>,
    /// Give up when more examples than this have failed
    #[arg(long, value_name = "COUNT")]
    max_errors: Option<u32>,
    /// Give up when a larger share of the examples has no score
    #[arg(long, value_name = "SHARE", value_parser = score)]
    max_unmeasured: Option<f64>,
    /// The graph version; the newest by default
    #[arg(long, value_name = "N")]
    version: Option<i32>,
    /// The state version; the active one by default
    #[arg(long, value_name = "N")]
    state_version: Option<i32>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Runs an evaluation.
pub(super) async fn run(args: EvalArgs) -> Result<(), CommandFailure> {
    let session = Session::open(&args.client)?;
    let path = ["graphs", &args.graph, "evaluations"];
    let started = session.server.post(&path).document(&body(&args)).json().await?;
    let id = cell(&started["id"]);
    eprintln!("evaluation {id} of {} examples", started["counts"]["total"]);
    let evaluation = follow(&session, &id).await?;
    print(&session, &evaluation).await?;
    check_succeeded("evaluation", &evaluation)?;
    check_threshold(&evaluation["mean_score"], args.fail_under)
}

fn body(args: &EvalArgs) -> Value {
    let dataset = part(args.dataset.clone(), args.split.as_deref(), args.limit);
    with(
        json!({ "dataset": dataset, "metric": args.metric }),
        vec![
            ("concurrency", args.concurrency.map(Value::from)),
            ("max_errors", args.max_errors.map(Value::from)),
            ("max_unmeasured", args.max_unmeasured.map(Value::from)),
            ("version", args.version.map(Value::from)),
            ("state_version", args.state_version.map(Value::from)),
        ],
    )
}

/// Moves a bar until the evaluation has ended, and returns it.
async fn follow(session: &Session, id: &str) -> Result<Value, CommandFailure> {
    let bar = bar();
    let mut events = Follower::new(&session.server, &["evaluations", id, "events"]);
    while let Some(event) = events.next().await? {
        let counts = &event.data["counts"];
        let message = format!("score {}", score_text(&event.data["mean_score"]));
        advance(&bar, &counts["done"], &counts["total"], message);
        if event.name != "evaluation.progress" {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(session.server.get(&["evaluations", id]).json().await?)
}

async fn print(session: &Session, evaluation: &Value) -> Result<(), CommandFailure> {
    if session.json {
        return print_json(evaluation);
    }
    let columns = ["graph", "dataset", "examples", "failed", "unmeasured", "score", "usage"];
    let mut table = TextTable::new(&columns);
    let (version, state) = (&evaluation["version"], &evaluation["state_version"]);
    let counts = &evaluation["counts"];
    let dataset = &evaluation["dataset"];
    table.row([
        format!("{} {version}/{state}", cell(&evaluation["graph"])),
        format!("{} {}", cell(&dataset["dataset"]), cell(&dataset["version"])),
        format!("{}/{}", counts["done"], counts["total"]),
        cell(&counts["failed"]),
        cell(&counts["unmeasured"]),
        score_text(&evaluation["mean_score"]),
        usage(&evaluation["usage"]),
    ]);
    table.print()?;
    print_worst(session, &cell(&evaluation["id"])).await
}

/// The examples with the lowest scores; none if all are perfect.
async fn print_worst(session: &Session, id: &str) -> Result<(), CommandFailure> {
    let order = [("order", "worst".to_owned())];
    let results = session.server.list(&["evaluations", id, "results"], &order, WORST).await?;
    let mut table = TextTable::new(&["score", "example", "position", "reason"]);
    let worse = results.iter().filter(|result| result["score"].as_f64() < Some(1.0));
    let mut is_empty = true;
    for result in worse {
        let reason = match &result["error"] {
            Value::Null => cell(&result["feedback"]),
            error => cell(&error["detail"]),
        };
        let (example, position) = (cell(&result["example_id"]), cell(&result["position"]));
        let score = score_text(&result["score"]);
        table.row([score, shortened(&example, 12), position, shortened(&reason, 100)]);
        is_empty = false;
    }
    if is_empty { Ok(()) } else { table.print() }
}
