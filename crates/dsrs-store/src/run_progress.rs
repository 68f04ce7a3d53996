//! What attempts at a background run store before its end: checkpoints and events. May not know how they are
//! written.

/// The checkpoint of a completed node. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// The node's name.
    pub node: String,
    /// The node as in the run's `nodes`.
    pub outcome: String,
    /// Calls, tokens and cost.
    pub usage: String,
    pub trace: String,
}

/// Events that were written together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventsRow {
    /// The id of the newest event.
    pub last_id: i64,
    /// The events, as JSON text: `[[kind, data], …]`, the newest last.
    pub events: String,
}
