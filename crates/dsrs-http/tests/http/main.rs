//! The API over real HTTP, a real Postgres and a scripted LM: one file an area of the URL tree.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod agent;
mod assignable;
mod audit;
mod background_runs;
mod batches;
mod caller_tools;
mod calls;
mod chat_completions;
mod compression;
mod constraints;
mod cross_origin;
mod datasets;
mod decisions;
mod edits;
mod evaluations;
mod execute;
mod exposed_graphs;
mod feedback;
mod followed_runs;
mod graph_builds;
mod graph_contracts;
mod graphs;
mod graphs_within;
mod hosts;
mod idempotency;
mod indexes;
mod key_limits;
mod keys;
mod limits;
mod odd_input;
mod online_evaluation;
mod openai_responses;
mod optimizations;
mod pages;
mod parse;
mod partitions;
mod predictors;
mod problems;
mod provenance;
mod recorded_calls;
mod render;
mod resumed_runs;
mod revisions;
mod run_labels;
mod runs;
mod schedules;
mod state;
mod state_versions;
mod strategies;
mod streams;
mod structured_answers;
mod unmeasured;
mod usage;
mod waiting_runs;
mod webhooks;
mod workspace_limits;
mod workspace_walk;

use std::sync::Arc;

use axum::Router;
use dsrs_app::App;
use dsrs_config::Config;
use dsrs_http::HtmlRoutes;
use dsrs_test_api::Routes;

/// The service with the routes of the API alone.
type Api = dsrs_test_api::Api<ApiRoutes>;

struct ApiRoutes;

impl Routes for ApiRoutes {
    fn router(app: Arc<App>, config: &Config) -> Router {
        dsrs_http::router(app, config, HtmlRoutes::default())
    }
}
