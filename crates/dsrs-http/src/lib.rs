//! HTTP: the router. Turns requests into calls of `app` and results into answers. May not know SQL or
//! LMs.

// A build that leaves `mcp` out has code that only it uses.
#![cfg_attr(not(feature = "mcp"), allow(dead_code, unused_imports))]

mod docs;
mod protocol;
mod routes;
pub mod views;

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use axum::extract::FromRef;
use axum::routing::get;
use axum::{Extension, Router, middleware};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use dsrs_app::App;
use dsrs_config::Config;
use protocol::admission::Admission;
use protocol::body::BodyLimit;
use protocol::compression::Compression;
use protocol::cors::Cors;
use protocol::front::{self, Front};
use protocol::operations::operations;
use protocol::route::RouteTable;
use protocol::same_site::{OwnOrigins, SiteGuard};
use protocol::{fallback, openapi};
use routes::{
    audit, background_run, batch, chat_completion, dataset, dataset_check, dataset_examples,
    evaluation, evaluation_comparison, evaluation_events, feedback, graph, graph_contract,
    graph_edit, graph_profile, health, index, key, mcp, online_evaluation, openai_response,
    optimization, optimizer, parse, predictor, run, run_events, schedule, state, strategy, usage,
    webhook, webhook_delivery, workspace,
};

pub use protocol::accept::names_html;
pub use protocol::body::Document;
pub use protocol::body::parse as read_document;
pub use protocol::caller::Caller;
pub use protocol::form_body::form_fields;
pub use protocol::html_route::{HtmlAccess, HtmlRoutes};
pub use protocol::malformed::explained;
pub use protocol::page::PageRequest;
pub use protocol::problem::AnsweredProblem;
pub use protocol::problem::ApiProblem;
pub use protocol::problems_page::problems_markdown;
pub use protocol::query::Query;
pub use protocol::same_site::admit_sign_in;
pub use protocol::session::{ended_session, session_key, started_session};
pub use protocol::status::ProblemCode;
pub use routes::dataset_upload::read_pasted as read_pasted_dataset;
pub use routes::evaluation::result_key_of;
pub use routes::run::{problem_text, time as read_time};
pub use routes::schedule::{read_new as read_new_schedule, read_patch as read_schedule_patch};
pub use routes::webhook::{read_new as read_new_webhook, read_patch as read_webhook_patch};

/// Every route.
fn routes() -> OpenApiRouter<Arc<App>> {
    plain_routes().merge(shared_routes())
}

/// The routes that need what they share. It is a layer around these alone, because every layer costs every request.
fn shared_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(operations!(graph_contract::graph_contract))
        .routes(operations!(graph_contract::version_contract))
        .routes(operations!(mcp::mcp_message))
}

/// All other routes.
fn plain_routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(openapi::Base::openapi())
        .routes(operations!(graph::graph_create, graph::graph_list))
        .routes(operations!(graph::graph_validate))
        .routes(operations!(graph::graph_get, graph::graph_put, graph::graph_delete))
        .routes(operations!(graph_edit::graph_patch))
        .routes(operations!(graph::version_list))
        .routes(operations!(graph::version_get))
        .routes(operations!(graph_edit::version_diff))
        .routes(operations!(predictor::graph_render))
        .routes(operations!(run::run_execute))
        .routes(operations!(run::run_list))
        .routes(operations!(run::run_get))
        .routes(operations!(run_events::run_events))
        .routes(operations!(feedback::feedback_give, feedback::feedback_list))
        .routes(operations!(feedback::feedback_delete))
        .routes(operations!(feedback::graph_scores))
        .routes(operations!(usage::usage_read))
        .routes(operations!(
            online_evaluation::online_evaluation_put,
            online_evaluation::online_evaluation_get,
            online_evaluation::online_evaluation_delete
        ))
        .routes(operations!(graph_profile::graph_profile))
        .routes(operations!(background_run::run_start))
        .routes(operations!(background_run::run_cancel))
        .routes(operations!(background_run::run_resume))
        .routes(operations!(background_run::run_signal))
        .routes(operations!(batch::batch_start))
        .routes(operations!(batch::batch_list))
        .routes(operations!(batch::batch_get))
        .routes(operations!(batch::batch_results))
        .routes(operations!(batch::batch_cancel))
        .routes(operations!(dataset::dataset_create, dataset::dataset_list))
        .routes(operations!(dataset::dataset_get, dataset::dataset_put, dataset::dataset_delete))
        .routes(operations!(dataset::dataset_versions))
        .routes(operations!(dataset_examples::dataset_examples))
        .routes(operations!(dataset::dataset_from_runs))
        .routes(operations!(dataset_check::dataset_check))
        .routes(operations!(index::index_create, index::index_list))
        .routes(operations!(index::index_get, index::index_delete))
        .routes(operations!(index::index_build))
        .routes(operations!(index::index_cancel))
        .routes(operations!(index::index_search))
        .routes(operations!(evaluation::evaluation_start))
        .routes(operations!(evaluation::evaluation_list))
        .routes(operations!(evaluation::evaluation_get))
        .routes(operations!(evaluation::evaluation_results))
        .routes(operations!(evaluation::evaluation_cancel))
        .routes(operations!(evaluation_events::evaluation_events))
        .routes(operations!(evaluation_comparison::evaluation_comparison))
        .routes(operations!(optimizer::optimizer_list))
        .routes(operations!(optimizer::optimizer_get))
        .routes(operations!(optimization::optimization_start))
        .routes(operations!(optimization::optimization_list))
        .routes(operations!(optimization::optimization_get))
        .routes(operations!(optimization::optimization_events))
        .routes(operations!(optimization::optimization_cancel))
        .routes(operations!(optimization::optimization_activate))
        .routes(operations!(optimization::optimization_candidate_list))
        .routes(operations!(optimization::optimization_candidate_get))
        .routes(operations!(predictor::predictor_list))
        .routes(operations!(predictor::predictor_get, predictor::predictor_patch))
        .routes(operations!(state::state_get, state::state_put))
        .routes(operations!(state::state_version_list))
        .routes(operations!(state::state_version_get))
        .routes(operations!(state::state_version_diff))
        .routes(operations!(state::state_activate))
        .routes(operations!(state::state_activation_list))
        .routes(operations!(strategy::strategy_list))
        .routes(operations!(strategy::strategy_get))
        .routes(operations!(strategy::strategy_preview))
        .routes(operations!(strategy::model_list))
        .routes(operations!(strategy::type_assignable))
        .routes(operations!(parse::parse))
        .routes(operations!(key::key_create, key::key_list))
        .routes(operations!(key::key_get, key::key_revoke))
        .routes(operations!(workspace::workspace_create, workspace::workspace_list))
        .routes(operations!(workspace::workspace_get))
        .routes(operations!(audit::audit_list))
        .routes(operations!(schedule::schedule_create, schedule::schedule_list))
        .routes(operations!(
            schedule::schedule_get,
            schedule::schedule_patch,
            schedule::schedule_delete
        ))
        .routes(operations!(schedule::schedule_fire))
        .routes(operations!(schedule::firing_list))
        .routes(operations!(webhook::webhook_create, webhook::webhook_list))
        .routes(operations!(webhook::webhook_get, webhook::webhook_patch, webhook::webhook_delete))
        .routes(operations!(webhook::webhook_rotate))
        .routes(operations!(webhook_delivery::webhook_test))
        .routes(operations!(webhook_delivery::delivery_list))
        .routes(operations!(webhook_delivery::delivery_replay))
        .routes(operations!(chat_completion::chat_model_list))
        .routes(operations!(chat_completion::chat_model_get))
        .routes(operations!(chat_completion::chat_completion))
        .routes(operations!(openai_response::openai_response))
        .routes(operations!(health::healthz))
        .routes(operations!(health::readyz))
        .routes(operations!(health::metrics))
}

/// The whole service over HTTP, with the routes of the page.
pub fn router(app: Arc<App>, config: &Config, html: HtmlRoutes) -> Router {
    let (router, mut document) = plain_routes().split_for_parts();
    let (shared, shared_document) = shared_routes().split_for_parts();
    document.merge(shared_document);
    app.fire_schedules();
    let front = Arc::new(Front {
        admission: Admission::new(app.access.clone(), Some(app.quotas.clone())),
        guard: SiteGuard::new(config),
        cors: Cors::new(&config.http.allowed_origins),
        compression: Compression::new(config.http.compress),
        metrics: app.metrics.clone(),
        telemetry: app.telemetry.clone(),
        routes: RouteTable::read(&serde_json::json!({"paths": document.paths}))
            .with_html(html.declared),
        compute: app.compute().clone(),
        request_time: config.limits.run_timeout,
        slow_request: config.log.slow_request,
    });
    let contracts = views::ServerDocument(make_openapi);
    let mcp_route =
        mcp::McpRoute { origins: Arc::new(OwnOrigins::new(config)), calls: Arc::default() };
    router
        .merge(shared.layer(Extension(contracts)).layer(Extension(mcp_route)))
        .merge(html.router)
        .with_state(app)
        .merge(docs::routes())
        .fallback(fallback::no_route)
        .method_not_allowed_fallback(fallback::no_method)
        .layer(middleware::from_fn_with_state(front, front::front))
}

/// `/healthz`, `/readyz` and `/metrics` alone, without keys.
pub fn monitor_router(app: Arc<App>, address: SocketAddr, config: &Config) -> Router {
    let guard = Arc::new(SiteGuard::of_monitor(address.ip(), config));
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .with_state(app)
        .fallback(fallback::no_route)
        .method_not_allowed_fallback(fallback::no_method)
        .layer(middleware::from_fn_with_state(guard, front::monitor_front))
}

/// What the routes declare of themselves, in the form of an OpenAPI document.
#[cfg(test)]
fn declarations() -> serde_json::Value {
    serde_json::to_value(routes().get_openapi()).unwrap_or_default()
}

/// The OpenAPI document, which is the same for every router. As values it takes about 5 MB,
/// so the server makes it when it is asked for.
#[must_use]
pub fn make_openapi() -> serde_json::Value {
    let messages = views::webhook_messages();
    openapi::complete(routes().get_openapi(), &messages, views::complete_schemas)
}

/// The same, made once.
#[must_use]
pub fn openapi() -> &'static serde_json::Value {
    static DOCUMENT: LazyLock<serde_json::Value> = LazyLock::new(make_openapi);
    &DOCUMENT
}

/// The same document in the form of OpenAPI 3.0.
#[must_use]
pub fn openapi30() -> serde_json::Value {
    protocol::openapi30::convert(&make_openapi())
}

impl FromRef<Arc<App>> for BodyLimit {
    fn from_ref(app: &Arc<App>) -> Self {
        Self { bytes: app.limits.body_bytes, memory: app.body_memory.clone() }
    }
}
