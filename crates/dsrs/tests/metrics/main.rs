//! Metrics from the outside: read from JSON, checked against a program, judging with an LM that
//! answers from a script.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod comparisons;
mod composition;
mod expressions;
mod guide;
mod intervals;
mod judges;
mod reading;
mod support;
