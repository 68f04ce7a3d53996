//! The API over real HTTP, a real Postgres and a scripted LM: one file an area of the URL tree.

mod assignable;
mod background_runs;
mod batches;
mod datasets;
mod edits;
mod evaluations;
mod execute;
mod followed_runs;
pub(crate) mod graph_builds;
mod graphs;
mod graphs_within;
mod idempotency;
mod odd_input;
mod optimizations;
mod pages;
mod parse;
mod predictors;
mod problems;
mod provenance;
mod render;
mod resumed_runs;
mod runs;
mod state;
mod state_versions;
mod strategies;
mod streams;
mod waiting_runs;
