//! Strategies from the outside: each as a module of the registry and as a node of a posted graph,
//! with an LM that answers from a script.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod chain_of_thought;
mod program_of_thought;
mod react;
mod support;
