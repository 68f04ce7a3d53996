//! Parsing of answers: the corpus of layouts, laws that hold for any value, streamed answers, and
//! hostile texts. What parsing costs in memory is measured by the test `memory`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod answers;
mod coercion_laws;
mod corpus;
mod corpus_docs;
mod hostile_texts;
mod never_panics;
mod partial_answers;
#[path = "../story/mod.rs"]
mod story;
