//! The commands `state pull`, `push`, `diff` and `activate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::documents::{difference, overrides, parse, read_text, write_document};
use super::failure::{CommandFailure, at_file};
use super::graph_push::push_state;
use super::session::{ClientArgs, Session, print_json, print_line};
use super::table::{cell, printable};

/// States of graphs
#[derive(Debug, Args)]
pub(super) struct StateArgs {
    #[command(subcommand)]
    command: StateCommand,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Subcommand)]
enum StateCommand {
    /// Write a state to a file or to stdout
    Pull {
        /// The graph
        #[arg(value_name = "GRAPH")]
        graph: String,
        /// The file; stdout by default
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// The state version; the active one by default
        #[arg(long, value_name = "N")]
        version: Option<i32>,
        /// Write a file that `program.load` of DSPy reads
        #[arg(long)]
        dspy: bool,
    },
    /// Make the state of a file active; the same state makes no version
    Push {
        /// The graph
        #[arg(value_name = "GRAPH")]
        graph: String,
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The file is one that `program.save` of DSPy wrote
        #[arg(long)]
        dspy: bool,
    },
    /// Show how a file or a version differs; exit code 1 if it does
    Diff {
        /// The graph
        #[arg(value_name = "GRAPH")]
        graph: String,
        /// A file, compared with the active state, or the number of a version
        #[arg(value_name = "FILE|VERSION")]
        subject: String,
        /// The version that a version is compared with; its parent by default
        #[arg(long, value_name = "N")]
        against: Option<i32>,
    },
    /// Make a version active; an older one rolls back
    Activate {
        /// The graph
        #[arg(value_name = "GRAPH")]
        graph: String,
        /// The state version
        #[arg(value_name = "VERSION")]
        version: i32,
    },
}

/// Runs a command about states.
pub(super) async fn run(args: StateArgs) -> Result<(), CommandFailure> {
    let session = Session::open(&args.client)?;
    match args.command {
        StateCommand::Pull { graph, file, version, dspy } => {
            pull(&session, &graph, file, version, dspy).await
        }
        StateCommand::Push { graph, file, dspy } => push(&session, &graph, file, dspy).await,
        StateCommand::Diff { graph, subject, against } => match subject.parse() {
            Ok(version) => diff_versions(&session, &graph, version, against).await,
            Err(_) => diff_file(&session, &graph, subject.into()).await,
        },
        StateCommand::Activate { graph, version } => activate(&session, &graph, version).await,
    }
}

async fn pull(
    session: &Session,
    graph: &str,
    file: Option<PathBuf>,
    version: Option<i32>,
    dspy: bool,
) -> Result<(), CommandFailure> {
    let version = version.map(|number| number.to_string());
    let mut path = vec!["graphs", graph, "state"];
    path.extend(version.iter().flat_map(|number| ["versions", number]));
    let format: &[_] = if dspy { &[("format", "dspy".to_owned())] } else { &[] };
    let found = session.server.get(&path).query(format).json().await?;
    let state = if dspy { found } else { overrides(&found) };
    match file {
        None => print_json(&state),
        Some(file) => {
            let written = write_document(&file, &state)?;
            let result = if written { "written" } else { "unchanged" };
            print_line(&format!("{} {result}", file.display()))
        }
    }
}

async fn push(
    session: &Session,
    graph: &str,
    file: PathBuf,
    dspy: bool,
) -> Result<(), CommandFailure> {
    let mut text = read_text(&file)?;
    let document = parse(&file, &text)?;
    if dspy {
        text = json!({"format": "dspy", "state": document}).to_string();
    }
    let pushed = push_state(session, graph, &text).await;
    let place = file.display().to_string();
    let (result, version) = pushed.map_err(|error| at_file(&place, error))?;
    match session.json {
        true => print_json(&json!({"graph": graph, "result": result, "version": version})),
        false => print_line(&format!("{graph} {result}, version {}", version.unwrap_or(0))),
    }
}

async fn diff_file(session: &Session, graph: &str, file: PathBuf) -> Result<(), CommandFailure> {
    let local = overrides(&parse(&file, &read_text(&file)?)?);
    let found = session.server.get(&["graphs", graph, "state"]).json().await?;
    let title = format!("state of {graph}, version {}", cell(&found["version"]));
    let place = file.display().to_string();
    shown(&difference((&title, &overrides(&found)), (&place, &local)))
}

async fn diff_versions(
    session: &Session,
    graph: &str,
    version: i32,
    against: Option<i32>,
) -> Result<(), CommandFailure> {
    let version = version.to_string();
    let against: Vec<_> = against.iter().map(|n| ("against", n.to_string())).collect();
    let call = session.server.get(&["graphs", graph, "state", "versions", &version, "diff"]);
    let diff = call.query(&against).json().await?;
    match session.json {
        true => print_json(&diff),
        false => shown(&printable(&cell(&diff["text"]))),
    }
}

fn shown(difference: &str) -> Result<(), CommandFailure> {
    match difference {
        "" => Ok(()),
        text => {
            print_line(text.trim_end())?;
            Err(CommandFailure::printed())
        }
    }
}

async fn activate(session: &Session, graph: &str, version: i32) -> Result<(), CommandFailure> {
    let version = version.to_string();
    let call = session.server.post(&["graphs", graph, "state", "versions", &version, "activate"]);
    let state = call.json().await?;
    let moved = &state["activation"];
    match session.json {
        true => print_json(moved),
        false => {
            let text = |name: &str| cell(&moved[name]);
            let of_newest = match moved["newest"] {
                Value::Bool(true) => String::new(),
                _ => format!(" of the older graph version {}", text("graph_version")),
            };
            let (to, from) = (text("to"), text("from"));
            print_line(&format!("{graph}: state {to}{of_newest} is active; before: {from}"))
        }
    }
}
