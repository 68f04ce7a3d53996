//! Drives the server from outside: one binary, one file a subject.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod archive;
mod cli;
mod compact_runs;
mod engine;
mod features;
mod first_migration;
mod floors;
mod generated_pages;
mod limits_page;
mod logs;
mod malformed;
mod mcp;
mod metrics;
mod openapi;
mod openapi30;
mod private_postgres;
mod recorded_prompts;
mod sandbox;
mod scale;
mod serve;
mod shows;
mod telemetry;
mod words;

use std::sync::Arc;

use axum::Router;
use dsrs_app::App;
use dsrs_config::Config;
use dsrs_test_api::Routes;

/// The service with all routes.
type Api = dsrs_test_api::Api<AllRoutes>;

struct AllRoutes;

impl Routes for AllRoutes {
    fn router(app: Arc<App>, config: &Config) -> Router {
        dsrs_server::serve::router(app, config)
    }
}
