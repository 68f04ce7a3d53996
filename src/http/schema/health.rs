//! Health and readiness, as the OpenAPI document tells them.

use utoipa::ToSchema;

/// The process is up.
#[derive(ToSchema)]
pub struct Health {
    /// `ok`.
    pub status: String,
}

/// The server takes work.
#[derive(ToSchema)]
pub struct Ready {
    /// `ready`.
    pub status: String,
    /// `up`.
    pub database: String,
    /// `applied`.
    pub migrations: String,
}
