//! The page in headless Chromium, as a person uses it: one binary, one file a noun. Without a browser the stories are
//! skipped, and say so; `DSRS_REQUIRE_BROWSER=1` makes that a failure.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod attack;
mod axe;
mod browser;
mod editor;
mod foreign_site;
mod forms;
mod graphs;
mod parse;
mod quality;
mod runs;
mod search;
mod sessions;
mod state;
mod walk;
mod world;

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
