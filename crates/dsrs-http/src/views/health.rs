//! Health and readiness.

use serde::Serialize;
use utoipa::ToSchema;

/// The process is up.
#[derive(Serialize, ToSchema)]
#[schema(as = Health, examples(json!(HealthView { status: "ok" })))]
pub struct HealthView {
    /// `ok`.
    pub status: &'static str,
}

/// The server accepts requests.
#[derive(Serialize, ToSchema)]
#[schema(
    as = Ready,
    examples(json!(ReadyView { status: "ready", database: "up", migrations: "applied" }))
)]
pub struct ReadyView {
    /// `ready`.
    pub status: &'static str,
    /// `up`.
    pub database: &'static str,
    /// `applied`.
    pub migrations: &'static str,
}
