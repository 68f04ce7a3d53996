//! The commands `runs list`, `show` and `tail`.

use std::time::Duration;

use clap::{Args, Subcommand};
use indexmap::IndexSet;
use serde_json::Value;

use super::failure::CommandFailure;
use super::run_graph::{finish, is_last};
use super::run_text::RunText;
use super::session::{ClientArgs, Session, print_json, print_line};
use super::table::{TextTable, cell, duration, printable, shortened, shown, usage};
use crate::client::Follower;

/// The wait before `tail` asks for new runs.
const PAUSE: Duration = Duration::from_secs(1);

/// The runs of before that `tail` prints first.
const RECENT: usize = 10;

/// Runs of a server
#[derive(Debug, Args)]
pub(super) struct RunsArgs {
    #[command(subcommand)]
    command: RunsCommand,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    /// List runs, newest first
    List {
        #[command(flatten)]
        filter: RunFilter,
        /// The most runs
        #[arg(long, value_name = "COUNT", default_value_t = 20)]
        limit: usize,
    },
    /// Show a run: inputs, nodes, outputs, error
    Show {
        /// The id of the run
        #[arg(value_name = "RUN")]
        run: String,
    },
    /// Follow a run to its end; without a run, print the runs of the server as they are recorded
    Tail {
        /// The id of the run
        #[arg(value_name = "RUN")]
        run: Option<String>,
        #[command(flatten)]
        filter: RunFilter,
    },
}

/// Which runs.
#[derive(Debug, Args)]
struct RunFilter {
    /// Only runs of this graph
    #[arg(long, value_name = "GRAPH")]
    graph: Option<String>,
    /// Only runs with this status
    #[arg(long, value_name = "STATUS", value_parser = ["queued", "running", "waiting", "succeeded", "failed", "cancelled"])]
    status: Option<String>,
}

impl RunFilter {
    fn query(&self) -> Vec<(&'static str, String)> {
        let member = |name, value: &Option<String>| value.clone().map(|value| (name, value));
        member("graph", &self.graph).into_iter().chain(member("status", &self.status)).collect()
    }
}

/// Runs a command about runs.
pub(super) async fn run(args: RunsArgs) -> Result<(), CommandFailure> {
    let session = Session::open(&args.client)?;
    match args.command {
        RunsCommand::List { filter, limit } => list(&session, &filter, limit).await,
        RunsCommand::Show { run } => show(&session, &run).await,
        RunsCommand::Tail { run: Some(run), .. } => tail(&session, &run).await,
        RunsCommand::Tail { run: None, filter } => tail_all(&session, &filter).await,
    }
}

async fn list(session: &Session, filter: &RunFilter, limit: usize) -> Result<(), CommandFailure> {
    let runs = session.server.list(&["runs"], &filter.query(), limit).await?;
    if session.json {
        return print_json(&Value::Array(runs));
    }
    let mut table =
        TextTable::new(&["id", "graph", "version", "status", "time", "usage", "created"]);
    for run in &runs {
        table.row(cells(run));
    }
    table.print()
}

fn cells(run: &Value) -> [String; 7] {
    let text = |name: &str| cell(&run[name]);
    let version = format!("{}/{}", text("version"), text("state_version"));
    let (took, spent) = (duration(&run["duration_ms"]), usage(&run["usage"]));
    [text("id"), text("graph"), version, text("status"), took, spent, text("created_at")]
}

async fn show(session: &Session, id: &str) -> Result<(), CommandFailure> {
    let run = session.server.get(&["runs", id]).json().await?;
    if session.prints_json() {
        return print_json(&run);
    }
    print_line(&cells(&run).join("  "))?;
    for part in ["inputs", "outputs"] {
        for (name, value) in run[part].as_object().into_iter().flatten() {
            print_line(&format!("{}: {}", session.bold(&format!("{part}.{name}")), shown(value)))?;
        }
    }
    let mut table = TextTable::new(&["node", "status", "time", "result"]);
    for (name, node) in run["nodes"].as_object().into_iter().flatten() {
        let result = match &node["error"] {
            Value::Null => cell(&node["outputs"]),
            error => cell(&error["detail"]),
        };
        let (status, took) = (cell(&node["status"]), duration(&node["duration_ms"]));
        table.row([name.clone(), status, took, shortened(&result, 100)]);
    }
    table.print()?;
    match &run["error"] {
        Value::Null => Ok(()),
        error => print_line(&printable(&format!("error: {}", cell(&error["detail"])))),
    }
}

/// Follows a run; its result decides the exit code, as with `run`.
async fn tail(session: &Session, id: &str) -> Result<(), CommandFailure> {
    let mut events = Follower::new(&session.server, &["runs", id, "events"]);
    let mut text = (!session.prints_json()).then(|| RunText::new(session));
    while let Some(event) = events.next().await? {
        if is_last(&event) && event.name != "run.waiting" {
            return finish(&event, text, true);
        }
        match &mut text {
            Some(_) if event.name == "run.waiting" => {
                eprintln!("the run waits for a signal");
            }
            Some(text) => text.event(&event)?,
            None => {}
        }
    }
    Err(CommandFailure::no(format!("the run {id} has no further events; see `runs show {id}`")))
}

/// Prints runs, each time that their status changes, until the process is stopped.
async fn tail_all(session: &Session, filter: &RunFilter) -> Result<(), CommandFailure> {
    let mut seen = IndexSet::new();
    let mut printed = RECENT;
    loop {
        let runs = session.server.list(&["runs"], &filter.query(), 50).await?;
        for (age, run) in runs.iter().enumerate().rev() {
            let is_new = seen.insert(format!("{} {}", cell(&run["id"]), cell(&run["status"])));
            match is_new && age < printed {
                true if session.json => print_line(&run.to_string())?,
                true => print_line(&printable(&cells(run).join("  ")))?,
                false => {}
            }
        }
        seen.drain(..seen.len().saturating_sub(10_000));
        printed = usize::MAX;
        tokio::time::sleep(PAUSE).await;
    }
}
