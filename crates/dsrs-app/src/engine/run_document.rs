//! The documents of a run in the engine: what is sent with it, and what its attempts store. Each says the version
//! of its format, so that a worker of an older release refuses what it cannot read. May not know graphs.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use dsrs_store::Scope;
use dsrs_store::run::{RunRow, RunStatus, RunStorage};
use dsrs_store::run_label::RunLabels;
use dsrs_store::run_progress::NodeRow;

/// The format that this release writes, and the newest that it reads.
const FORMAT: u16 = 1;

/// Why a document cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    #[error("a newer release made the run (format {0})")]
    Newer(u16),
    #[error("a document of the run cannot be read: {0}")]
    Malformed(String),
}

#[derive(Deserialize)]
struct FormatMark {
    format: u16,
}

#[derive(Serialize, Deserialize)]
struct WithFormat<T> {
    format: u16,
    #[serde(flatten)]
    document: T,
}

/// What is sent with a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SentRun {
    /// The caller.
    pub(crate) scope: Scope,
    /// The options of the request, as JSON text.
    pub(crate) request: String,
    /// The run as it was accepted.
    pub(crate) run: RunRow,
}

#[derive(Serialize, Deserialize)]
struct SentDocument {
    workspace: Uuid,
    actor: String,
    request: String,
    run: RunDocument,
}

/// A row of `runs`. Documents within it are texts: their bytes are part of the record.
#[derive(Serialize, Deserialize)]
struct RunDocument {
    id: Uuid,
    graph_id: Uuid,
    graph_name: String,
    graph_version: i32,
    state_version: i32,
    status: String,
    created_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    duration_ms: Option<i64>,
    inputs: String,
    outputs: Option<String>,
    error: Option<String>,
    usage: String,
    nodes: String,
    trace: String,
    created_by: String,
    // Servers of the release before write none of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tags: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct NodeDocument {
    node: String,
    outcome: String,
    usage: String,
    trace: String,
}

#[derive(Serialize, Deserialize)]
struct AttemptsDocument {
    attempts: u32,
    // Servers of the release before write none.
    #[serde(default)]
    forgiven: u32,
}

impl SentRun {
    pub(crate) fn write(&self) -> Bytes {
        write(SentDocument {
            workspace: self.scope.workspace,
            actor: self.scope.actor.to_string(),
            request: self.request.clone(),
            run: RunDocument::of(&self.run),
        })
    }

    pub(crate) fn read(text: &[u8]) -> Result<Self, DocumentError> {
        let sent: SentDocument = read(text)?;
        Ok(Self {
            scope: Scope { workspace: sent.workspace, actor: sent.actor.into() },
            request: sent.request,
            run: sent.run.row()?,
        })
    }
}

/// The record of a run.
pub(crate) fn write_run(run: &RunRow) -> Bytes {
    write(RunDocument::of(run))
}

/// Reads what [`write_run`] wrote.
pub(crate) fn read_run(text: &[u8]) -> Result<RunRow, DocumentError> {
    read::<RunDocument>(text)?.row()
}

/// A completed node.
pub(crate) fn write_node(node: &NodeRow) -> Bytes {
    let NodeRow { node, outcome, usage, trace, .. } = node.clone();
    write(NodeDocument { node, outcome, usage, trace })
}

/// Reads what [`write_node`] wrote.
pub(crate) fn read_node(text: &[u8]) -> Result<NodeRow, DocumentError> {
    let NodeDocument { node, outcome, usage, trace } = read(text)?;
    Ok(NodeRow { node, outcome, usage, trace, prefixes: Vec::new() })
}

/// The attempts at a run since one has stored progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AttemptCount {
    /// How many have begun.
    pub(crate) begun: u32,
    /// How many had lost the run before these although their workers lived.
    pub(crate) forgiven_before: u32,
}

impl AttemptCount {
    /// The count as a document.
    pub(crate) fn write(self) -> Bytes {
        write(AttemptsDocument { attempts: self.begun, forgiven: self.forgiven_before })
    }

    /// Reads what [`Self::write`] wrote.
    pub(crate) fn read(text: &[u8]) -> Result<Self, DocumentError> {
        let AttemptsDocument { attempts, forgiven } = read(text)?;
        Ok(Self { begun: attempts, forgiven_before: forgiven })
    }

    /// How many count, if so many have lost the run although their workers lived.
    pub(crate) fn counted(self, forgiven: u32) -> u32 {
        self.begun.saturating_sub(forgiven.saturating_sub(self.forgiven_before))
    }
}

fn write<T: Serialize>(document: T) -> Bytes {
    // Texts and numbers are always JSON.
    serde_json::to_vec(&WithFormat { format: FORMAT, document }).unwrap_or_default().into()
}

fn read<T: for<'d> Deserialize<'d>>(text: &[u8]) -> Result<T, DocumentError> {
    let malformed = |error: serde_json::Error| DocumentError::Malformed(error.to_string());
    let FormatMark { format } = serde_json::from_slice(text).map_err(malformed)?;
    if format > FORMAT {
        return Err(DocumentError::Newer(format));
    }
    let found: WithFormat<T> = serde_json::from_slice(text).map_err(malformed)?;
    Ok(found.document)
}

impl RunDocument {
    fn of(run: &RunRow) -> Self {
        let run = run.clone();
        Self {
            id: run.id,
            graph_id: run.graph_id,
            graph_name: run.graph_name,
            graph_version: run.graph_version,
            state_version: run.state_version,
            status: run.status.as_str().to_owned(),
            created_at: run.created_at,
            started_at: run.started_at,
            finished_at: run.finished_at,
            duration_ms: run.duration_ms,
            inputs: run.inputs,
            outputs: run.outputs,
            error: run.error,
            usage: run.usage,
            nodes: run.nodes,
            trace: run.trace,
            created_by: run.created_by,
            tags: run.labels.tags,
            session_id: run.labels.session_id,
            user_id: run.labels.user_id,
            metadata: run.labels.metadata,
        }
    }

    fn row(self) -> Result<RunRow, DocumentError> {
        let status = RunStatus::parse(&self.status);
        let unknown = || DocumentError::Malformed(format!("unknown status `{}`", self.status));
        Ok(RunRow {
            id: self.id,
            graph_id: self.graph_id,
            graph_name: self.graph_name,
            graph_version: self.graph_version,
            state_version: self.state_version,
            status: status.ok_or_else(unknown)?,
            created_at: self.created_at,
            started_at: self.started_at,
            finished_at: self.finished_at,
            duration_ms: self.duration_ms,
            inputs: self.inputs,
            outputs: self.outputs,
            error: self.error,
            usage: self.usage,
            nodes: self.nodes,
            trace: self.trace,
            created_by: self.created_by,
            labels: RunLabels {
                tags: self.tags,
                session_id: self.session_id,
                user_id: self.user_id,
                metadata: self.metadata,
            },
            storage: RunStorage::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent() -> SentRun {
        let run = RunRow {
            id: Uuid::from_u128(1),
            graph_id: Uuid::from_u128(2),
            graph_name: "graph".to_owned(),
            graph_version: 3,
            state_version: 4,
            status: RunStatus::Queued,
            created_at: DateTime::from_timestamp_micros(1_790_000_000_123_456).unwrap(),
            started_at: None,
            finished_at: None,
            duration_ms: None,
            inputs: r#"{"b": 1.50, "a": "\u0000 \" ü"}"#.to_owned(),
            outputs: None,
            error: None,
            usage: "{}".to_owned(),
            nodes: "{}".to_owned(),
            trace: "{}".to_owned(),
            created_by: "ann".to_owned(),
            labels: RunLabels {
                tags: Some(r#"["a", "b"]"#.to_owned()),
                session_id: Some("session".to_owned()),
                ..RunLabels::default()
            },
            storage: RunStorage::default(),
        };
        let scope = Scope { workspace: Uuid::from_u128(5), actor: "ann".into() };
        SentRun { scope, request: r#"{"timeout_ms":null}"#.to_owned(), run }
    }

    #[test]
    fn documents_are_read_as_they_were_written() {
        let sent = sent();
        assert_eq!(SentRun::read(&sent.write()).unwrap(), sent);
        assert_eq!(read_run(&write_run(&sent.run)).unwrap(), sent.run);
        let text = |text: &str| text.to_owned();
        let node = NodeRow {
            node: text("a"),
            outcome: text(r#"{"outputs": 1.0}"#),
            usage: text("{}"),
            trace: text("{}"),
            prefixes: Vec::new(),
        };
        assert_eq!(read_node(&write_node(&node)).unwrap(), node);
        let count = AttemptCount { begun: 7, forgiven_before: 2 };
        assert_eq!(AttemptCount::read(&count.write()).unwrap(), count);
        assert_eq!((count.counted(0), count.counted(5), count.counted(50)), (7, 4, 0));
        let earlier = AttemptCount::read(br#"{"format":1,"attempts":3}"#).unwrap();
        assert_eq!(earlier.counted(1), 2);
    }

    #[test]
    fn a_document_of_a_newer_release_is_refused_before_it_is_read() {
        let newer = br#"{"format": 2, "what": "no older release knows"}"#;
        assert!(matches!(SentRun::read(newer), Err(DocumentError::Newer(2))));
        for malformed in ["", "[]", "{}", r#"{"format":1}"#, r#"{"format":"1"}"#] {
            let found = SentRun::read(malformed.as_bytes());
            assert!(matches!(found, Err(DocumentError::Malformed(_))), "{malformed}");
        }
    }
}
