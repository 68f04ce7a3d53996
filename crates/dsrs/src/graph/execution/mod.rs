//! Runs of a program: the executor, its journal, the outcome of a run, and which nodes a resumed run
//! reuses. Knows programs; knows nothing of documents or storage.

mod executor;
mod journal;
mod node_call;
mod outcome;
mod output_size;
pub(super) mod restore;
mod resume;
mod shared_work;

pub use journal::{CompletedNode, CompletedNodes, Journal, JournalError};
pub use outcome::{NodeOutcome, NodeStatus, Outcome, RunError};
pub use resume::{ResumeDecision, resume_decisions};
pub use shared_work::{SharedOutputs, SharedWork, WorkKey, WorkStore};
