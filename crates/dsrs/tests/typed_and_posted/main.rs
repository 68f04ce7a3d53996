//! Typed programs and posted graphs mean the same: states, defaults, types and prompts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod demos;
mod hosted;
mod laws;
mod projected_state;
mod projection;
mod support;
