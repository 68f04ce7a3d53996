//! The optimizers, one file each. Each knows the workbench and nothing of the others.

mod bootstrap;
mod bootstrap_few_shot;
mod bootstrap_random_search;
pub(in crate::optimize) mod config;
mod copro;
mod describe;
mod gepa;
mod knn_few_shot;
mod labeled_few_shot;
mod mipro_v2;
mod proposal;
mod simba;
mod strategy_search;
