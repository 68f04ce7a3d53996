//! Optimizers and their engine with scripted LMs.

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
mod knn_few_shot;
mod labeled_few_shot;
mod learning;
mod mipro_v2;
mod simba;
mod strategy_search;
mod support;
mod typed_modules;
