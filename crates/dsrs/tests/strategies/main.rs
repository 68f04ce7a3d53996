//! Strategies as modules of the registry and as nodes of graphs, with a scripted LM.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod best_of_n;
mod chain_of_thought;
mod majority;
mod multi_chain_comparison;
mod program_of_thought;
mod react;
mod refine;
mod refine_within;
mod streaming;
mod support;
