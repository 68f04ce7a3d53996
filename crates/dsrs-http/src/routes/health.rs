//! `/healthz`, `/readyz`, `/metrics`: for monitoring.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;

use crate::protocol::answer;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::NoQuery;
use crate::protocol::status::ProblemCode;
use crate::views::{HealthView, ReadyView};
use dsrs_app::App;

/// The text format of Prometheus.
const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");

/// Why a server is not ready that may miss changes.
const UNCONFIRMED: &str = "notifications of other servers have not arrived for longer than \
     `database.max_staleness`; versions are read from the database";

/// Whether the process is up
#[utoipa::path(
    get, path = "/healthz", tag = "operations",
    responses((status = 200, description = "The process is up", body = HealthView)),
    extensions(("x-runs-on" = json!("service")))
)]
pub(crate) async fn healthz() -> Response {
    answer::ok(&HealthView { status: "ok" })
}

/// Whether the server accepts requests
///
/// The server is ready if it is not stopping, its database answers and sends notifications, and the
/// migrations are applied.
#[utoipa::path(
    get, path = "/readyz", tag = "operations",
    responses((status = 200, description = "The server is ready", body = ReadyView)),
    extensions(("x-runs-on" = json!("service")), ("x-problems" = json!(["unavailable"])))
)]
pub(crate) async fn readyz(
    State(app): State<Arc<App>>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let readiness = app.readiness().await;
    let database = if readiness.database.is_ok() { "up" } else { "down" };
    let migrations = if readiness.migrated { "applied" } else { "unknown" };
    let reason =
        match (readiness.stopping, &readiness.database, readiness.migrated, readiness.confirmed) {
            (true, ..) => "the server is stopping",
            (false, Err(_), ..) => "the database does not answer",
            (false, Ok(()), false, _) => "the database is not migrated",
            (false, Ok(()), true, false) => UNCONFIRMED,
            (false, Ok(()), true, true) => {
                return Ok(answer::ok(&ReadyView { status: "ready", database, migrations }));
            }
        };
    if let Err(error) = &readiness.database {
        tracing::warn!(cause = error.cause(), "not ready: the database does not answer");
    }
    let problem = ApiProblem::new(ProblemCode::Unavailable, reason).retry_after(1);
    Err(problem.with(|view| {
        view.database = Some(database.into());
        view.migrations = Some(migrations.into());
    }))
}

/// The metrics
///
/// In the text format of Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "operations",
    responses((status = 200, description = "Counters and histograms", body = String,
        content_type = "text/plain")),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let mut response = Response::new(Body::from(app.metrics_text().await));
    response.headers_mut().insert(header::CONTENT_TYPE, PROMETHEUS);
    response
}
