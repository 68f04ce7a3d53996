//! `graphs push`: sends graphs, then states. A graph may name another one of the same push, so that one
//! that is refused is sent again after the others, for as long as that helps.

use serde_json::Value;

use super::documents::{DocumentFile, DocumentKind};
use super::failure::{CommandFailure, refused};
use super::session::{Session, print_json};
use super::table::TextTable;
use crate::client::ClientError;

/// What became of a file.
struct PushedFile {
    place: String,
    kind: DocumentKind,
    graph: String,
    result: &'static str,
    version: Option<i64>,
}

impl PushedFile {
    fn new(file: &DocumentFile, result: &'static str, version: Option<i64>) -> Self {
        let (place, kind) = (file.place(), file.kind);
        Self { place, kind, graph: file.graph.clone(), result, version }
    }
}

/// Sends files and prints what became of each; fails if one is refused.
pub(super) async fn push(
    session: &Session,
    files: Vec<DocumentFile>,
) -> Result<(), CommandFailure> {
    let mut pushed = Vec::new();
    let mut problems = Vec::new();
    let mut left: Vec<&DocumentFile> =
        files.iter().filter(|file| file.kind != DocumentKind::Other).collect();
    loop {
        let (mut again, before) = (Vec::new(), left.len());
        problems.clear();
        for file in left {
            match push_one(session, file).await {
                Ok((result, version)) => pushed.push(PushedFile::new(file, result, version)),
                Err(error) => {
                    problems.extend(refused(&file.place(), error)?);
                    again.push(file);
                }
            }
        }
        left = again;
        if left.is_empty() || left.len() == before {
            break;
        }
    }
    pushed.extend(left.into_iter().map(|file| PushedFile::new(file, "refused", None)));
    let others = files.iter().filter(|file| file.kind == DocumentKind::Other);
    pushed.extend(others.map(|file| PushedFile::new(file, "skipped", None)));
    print(session, &pushed)?;
    if problems.is_empty() { Ok(()) } else { Err(problems.into()) }
}

async fn push_one(
    session: &Session,
    file: &DocumentFile,
) -> Result<(&'static str, Option<i64>), ClientError> {
    match file.kind {
        DocumentKind::Graph => push_graph(session, &file.graph, &file.text).await,
        _ => push_state(session, &file.graph, &file.text).await,
    }
}

async fn push_graph(
    session: &Session,
    graph: &str,
    text: &str,
) -> Result<(&'static str, Option<i64>), ClientError> {
    let server = &session.server;
    let body = || text.to_owned();
    if graph.is_empty() {
        // The server says what is wrong with the name.
        server.post(&["graphs", "validate"]).body("application/json", body()).json().await?;
    }
    let before = match server.get(&["graphs", graph]).json().await {
        Ok(found) => version(&found),
        Err(error) if error.is_not_found() => {
            let created = server.post(&["graphs"]).body("application/json", body()).json().await?;
            return Ok(("created", version(&created)));
        }
        Err(error) => return Err(error),
    };
    let put = server.put(&["graphs", graph]).body("application/json", body()).json().await?;
    Ok((change(before, version(&put)), version(&put)))
}

/// Makes a state active; the same state makes no version.
pub(super) async fn push_state(
    session: &Session,
    graph: &str,
    text: &str,
) -> Result<(&'static str, Option<i64>), ClientError> {
    let path = ["graphs", graph, "state"];
    let before = version(&session.server.get(&path).json().await?);
    let call = session.server.put(&path).body("application/json", text.to_owned());
    let put = call.json().await?;
    Ok((change(before, version(&put)), version(&put)))
}

fn version(answer: &Value) -> Option<i64> {
    answer["version"].as_i64()
}

fn change(before: Option<i64>, after: Option<i64>) -> &'static str {
    if before == after { "unchanged" } else { "changed" }
}

fn print(session: &Session, pushed: &[PushedFile]) -> Result<(), CommandFailure> {
    if session.json {
        let rows = pushed.iter().map(|file| {
            serde_json::json!({
                "file": file.place, "kind": file.kind.as_str(), "graph": file.graph,
                "result": file.result, "version": file.version,
            })
        });
        return print_json(&rows.collect());
    }
    let mut table = TextTable::new(&["file", "kind", "graph", "result", "version"]);
    for file in pushed {
        let version = file.version.map(|number| number.to_string()).unwrap_or_default();
        let (kind, result) = (file.kind.as_str().to_owned(), file.result.to_owned());
        table.row([file.place.clone(), kind, file.graph.clone(), result, version]);
    }
    table.print()
}
