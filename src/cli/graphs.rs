//! The commands `graphs list`, `push`, `pull`, `diff` and `validate`: a directory of graphs and states
//! and a server.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::Value;

use super::documents::{
    DocumentFile, DocumentKind, definition, difference, documents_at, overrides, parse, read_text,
    write_document,
};
use super::failure::{CommandFailure, at_file, refused};
use super::graph_push;
use super::session::{ClientArgs, Session, print_json, print_line};
use super::table::{TextTable, cell};
use crate::client::ClientError;

/// Graphs of a server
#[derive(Debug, Args)]
pub(super) struct GraphsArgs {
    #[command(subcommand)]
    command: GraphsCommand,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Subcommand)]
enum GraphsCommand {
    /// List the graphs, newest first
    List,
    /// Send graphs and states; what the server has already stays as it is
    Push {
        /// Files, or directories with `*.json`; `NAME.state.json` is the state of the graph NAME
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Write graphs and their states to files
    Pull {
        /// The graphs; all of them if none is named
        #[arg(value_name = "GRAPH")]
        graphs: Vec<String>,
        /// The directory of the files
        #[arg(long, value_name = "DIRECTORY", default_value = ".")]
        to: PathBuf,
        /// Write graphs alone
        #[arg(long)]
        no_state: bool,
    },
    /// Show how files differ from the server; exit code 1 if they do
    Diff {
        /// Files or directories
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Check graphs without storing them; exit code 1 if one is not valid
    Validate {
        /// Files or directories
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
}

/// Runs a command about graphs.
pub(super) async fn run(args: GraphsArgs) -> Result<(), CommandFailure> {
    let session = Session::open(&args.client)?;
    match args.command {
        GraphsCommand::List => list(&session).await,
        GraphsCommand::Push { paths } => graph_push::push(&session, documents_at(&paths)?).await,
        GraphsCommand::Pull { graphs, to, no_state } => {
            pull(&session, graphs, &to, !no_state).await
        }
        GraphsCommand::Diff { paths } => diff(&session, &documents_at(&paths)?).await,
        GraphsCommand::Validate { paths } => validate(&session, &documents_at(&paths)?).await,
    }
}

async fn list(session: &Session) -> Result<(), CommandFailure> {
    let graphs = session.server.list(&["graphs"], &[], usize::MAX).await?;
    if session.json {
        return print_json(&Value::Array(graphs));
    }
    let mut table = TextTable::new(&["name", "version", "state", "updated", "description"]);
    for graph in &graphs {
        let members = ["name", "version", "state_version", "updated_at", "description"];
        table.row(members.map(|name| cell(&graph[name])));
    }
    table.print()
}

async fn pull(
    session: &Session,
    mut graphs: Vec<String>,
    to: &Path,
    with_state: bool,
) -> Result<(), CommandFailure> {
    if graphs.is_empty() {
        let found = session.server.list(&["graphs"], &[], usize::MAX).await?;
        graphs = found.iter().map(|graph| cell(&graph["name"])).collect();
    }
    let mut table = TextTable::new(&["file", "result"]);
    for graph in &graphs {
        let path = to.join(format!("{graph}.json"));
        let found = definition(session.server.get(&["graphs", graph]).json().await?);
        let is_same = same_graph(session, &path, &found).await?;
        let written = !is_same && write_document(&path, &found)?;
        table.row([path.display().to_string(), result(written).to_owned()]);
        if !with_state {
            continue;
        }
        let path = to.join(format!("{graph}.state.json"));
        let state = overrides(&session.server.get(&["graphs", graph, "state"]).json().await?);
        let has_overrides = state["predictors"].as_object().is_some_and(|all| !all.is_empty());
        if has_overrides || path.exists() {
            let is_same = same_state(&path, &state)?;
            let written = !is_same && write_document(&path, &state)?;
            table.row([path.display().to_string(), result(written).to_owned()]);
        }
    }
    table.print_to(session)
}

fn result(written: bool) -> &'static str {
    if written { "written" } else { "unchanged" }
}

/// Whether a file says the same as the server, perhaps in another notation.
async fn same_graph(session: &Session, path: &Path, found: &Value) -> Result<bool, CommandFailure> {
    if !path.exists() {
        return Ok(false);
    }
    match resolved(session, read_text(path)?).await {
        Ok(local) => Ok(local == *found),
        Err(error) if error.refusal().is_some() && !error.is_temporary() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn same_state(path: &Path, state: &Value) -> Result<bool, CommandFailure> {
    if !path.exists() {
        return Ok(false);
    }
    Ok(overrides(&parse(path, &read_text(path)?)?) == *state)
}

/// A definition as the server would store it.
async fn resolved(session: &Session, text: String) -> Result<Value, ClientError> {
    let call = session.server.post(&["graphs", "validate"]).body("application/json", text);
    Ok(call.json().await?["graph"].take())
}

async fn diff(session: &Session, files: &[DocumentFile]) -> Result<(), CommandFailure> {
    let mut differs = false;
    for file in files {
        let text = match file.kind {
            DocumentKind::Graph => graph_difference(session, file).await?,
            DocumentKind::State => state_difference(session, &file.graph, file).await?,
            DocumentKind::Other => continue,
        };
        if !text.is_empty() {
            differs = true;
            print_line(text.trim_end())?;
        }
    }
    if differs { Err(CommandFailure::printed()) } else { Ok(()) }
}

async fn graph_difference(
    session: &Session,
    file: &DocumentFile,
) -> Result<String, CommandFailure> {
    let local = resolved(session, file.text.clone()).await;
    let local = local.map_err(|error| at_file(&file.place(), error))?;
    let name = cell(&local["name"]);
    let found = get_or_null(session, &["graphs", &name]).await?;
    let title = title("graph", &name, &found);
    Ok(difference((&title, &definition(found)), (&file.place(), &local)))
}

/// How a file of a state differs from the active state.
async fn state_difference(
    session: &Session,
    graph: &str,
    file: &DocumentFile,
) -> Result<String, CommandFailure> {
    let found = get_or_null(session, &["graphs", graph, "state"]).await?;
    let title = title("state of", graph, &found);
    let active = if found.is_null() { found } else { overrides(&found) };
    Ok(difference((&title, &active), (&file.place(), &overrides(&file.document))))
}

/// A resource, or null if there is none.
async fn get_or_null(session: &Session, segments: &[&str]) -> Result<Value, CommandFailure> {
    match session.server.get(segments).json().await {
        Err(error) if error.is_not_found() => Ok(Value::Null),
        found => Ok(found?),
    }
}

fn title(what: &str, graph: &str, found: &Value) -> String {
    match found["version"].as_i64() {
        Some(version) => format!("{what} {graph}, version {version}"),
        None => format!("{what} {graph}, not on the server"),
    }
}

async fn validate(session: &Session, files: &[DocumentFile]) -> Result<(), CommandFailure> {
    let mut table = TextTable::new(&["file", "kind", "name", "result"]);
    let mut problems = Vec::new();
    for file in files {
        let result = match file.kind {
            DocumentKind::Graph => match resolved(session, file.text.clone()).await {
                Ok(_) => "valid",
                Err(error) => {
                    problems.extend(refused(&file.place(), error)?);
                    "invalid"
                }
            },
            DocumentKind::State => "not checked",
            DocumentKind::Other => "skipped",
        };
        let kind = file.kind.as_str().to_owned();
        table.row([file.place(), kind, file.graph.clone(), result.to_owned()]);
    }
    table.print_to(session)?;
    if problems.is_empty() { Ok(()) } else { Err(problems.into()) }
}
