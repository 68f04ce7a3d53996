//! The comparison of two types.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Json, TypeDefinitions, TypeNotation};
use dsrs_app::Assignable;

/// Two types to compare.
#[derive(ToSchema)]
pub struct AssignableRequest {
    /// A type expression or a JSON Schema object.
    #[schema(value_type = TypeNotation)]
    pub from: Json,
    /// A type expression or a JSON Schema object.
    #[schema(value_type = TypeNotation)]
    pub to: Json,
    /// The types that both may name.
    #[schema(value_type = Option<TypeDefinitions>)]
    pub types: Option<Json>,
}

/// Whether a value of one type may be used as another.
#[derive(Serialize, ToSchema)]
#[schema(as = AssignableAnswer, examples(json!(AssignableView::example())))]
pub struct AssignableView<'a> {
    /// Whether it may.
    pub assignable: bool,
    /// The source type in canonical form.
    pub from: &'a str,
    /// The target type in canonical form.
    pub to: &'a str,
    /// The place of the first difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<&'a str>,
    /// The difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
}

impl<'a> From<&'a Assignable> for AssignableView<'a> {
    fn from(found: &'a Assignable) -> Self {
        let mismatch = found.mismatch.as_ref();
        Self {
            assignable: mismatch.is_none(),
            from: &found.from,
            to: &found.to,
            path: mismatch.map(|(path, _)| path.as_str()),
            reason: mismatch.map(|(_, reason)| reason.as_str()),
        }
    }
}

impl AssignableView<'static> {
    fn example() -> Self {
        Self { assignable: true, from: "list[int]", to: "list[float]", path: None, reason: None }
    }
}
