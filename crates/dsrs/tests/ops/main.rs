//! Ops through the public API: inferred types, results, failures, and failures as data.

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
