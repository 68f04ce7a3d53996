//! Optimizers and their engine with scripted LMs, of graphs and of typed modules, and the synthetic LM
//! that most of them improve. Registers strategies of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod bootstrap;
mod copro;
mod engine;
mod every_one;
mod exactness;
mod gepa;
mod judges;
mod knn_few_shot;
mod labeled_few_shot;
mod learning;
mod mipro_v2;
mod outages;
mod simba;
#[path = "../story/mod.rs"]
mod story;
mod strategy_search;
mod support;
mod synthetic;
mod threshold_calibration;
mod typed_modules;
mod typed_optimization;
