//! The comparison of two types.

use utoipa::ToSchema;

use super::Json;

/// Two types to compare.
#[derive(ToSchema)]
pub struct AssignableRequest {
    /// A type expression or a JSON Schema object.
    #[schema(value_type = Object)]
    pub from: Json,
    /// A type expression or a JSON Schema object.
    #[schema(value_type = Object)]
    pub to: Json,
    /// What they may name.
    #[schema(value_type = Option<Object>)]
    pub types: Option<Json>,
}

/// Whether one type may flow into another.
#[derive(ToSchema)]
pub struct AssignableAnswer {
    /// Whether.
    pub assignable: bool,
    /// The source, canonically.
    pub from: String,
    /// The target, canonically.
    pub to: String,
    /// Where they part.
    pub path: Option<String>,
    /// Why.
    pub reason: Option<String>,
}
