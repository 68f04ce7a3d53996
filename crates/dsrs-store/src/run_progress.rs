//! What attempts at a background run store before its end: checkpoints and events. May not know how they are
//! written.

use std::sync::Arc;

use dsrs::lm::{Prefix, Usage};
use uuid::Uuid;

/// The checkpoint of a completed node. Documents are JSON text.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRow {
    /// The node's name.
    pub node: String,
    /// The node as in the run's `nodes`.
    pub outcome: String,
    /// Calls, tokens and cost.
    pub usage: String,
    pub trace: String,
    /// The prefixes that prompts in the trace may begin with; none of a checkpoint that was read.
    pub prefixes: Vec<Arc<Prefix>>,
}

/// The graph of a run, whose runs have texts in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunGraph {
    pub id: Uuid,
    pub name: String,
}

/// The checkpoints that the record of a run includes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecordedCheckpoints {
    pub count: i64,
    /// What they have spent in sum.
    pub spent: Usage,
}

/// Events that were written together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventsRow {
    /// The id of the newest event.
    pub last_id: i64,
    /// The events, as JSON text: `[[kind, data], …]`, the newest last.
    pub events: String,
}
