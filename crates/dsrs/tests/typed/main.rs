//! Typed programs: derived signatures, modules as authors write them, and what they share with posted
//! graphs. Registers strategies of its own; no test here may expect a list of all strategies.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod and_posted;
mod authoring;
mod constraints;
mod data_types;
mod defaults_and_derives;
mod derived_modules;
mod discovery;
mod hosting;
mod module_states;
mod programs;
mod scores;
mod signatures;
#[path = "../story/mod.rs"]
mod story;
mod tools_of_predictors;
