//! The routes that tell whether the server is up and ready.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::shutdown::Shutdown;
use crate::store::Db;

/// What the health routes look at.
#[derive(Clone)]
pub(super) struct Health {
    pub(super) db: Db,
    pub(super) shutdown: Shutdown,
}

/// The health routes.
pub(super) fn router() -> OpenApiRouter<Health> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz))
}

/// What is ready and what is not.
#[derive(Serialize, ToSchema)]
struct Readiness {
    status: &'static str,
    database: &'static str,
    migrations: &'static str,
}

/// The process is up.
#[utoipa::path(get, path = "/healthz", responses((status = 200, description = "The process is up")))]
async fn healthz() -> &'static str {
    "ok"
}

/// The server takes work: it is not stopping, and its database answers.
#[utoipa::path(get, path = "/readyz", responses(
    (status = 200, body = Readiness), (status = 503, body = Readiness),
))]
async fn readyz(State(health): State<Health>) -> (StatusCode, Json<Readiness>) {
    let word = |good: bool, yes, no| if good { yes } else { no };
    let database = health.db.ping().await.is_ok();
    let migrated = database && health.db.is_migrated().await.unwrap_or(false);
    let stopping = health.shutdown.is_draining();
    let status = match (stopping, migrated) {
        (true, _) => "stopping",
        (false, true) => "ready",
        (false, false) => "unready",
    };
    let code = if status == "ready" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let (database, migrations) =
        (word(database, "up", "down"), word(migrated, "applied", "unknown"));
    (code, Json(Readiness { status, database, migrations }))
}
