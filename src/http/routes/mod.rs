//! The routes, one file a noun: requests become calls of `app`, and what it gives becomes answers.

pub(crate) mod audit;
pub(crate) mod background_run;
pub(crate) mod batch;
pub(crate) mod dataset;
pub(crate) mod dataset_check;
pub(crate) mod dataset_examples;
pub(crate) mod dataset_upload;
pub(crate) mod evaluation;
pub(crate) mod evaluation_comparison;
pub(crate) mod evaluation_events;
pub(crate) mod examples;
pub(crate) mod graph;
pub(crate) mod graph_contract;
pub(crate) mod graph_edit;
pub(crate) mod health;
pub(crate) mod job;
pub(crate) mod key;
pub(crate) mod optimization;
pub(crate) mod optimizer;
pub(crate) mod parse;
pub(crate) mod predictor;
pub(crate) mod run;
pub(crate) mod run_events;
pub(crate) mod state;
pub(crate) mod strategy;
pub(crate) mod workspace;
