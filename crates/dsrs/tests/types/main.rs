//! Types, values and signatures: what is read from text and JSON, what is refused and where, and what
//! fits what. Calls no LM.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod expressions;
mod json_schemas;
mod meaning;
mod signatures;
mod values;
