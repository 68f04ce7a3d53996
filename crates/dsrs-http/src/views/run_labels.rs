//! The labels of a run: the caller's own names.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::RawJson;
use dsrs_store::run_label::RunLabels;

/// The caller's own names of a run.
#[derive(Serialize, ToSchema)]
#[schema(as = RunLabels)]
pub struct RunLabelsView<'a> {
    /// Tags.
    #[schema(value_type = Vec<String>)]
    pub tags: RawJson<'a>,
    /// The session that the run belongs to.
    pub session_id: Option<&'a str>,
    /// The user on whose behalf the caller ran it.
    pub user_id: Option<&'a str>,
    /// Strings, numbers and booleans by name.
    #[schema(value_type = Object)]
    pub metadata: RawJson<'a>,
}

impl<'a> From<&'a RunLabels> for RunLabelsView<'a> {
    fn from(labels: &'a RunLabels) -> Self {
        Self {
            tags: labels.tags.as_deref().unwrap_or("[]").into(),
            session_id: labels.session_id.as_deref(),
            user_id: labels.user_id.as_deref(),
            metadata: labels.metadata.as_deref().unwrap_or("{}").into(),
        }
    }
}

impl RunLabelsView<'static> {
    pub(crate) fn example() -> Self {
        Self {
            tags: r#"["nightly"]"#.into(),
            session_id: Some("ticket-4711"),
            user_id: None,
            metadata: r#"{"channel":"mail"}"#.into(),
        }
    }
}

/// Adds the labels to the members of the schemas that have them beside others: clients generated from one object are
/// simpler than those from two, and other parts of the document find its members in one place.
pub(super) fn complete(schemas: &mut Map<String, Value>) {
    let Some(labels) = schemas.remove("RunLabels") else { return };
    for schema in schemas.values_mut() {
        if let Some(merged) = with_members(schema, &labels) {
            *schema = merged;
        }
    }
}

/// The schema of the second part, with the labels, if these are the first one.
fn with_members(schema: &Value, labels: &Value) -> Option<Value> {
    let [first, second] = schema.get("allOf")?.as_array()?.as_slice() else { return None };
    if first.get("$ref")? != "#/components/schemas/RunLabels" {
        return None;
    }
    let mut merged = second.clone();
    merged
        .get_mut("properties")?
        .as_object_mut()?
        .extend(labels["properties"].as_object()?.clone());
    let required = labels["required"].as_array()?.iter().cloned();
    merged.get_mut("required")?.as_array_mut()?.extend(required);
    let others = schema.as_object()?.iter().filter(|(name, _)| *name != "allOf");
    merged.as_object_mut()?.extend(others.map(|(name, value)| (name.clone(), value.clone())));
    Some(merged)
}
