//! Graphs through the public API: reading documents, refusals, and running programs; the ops and
//! strategies of their nodes, and metrics of their outputs. Registers no strategy: two snapshots list all
//! strategies of the process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod constraints;
mod constraints_within;
mod dspy;
mod edit_lists;
mod edits;
mod execution;
mod exposure;
mod limits;
mod metrics;
mod ops;
mod provenance;
mod refusals;
mod resolution;
mod resume;
mod state;
mod state_diff;
mod strategies;
mod support;
mod tracing;
mod waiting;
