//! `/healthz`, `/readyz`, `/metrics`: for those who watch the server.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;

use crate::app::App;
use crate::app::json::JsonObject;
use crate::http::protocol::answer;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::NoQuery;
use crate::http::protocol::status::ProblemCode;
use crate::http::schema::{Health, Ready};

/// What Prometheus wants to read.
const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");

/// Whether the process is up
#[utoipa::path(
    get, path = "/healthz", tag = "operations",
    responses((status = 200, description = "The process is up", body = Health))
)]
pub(crate) async fn healthz() -> Response {
    answer::ok(r#"{"status":"ok"}"#.to_owned())
}

/// Whether the server takes work
///
/// It is not stopping, its database answers, and the migrations are applied.
#[utoipa::path(
    get, path = "/readyz", tag = "operations",
    responses((status = 200, description = "It does", body = Ready)),
    extensions(("x-problems" = json!(["unavailable"])))
)]
pub(crate) async fn readyz(
    State(app): State<Arc<App>>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let found = app.readiness().await;
    let database = if found.database.is_ok() { "up" } else { "down" };
    let migrations = if found.migrated { "applied" } else { "unknown" };
    let reason = match (found.stopping, &found.database, found.migrated) {
        (true, _, _) => "the server is stopping",
        (false, Err(_), _) => "the database does not answer",
        (false, Ok(()), false) => "the database is not migrated",
        (false, Ok(()), true) => {
            let mut object = JsonObject::new();
            object.text("status", "ready").text("database", database);
            object.text("migrations", migrations);
            return Ok(answer::ok(object.finish()));
        }
    };
    if let Err(error) = &found.database {
        tracing::warn!(cause = error.cause(), "not ready: the database does not answer");
    }
    let problem = ApiProblem::new(ProblemCode::Unavailable, reason).retry_after(1);
    Err(problem.with("database", database).with("migrations", migrations))
}

/// The metrics
///
/// In the text format of Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "operations",
    responses((status = 200, description = "Counters and histograms", body = String,
        content_type = "text/plain"))
)]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let mut response = answer::ok(app.metrics_text());
    response.headers_mut().insert(header::CONTENT_TYPE, PROMETHEUS);
    response
}
