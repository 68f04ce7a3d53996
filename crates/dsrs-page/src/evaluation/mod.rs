//! Evaluations: the list, the form that starts one, one evaluation, two side by side.

pub(super) mod compare;
pub(super) mod forecast;
pub(super) mod list;
pub(super) mod request;
pub(super) mod results;
pub(super) mod start;
pub(super) mod view;

use uuid::Uuid;

use dsrs_http::ApiProblem;

/// The id in the path of a view.
pub(super) fn id_of(text: &str) -> Result<Uuid, ApiProblem> {
    Uuid::try_parse(text).map_err(|_| ApiProblem::not_found(format!("`{text}` is no id")))
}

/// A metric as one line: its name, or `{name: options}`.
pub(super) fn metric_line(stored: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(stored).unwrap_or_default();
    match value.as_object() {
        Some(members)
            if members.len() == 1
                && members.values().all(|options| *options == serde_json::json!({})) =>
        {
            members.keys().next().cloned().unwrap_or_default()
        }
        _ => value.to_string(),
    }
}
