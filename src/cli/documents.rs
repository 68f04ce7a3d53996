//! Files of JSON: graphs and states as a directory under version control has them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::failure::CommandFailure;

/// The end of the name of a file with the state of a graph.
const STATE_END: &str = ".state.json";

/// The members of an answer that are not part of a definition.
const READ_ONLY: [&str; 7] =
    ["id", "version", "state_version", "content_hash", "created_at", "updated_at", "state"];

/// The content of a file, by its name and members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentKind {
    /// A graph's definition.
    Graph,
    /// The state of the graph that the file is named after: `NAME.state.json`.
    State,
    /// Another document in a directory; it is passed over.
    Other,
}

impl DocumentKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::State => "state",
            Self::Other => "other",
        }
    }
}

/// A file of JSON.
pub(super) struct DocumentFile {
    pub(super) path: PathBuf,
    pub(super) kind: DocumentKind,
    /// The name of the graph; empty if the definition has none.
    pub(super) graph: String,
    pub(super) text: String,
    pub(super) document: Value,
}

impl DocumentFile {
    /// Reads a file. `named` says that the command names the file itself.
    fn read(path: &Path, named: bool) -> Result<Self, CommandFailure> {
        let text = read_text(path)?;
        let document: Value = parse(path, &text)?;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let (kind, graph) = match file.strip_suffix(STATE_END) {
            Some(graph) => (DocumentKind::State, graph.to_owned()),
            None if named || document["nodes"].is_object() => {
                (DocumentKind::Graph, document["name"].as_str().unwrap_or_default().to_owned())
            }
            None => (DocumentKind::Other, String::new()),
        };
        Ok(Self { path: path.to_owned(), kind, graph, text, document })
    }

    pub(super) fn place(&self) -> String {
        self.path.display().to_string()
    }
}

/// The files at these paths, those of directories included: graphs first, by path.
pub(super) fn documents_at(paths: &[PathBuf]) -> Result<Vec<DocumentFile>, CommandFailure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            for found in json_files(path)? {
                files.push(DocumentFile::read(&found, false)?);
            }
        } else {
            files.push(DocumentFile::read(path, true)?);
        }
    }
    files.sort_by_key(|file| file.kind == DocumentKind::State);
    Ok(files)
}

/// Every file of JSON below a directory, by path; hidden ones are left out.
fn json_files(directory: &Path) -> Result<Vec<PathBuf>, CommandFailure> {
    let (mut left, mut found) = (vec![directory.to_owned()], Vec::new());
    while let Some(directory) = left.pop() {
        let unreadable = |error| unreadable(&directory, &error);
        for entry in fs::read_dir(&directory).map_err(unreadable)? {
            let path = entry.map_err(|error| self::unreadable(&directory, &error))?.path();
            let is_hidden = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
            if is_hidden {
                continue;
            } else if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|end| end == "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The text of a file.
pub(super) fn read_text(path: &Path) -> Result<String, CommandFailure> {
    fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

/// Reads JSON; a refusal names line and column.
pub(super) fn parse(path: &Path, text: &str) -> Result<Value, CommandFailure> {
    let wrong = |error| CommandFailure::no(format!("{}: not valid JSON: {error}", path.display()));
    serde_json::from_str(text).map_err(wrong)
}

fn unreadable(path: &Path, error: &std::io::Error) -> CommandFailure {
    CommandFailure::usage(format!("cannot read {}: {error}", path.display()))
}

/// Writes a document, indented, unless the file has this text; whether it was written.
pub(super) fn write_document(path: &Path, document: &Value) -> Result<bool, CommandFailure> {
    let text = format!("{document:#}\n");
    if fs::read_to_string(path).is_ok_and(|found| found == text) {
        return Ok(false);
    }
    let unwritable =
        |error| CommandFailure::usage(format!("cannot write {}: {error}", path.display()));
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(unwritable)?;
    }
    fs::write(path, text).map_err(unwritable)?;
    Ok(true)
}

/// A definition without the read-only members of an answer.
pub(super) fn definition(mut graph: Value) -> Value {
    if let Some(members) = graph.as_object_mut() {
        members.retain(|name, _| !READ_ONLY.contains(&name.as_str()));
    }
    graph
}

/// The overrides of a state: what is not a default. A state of another format stays as it is.
pub(super) fn overrides(state: &Value) -> Value {
    let Some(predictors) = state["predictors"].as_object() else { return state.clone() };
    let is_default = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let mut changed = serde_json::Map::new();
    for (path, predictor) in predictors {
        let mut predictor = predictor.clone();
        if let Some(members) = predictor.as_object_mut() {
            members.retain(|name, value| name != "effective_instruction" && !is_default(value));
            if members.is_empty() {
                continue;
            }
        }
        changed.insert(path.clone(), predictor);
    }
    serde_json::json!({ "predictors": changed })
}

/// The differences of two documents, line by line; empty if there are none.
pub(super) fn difference(before: (&str, &Value), after: (&str, &Value)) -> String {
    let text = |document: &Value| match document {
        Value::Null => String::new(),
        document => format!("{document:#}\n"),
    };
    let (old, new) = (text(before.1), text(after.1));
    let lines = similar::TextDiff::from_lines(&old, &new);
    lines.unified_diff().context_radius(3).header(before.0, after.0).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_without_overrides_has_no_predictors() {
        let state = json!({"version": 3, "predictors": {
            "a": {"instruction": null, "demos": [], "effective_instruction": "x"},
            "b": {"instruction": "Short.", "demos": []}
        }});
        assert_eq!(overrides(&state), json!({"predictors": {"b": {"instruction": "Short."}}}));
    }

    #[test]
    fn equal_documents_have_no_difference() {
        let document = json!({"a": 1});
        assert_eq!(difference(("x", &document), ("y", &document)), "");
        let text = difference(("x", &document), ("y", &json!({"a": 2})));
        assert!(text.contains("--- x\n+++ y\n") && text.contains("+  \"a\": 2"), "{text}");
    }
}
