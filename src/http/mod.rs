//! HTTP: the router, ground rules and wire types. The top room of the server: it turns requests
//! into calls of `app` and answers into JSON. Knows no SQL and no LM.

mod accept;
mod answer;
mod batches;
mod body;
mod body_items;
mod caller;
mod dataset_check;
mod dataset_examples;
mod dataset_upload;
mod datasets;
mod etag;
mod evaluation_comparison;
mod evaluation_events;
mod evaluations;
mod examples;
mod fallback;
mod front;
mod graph_edits;
mod graphs;
mod health;
mod idempotency;
mod lasting_runs;
mod malformed;
mod openapi;
mod optimizations;
mod optimizers;
mod page;
mod parse;
mod path;
mod place;
mod predictors;
mod problem;
mod query;
mod refusal;
mod run_stream;
mod runs;
pub mod schema;
mod states;
mod status;
mod strategies;
mod table_items;
mod upload;

use std::sync::Arc;

use axum::extract::FromRef;
use axum::{Router, middleware};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::SwaggerUi;

use crate::app::App;
use crate::config::ApiKeys;
use body::BodyLimit;
use front::Front;

pub use caller::Caller;
pub use malformed::explained;
pub(crate) use place::stays_on_its_thread;
pub use problem::ApiProblem;
pub use status::ProblemCode;

/// Every route on one page.
fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(openapi::Base::openapi())
        .routes(routes!(graphs::graph_create, graphs::graph_list))
        .routes(routes!(graphs::graph_validate))
        .routes(routes!(graphs::graph_get, graphs::graph_put, graphs::graph_delete))
        .routes(routes!(graph_edits::graph_patch))
        .routes(routes!(graphs::version_list))
        .routes(routes!(graphs::version_get))
        .routes(routes!(graph_edits::version_diff))
        .routes(routes!(predictors::graph_render))
        .routes(routes!(runs::run_execute))
        .routes(routes!(runs::run_list))
        .routes(routes!(runs::run_get))
        .routes(routes!(run_stream::run_events))
        .routes(routes!(lasting_runs::run_start))
        .routes(routes!(lasting_runs::run_cancel))
        .routes(routes!(lasting_runs::run_resume))
        .routes(routes!(lasting_runs::run_signal))
        .routes(routes!(batches::batch_start))
        .routes(routes!(batches::batch_list))
        .routes(routes!(batches::batch_get))
        .routes(routes!(batches::batch_results))
        .routes(routes!(batches::batch_cancel))
        .routes(routes!(datasets::dataset_create, datasets::dataset_list))
        .routes(routes!(datasets::dataset_get, datasets::dataset_put, datasets::dataset_delete))
        .routes(routes!(datasets::dataset_versions))
        .routes(routes!(dataset_examples::dataset_examples))
        .routes(routes!(datasets::dataset_from_runs))
        .routes(routes!(dataset_check::dataset_check))
        .routes(routes!(evaluations::evaluation_start))
        .routes(routes!(evaluations::evaluation_list))
        .routes(routes!(evaluations::evaluation_get))
        .routes(routes!(evaluations::evaluation_results))
        .routes(routes!(evaluations::evaluation_cancel))
        .routes(routes!(evaluation_events::evaluation_events))
        .routes(routes!(evaluation_comparison::evaluation_comparison))
        .routes(routes!(optimizers::optimizer_list))
        .routes(routes!(optimizers::optimizer_get))
        .routes(routes!(optimizations::optimization_start))
        .routes(routes!(optimizations::optimization_list))
        .routes(routes!(optimizations::optimization_get))
        .routes(routes!(optimizations::optimization_events))
        .routes(routes!(optimizations::optimization_cancel))
        .routes(routes!(optimizations::optimization_activate))
        .routes(routes!(optimizations::optimization_candidate_list))
        .routes(routes!(optimizations::optimization_candidate_get))
        .routes(routes!(predictors::predictor_list))
        .routes(routes!(predictors::predictor_get, predictors::predictor_patch))
        .routes(routes!(states::state_get, states::state_put))
        .routes(routes!(states::state_version_list))
        .routes(routes!(states::state_version_get))
        .routes(routes!(states::state_version_diff))
        .routes(routes!(states::state_activate))
        .routes(routes!(states::state_activation_list))
        .routes(routes!(strategies::strategy_list))
        .routes(routes!(strategies::strategy_get))
        .routes(routes!(strategies::strategy_preview))
        .routes(routes!(strategies::model_list))
        .routes(routes!(strategies::type_assignable))
        .routes(routes!(parse::parse))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
}

/// The whole service over HTTP.
pub fn router(app: Arc<App>, keys: ApiKeys) -> Router {
    let front = Arc::new(Front { keys, metrics: app.metrics.clone() });
    let (router, document) = routes().split_for_parts();
    let docs = SwaggerUi::new("/docs")
        .external_url_unchecked("/openapi.json", openapi::complete(&document));
    router
        .with_state(app)
        .merge(docs)
        .fallback(fallback::no_route)
        .method_not_allowed_fallback(fallback::no_method)
        .layer(middleware::from_fn_with_state(front, front::front))
}

/// The OpenAPI document.
#[must_use]
pub fn openapi() -> serde_json::Value {
    openapi::complete(routes().get_openapi())
}

impl FromRef<Arc<App>> for BodyLimit {
    fn from_ref(app: &Arc<App>) -> Self {
        Self(app.limits.body_bytes)
    }
}
