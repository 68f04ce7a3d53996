//! A checkpoint, as its row has it: one body, or JSON in a database whose runs have JSON. Made by the caller who stores
//! it, so that the documents themselves wait for no commit. May not know the statements that write it.
//!
//! ```text
//! version  1
//! usage    length, then as `run_usage` has it, without models
//! cost     0: unknown; 1: known, then eight bytes, little-endian
//! rest     outcome and trace, as the body of a run has its nodes and its trace
//! ```

use std::sync::Arc;

use dsrs::lm::Usage;
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::StoreError;
use super::run_bodies::RunBodies;
use super::run_body::{BodyError, RunDocuments, varint};
use super::run_progress::{NodeRow, RunGraph};
use super::run_usage::{SpentUsage, usage_of_json};

/// The version that is written.
const VERSION: u8 = 1;

/// A packed checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct PackedCheckpoint {
    pub(crate) node: String,
    pub(crate) usage: Usage,
    pub(crate) body: Option<Vec<u8>>,
    /// The documents, if there is no body.
    pub(crate) json: Option<Arc<NodeRow>>,
}

impl PackedCheckpoint {
    /// Packs a checkpoint of a run of this graph, if it is known, in the form of the database. Never waits.
    pub(crate) fn new(
        bodies: &RunBodies,
        workspace: Uuid,
        graph: Option<&RunGraph>,
        node: &Arc<NodeRow>,
    ) -> Self {
        let usage = usage_of_json(&node.usage);
        let (body, json) = match bodies.is_compact() {
            true => (Some(write(bodies, workspace, graph, node, usage)), None),
            false => (None, Some(node.clone())),
        };
        Self { node: node.node.clone(), usage, body, json }
    }

    /// The bytes that it takes in memory.
    pub(crate) fn size(&self) -> usize {
        let json = self.json.as_ref();
        let texts = json.map_or(0, |json| json.outcome.len() + json.usage.len() + json.trace.len());
        self.node.len() + self.body.as_ref().map_or(0, Vec::len) + texts
    }
}

fn write(
    bodies: &RunBodies,
    workspace: Uuid,
    graph: Option<&RunGraph>,
    node: &NodeRow,
    usage: Usage,
) -> Vec<u8> {
    let counts = SpentUsage { whole: usage, models: Vec::new() }.compact(&node.usage);
    let documents =
        RunDocuments { inputs: "", outputs: None, nodes: &node.outcome, trace: &node.trace };
    let rest = bodies.write_checkpoint(workspace, graph, &node.prefixes, &documents);
    let mut bytes = Vec::with_capacity(counts.len() + rest.len() + 12);
    bytes.push(VERSION);
    varint::push(&mut bytes, counts.len() as u64);
    bytes.extend(counts);
    bytes.push(usage.cost.is_some().into());
    bytes.extend(usage.cost.into_iter().flat_map(f64::to_le_bytes));
    bytes.extend(rest);
    bytes
}

/// The text of the usage, and the rest.
fn split(bytes: &[u8]) -> Result<(String, &[u8]), BodyError> {
    let mut reader = varint::Reader::new(bytes);
    match reader.byte()? {
        VERSION => {}
        other => return Err(BodyError::NewerVersion(other)),
    }
    let length = reader.count()?;
    let counts = reader.take(length)?;
    let cost = match reader.byte()? {
        0 => None,
        1 => reader.take(8)?.try_into().ok().map(f64::from_le_bytes),
        other => return Err(BodyError::UnknownForm(other)),
    };
    let (_, usage) = SpentUsage::read(counts, cost)?;
    Ok((usage, reader.rest()))
}

/// A checkpoint as it is stored, in one form or the other.
#[derive(Debug, FromRow)]
pub(crate) struct CheckpointRow {
    node: String,
    body: Option<Vec<u8>>,
    outcome: Option<String>,
    usage: Option<String>,
    trace: Option<String>,
}

/// The columns of [`CheckpointRow`].
pub(crate) const CHECKPOINT_COLUMNS: &str = "node, body, outcome::text, usage::text, trace::text";

/// Reads the documents of checkpoints, in their order, on a connection that sees their workspace.
pub(crate) async fn read(
    bodies: &RunBodies,
    connection: &mut PgConnection,
    rows: Vec<CheckpointRow>,
) -> Result<Vec<NodeRow>, StoreError> {
    let unreadable = |error: BodyError| StoreError::internal(format!("a checkpoint: {error}"));
    let packed = rows.iter().filter_map(|row| row.body.as_deref());
    let packed: Vec<(String, &[u8])> =
        packed.map(split).collect::<Result<_, _>>().map_err(unreadable)?;
    let rest: Vec<&[u8]> = packed.iter().map(|(_, rest)| *rest).collect();
    let documents = bodies.read(connection, &rest).await?;
    let usages: Vec<String> = packed.into_iter().map(|(usage, _)| usage).collect();
    let mut compact = usages.into_iter().zip(documents);
    let node = |row: CheckpointRow| {
        let (outcome, usage, trace) = match row.body.and_then(|_| compact.next()) {
            Some((usage, read)) => (read.nodes, usage, read.trace),
            None => {
                let texts = (row.outcome, row.usage, row.trace);
                (
                    texts.0.unwrap_or_default(),
                    texts.1.unwrap_or_default(),
                    texts.2.unwrap_or_default(),
                )
            }
        };
        NodeRow { node: row.node, outcome, usage, trace, prefixes: Vec::new() }
    };
    Ok(rows.into_iter().map(node).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_usage::usage_json;

    fn node(usage: String) -> Arc<NodeRow> {
        let (outcome, trace) = (r#"{"status":"succeeded"}"#.into(), r#"{"spans":[]}"#.into());
        Arc::new(NodeRow { node: "a".into(), outcome, usage, trace, prefixes: Vec::new() })
    }

    #[test]
    fn the_usage_of_a_checkpoint_reads_back_with_its_text() {
        for usage in [
            usage_json(&Usage::default()),
            usage_json(&Usage {
                lm_calls: 2,
                input_tokens: 300,
                cost: Some(0.1),
                ..Usage::default()
            }),
            r#"{"lm_calls": 1}"#.to_owned(),
        ] {
            let bodies = RunBodies::default();
            bodies.set_compact(true);
            let packed = PackedCheckpoint::new(&bodies, Uuid::nil(), None, &node(usage.clone()));
            let body = packed.body.unwrap();
            assert_eq!(split(&body).unwrap().0, usage);
            for length in 0..12 {
                let _ = split(&body[..length]);
            }
        }
        assert_eq!(split(&[2]), Err(BodyError::NewerVersion(2)));
        assert_eq!(split(&[1, 200]), Err(BodyError::Truncated));
    }

    #[test]
    fn a_database_with_json_gets_json() {
        let packed =
            PackedCheckpoint::new(&RunBodies::default(), Uuid::nil(), None, &node("{}".into()));
        assert_eq!((packed.body, packed.json.unwrap().node.as_str()), (None, "a"));
    }
}
