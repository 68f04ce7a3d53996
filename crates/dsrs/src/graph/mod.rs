//! Graphs of strategies: read from a document or built by hand, checked at every connection,
//! compiled, executed as dataflow. The top of the engine; knows nothing of servers or storage.
//!
//! A [`ProgramGraph`] is what one edits: every node and edge in it has been checked. A [`Program`]
//! is a graph that is complete: immutable, shared, ready to run.

mod canonical;
mod check;
mod document;
mod dspy;
mod edge;
mod edit;
mod edits;
mod execute;
mod fit;
mod going_on;
mod infer;
mod journal;
mod module;
mod node;
mod node_call;
mod order;
mod outcome;
mod own_signature;
mod plan;
mod program;
mod program_graph;
mod project;
mod provenance;
mod resolve;
mod restore;
mod sentinel;
mod shared;
mod state;
mod state_diff;
mod tracer;
mod walk_back;
mod weigh;
mod weight;

pub use document::{MAX_EDGES, MAX_NODES};
pub use dspy::{FromDspy, from_dspy, to_dspy};
pub use edge::{Edge, INPUT, Source, Target};
pub use edits::{Diff, Edit, Edited, Edits, diff};
pub use fit::fit;
pub use going_on::{GoesOn, going_on};
pub use journal::{EndedNode, EndedNodes, Journal, Unkept};
pub use module::GraphModule;
pub(crate) use node::predictor_path;
pub use node::{DEFAULT_PARSE_RETRIES, DEFAULT_RETRIES, DEFAULT_TIMEOUT_MS, Node, NodeSettings};
pub use outcome::{NodeOutcome, NodeStatus, Outcome, RunError};
pub use program::Program;
pub use program_graph::{GraphOutput, ProgramGraph};
pub use project::{Open, ProjectError, Projection};
pub use provenance::{Lineage, Provenance, RunRecord};
pub use shared::{Given, SharedWork, WorkKey, WorkStore};
pub use state::{Carried, GraphState, carry_over};
pub use state_diff::{
    Change, DemoChange, DemoField, InstructionChange, PredictorDiff, Presence, StateDiff,
    state_diff,
};
pub use tracer::{TracedNode, Tracer};
