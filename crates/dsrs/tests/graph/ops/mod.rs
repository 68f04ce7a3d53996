//! Ops through the public API: inferred types, results, failures, and failures as data.

mod bounds;
mod control;
mod errors;
mod inference;
mod inner;
mod long_runs;
mod random_dags;
mod support;
mod values;
