//! Ops from the outside: the types that are inferred for them, what they compute, how they fail,
//! and how failures travel as data.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod bounds;
mod errors;
mod inference;
mod inner;
mod long_runs;
mod random_dags;
mod support;
mod values;
