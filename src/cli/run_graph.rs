//! The command `run`: executes a graph, with its texts as they are written for a terminal and its
//! outputs as JSON for a pipe.

use clap::Args;
use serde_json::{Value, json};

use super::failure::{CommandFailure, ExitReason};
use super::run_inputs::{merge, read_assignment, read_inputs};
use super::run_text::RunText;
use super::session::{ClientArgs, Session, print_json, print_line};
use super::table::{cell, duration, usage};
use crate::client::{AnswerEvents, ClientError, ServerEvent, ServerProblem};

/// Execute a graph
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The graph
    #[arg(value_name = "GRAPH")]
    graph: String,
    /// Inputs: name=value, name:=JSON, or `-` for a JSON object on stdin
    #[arg(value_name = "INPUT")]
    inputs: Vec<String>,
    /// A file with the inputs as a JSON object; `-` is stdin
    #[arg(long = "inputs", value_name = "FILE")]
    file: Option<String>,
    /// The graph version; the newest by default
    #[arg(long, value_name = "N")]
    version: Option<i32>,
    /// The state version; the active one by default
    #[arg(long, value_name = "N")]
    state_version: Option<i32>,
    /// The time limit in milliseconds
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    /// Print texts as they are written, also to a pipe
    #[arg(long, conflicts_with = "json")]
    text: bool,
    /// Print the record of the run instead of its outputs
    #[arg(long, conflicts_with = "text")]
    record: bool,
    /// Start the run in the background and print its id
    #[arg(long, conflicts_with_all = ["text", "record"])]
    background: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// Executes a graph.
pub(super) async fn run(args: RunArgs) -> Result<(), CommandFailure> {
    let session = Session::open(&args.client)?;
    let body = body(&session, &args).await?;
    if args.background {
        let path = ["graphs", &args.graph, "runs"];
        let run = session.server.post(&path).document(&body).json().await?;
        return match session.json {
            true => print_json(&run),
            false => print_line(&cell(&run["id"])),
        };
    }
    let path = ["graphs", &args.graph, "execute"];
    let stream = session.server.post(&path).document(&body).events().await?;
    let as_text = args.text || !(session.prints_json() || args.record);
    let mut text = as_text.then(|| RunText::new(&session));
    let last = read_to_end(stream, &mut text).await?;
    finish(&last, text, args.record)
}

async fn body(session: &Session, args: &RunArgs) -> Result<Value, CommandFailure> {
    let (documents, words): (Vec<&String>, Vec<&String>) =
        args.inputs.iter().partition(|word| *word == "-");
    let source = args.file.as_ref().or_else(|| documents.first().copied());
    if documents.len() + usize::from(args.file.is_some()) > 1 {
        return Err(CommandFailure::usage("inputs come from one document: `-` or --inputs, once"));
    }
    let assignments = words.into_iter().map(|word| read_assignment(word));
    let assignments = assignments.collect::<Result<Vec<_>, _>>()?;
    let inputs = source.map(|source| read_inputs(source)).transpose()?.unwrap_or_default();
    let declared = match assignments.is_empty() {
        true => Value::Null,
        false => declared_inputs(session, args).await?,
    };
    let mut body = json!({ "inputs": merge(inputs, assignments, &declared) });
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body[name] = value;
        }
    };
    set("version", args.version.map(Value::from));
    set("state_version", args.state_version.map(Value::from));
    set("timeout_ms", args.timeout_ms.map(Value::from));
    Ok(body)
}

async fn declared_inputs(session: &Session, args: &RunArgs) -> Result<Value, CommandFailure> {
    let version: Vec<_> = args.version.iter().map(|n| ("version", n.to_string())).collect();
    let graph = session.server.get(&["graphs", &args.graph]).query(&version);
    Ok(graph.json().await?["inputs"].take())
}

/// Reads to the last event.
async fn read_to_end(
    mut stream: AnswerEvents,
    text: &mut Option<RunText<'_>>,
) -> Result<ServerEvent, CommandFailure> {
    while let Some(event) = stream.next().await? {
        if is_last(&event) {
            return Ok(event);
        }
        if let Some(text) = text {
            text.event(&event)?;
        }
    }
    let lines = vec!["the server ended the stream before the run ended".to_owned()];
    Err(CommandFailure { lines, reason: ExitReason::Unavailable })
}

/// Whether nothing follows an event of a run for now.
pub(super) fn is_last(event: &ServerEvent) -> bool {
    matches!(&*event.name, "run.completed" | "run.failed" | "run.cancelled" | "run.waiting")
}

/// Prints the result of a run; fails if there is none.
pub(super) fn finish(
    last: &ServerEvent,
    text: Option<RunText<'_>>,
    record: bool,
) -> Result<(), CommandFailure> {
    let data = &last.data;
    match &*last.name {
        "run.completed" => {}
        "run.waiting" => {
            let id = data["id"].as_str().or_else(|| data["run_id"].as_str()).unwrap_or_default();
            return Err(CommandFailure::no(format!("the run {id} waits for a signal")));
        }
        _ => return Err(failed(data)),
    }
    match text {
        Some(mut text) => {
            text.outputs(data)?;
            let (took, spent) = (duration(&data["duration_ms"]), usage(&data["usage"]));
            eprintln!("run {} succeeded in {took}, {spent}", cell(&data["id"]));
            Ok(())
        }
        None if record => print_json(data),
        None => print_json(&data["outputs"]),
    }
}

/// The failure of a run whose last event has a problem.
fn failed(problem: &Value) -> CommandFailure {
    let problem: ServerProblem = serde_json::from_value(problem.clone()).unwrap_or_default();
    let failure = CommandFailure::from(ClientError::Refused(Box::new(problem)));
    // The server has answered: the run is what failed.
    CommandFailure { reason: ExitReason::No, ..failure }
}
