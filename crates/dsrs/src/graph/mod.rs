//! Graphs of strategies: read from a document or built by hand, checked at every connection,
//! compiled, and executed as dataflow. The top layer of the engine below `optimize`; knows nothing of
//! servers or storage.
//!
//! A [`ProgramGraph`] can be edited: every node and edge in it is checked. A [`Program`] is a complete
//! graph: immutable, shared, and ready to run.

mod build;
mod canonical;
mod carry_over;
mod check;
mod dspy;
mod edge;
mod edits;
mod execution;
mod exposure;
mod lone_module;
mod module;
mod node;
mod order;
mod passed_inputs;
mod plan;
mod program;
mod program_graph;
mod projection;
mod provenance;
mod references;
mod state_diff;
mod subgraph;
mod tracer;

/// The tuned state of a whole graph: predictor states by their paths in the graph.
pub use crate::predict::ModuleState as GraphState;
pub use build::{MAX_EDGES, MAX_NODES};
pub use carry_over::{CarryOver, carry_over};
pub use dspy::{DspyImport, from_dspy, load_dspy, module_to_dspy, to_dspy};
pub use edge::{Edge, INPUT, Source, Target};
pub use edits::{Edit, EditResult, Edits, GraphDiff, graph_diff};
pub use execution::{
    CompletedNode, CompletedNodes, Journal, JournalError, NodeOutcome, NodeStatus, Outcome,
    ResumeDecision, RunError, SharedOutputs, SharedWork, WorkKey, WorkStore, resume_decisions,
};
pub use exposure::{ChatExposure, Exposure, ToolExposure};
pub use module::GraphModule;
pub(crate) use node::predictor_path;
pub use node::{DEFAULT_PARSE_RETRIES, DEFAULT_RETRIES, DEFAULT_TIMEOUT_MS, Node, NodeSettings};
pub use program::Program;
pub use program_graph::{GraphOutput, ProgramGraph};
pub use projection::{
    OpenConnection, ProjectError, Projection, ToolsOfPredictor, load_module_state,
};
pub use provenance::{Lineage, Provenance, RunRecord};
pub use references::{document_references, edit_references};
pub use state_diff::{
    DemoChange, DemoField, InstructionChange, PredictorDiff, Presence, StateDiff, ValueChange,
    state_diff,
};
pub use tracer::{TracedNode, Tracer};
