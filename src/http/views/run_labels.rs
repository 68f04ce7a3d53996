//! The labels of a run: the caller's own names.

use serde::Serialize;
use utoipa::ToSchema;

use super::RawJson;
use crate::store::run_label::RunLabels;

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
