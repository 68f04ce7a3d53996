//! The document of a problem (RFC 9457), as answers and recorded failures show it. Knows no route.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::protocol::raw_json::RawJson;
use crate::protocol::status::ProblemCode;

/// A problem (RFC 9457).
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemView<'a> {
    /// A path of the server under which the code is explained: `/problems/` and the code.
    #[serde(default)]
    #[schema(required)]
    pub r#type: String,
    /// A short title, the same for every problem with this code.
    #[serde(default)]
    #[schema(required)]
    pub title: Cow<'a, str>,
    /// The HTTP status.
    #[serde(default)]
    #[schema(required)]
    pub status: u16,
    /// An explanation of the problem for people.
    pub detail: Cow<'a, str>,
    /// A stable, machine-readable code.
    pub code: Cow<'a, str>,
    /// All problems found in the request body.
    #[serde(default)]
    #[schema(required)]
    pub errors: Vec<ProblemItemView<'a>>,
    /// The id of the request, as in `X-Request-Id`.
    #[serde(default)]
    #[schema(required)]
    pub request_id: Cow<'a, str>,
    /// The run that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Uuid>,
    /// The node that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Cow<'a, str>>,
    /// The predictor that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predictor: Option<Cow<'a, str>>,
    /// The field whose value does not match its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Cow<'a, str>>,
    /// The place in the field's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Cow<'a, str>>,
    /// The reason why the value is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'a, str>>,
    /// The constraint that does not hold: its label or its expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Cow<'a, str>>,
    /// The unchanged answer of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Cow<'a, str>>,
    /// The leniencies that the parser accepted before it failed.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<LeniencyView>>)]
    pub report: Option<RawJson<'a>>,
    /// Seconds to wait before a retry, as in `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// Of a run that failed: true if the failure says nothing about the program, because the provider, the time, a
    /// budget or the server failed. Such a run is no score of 0. Absent if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<bool>,
    /// Of `GET /readyz`: whether the database answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<Cow<'a, str>>,
    /// Of `GET /readyz`: whether the migrations are applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migrations: Option<Cow<'a, str>>,
}

/// A problem in a request body.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = ProblemItem)]
pub struct ProblemItemView<'a> {
    /// JSON Pointer into the request body.
    pub pointer: Cow<'a, str>,
    /// A stable, machine-readable code.
    pub code: Cow<'a, str>,
    /// An explanation of the problem and how to fix it.
    pub detail: Cow<'a, str>,
}

/// A deviation from a type that the parser accepted.
#[derive(ToSchema)]
#[schema(as = Leniency)]
pub struct LeniencyView {
    /// The output field; null for text around the fields, or if there are no fields.
    #[schema(required)]
    pub field: Option<String>,
    /// The place in the field's value: `person.age`, `[0]`, or empty for the whole value.
    pub path: String,
    /// A stable, machine-readable name of the deviation.
    pub kind: String,
    /// The text that was read, shortened.
    pub read: String,
    /// The value that it was read as; the beginning of its text if it is long.
    #[schema(value_type = Value)]
    pub became: serde_json::Value,
    /// The amount by which the deviation reduces the confidence in the reading.
    pub penalty: u64,
    /// The number of deviations that this entry stands for, if more than one: itself and the following
    /// ones of its kind.
    pub times: Option<u64>,
}

impl<'a> ProblemView<'a> {
    /// A problem with the members that its code determines.
    pub(crate) fn new(code: ProblemCode, detail: impl Into<Cow<'a, str>>) -> Self {
        let view = Self { detail: detail.into(), ..Self::default() };
        view.with_code(code)
    }

    /// A recorded failure as the problem that the client received: `type`, `title` and `status` are
    /// not recorded.
    pub(crate) fn recorded(text: &'a str) -> Self {
        let view: Self = serde_json::from_str(text).unwrap_or_default();
        let code = ProblemCode::named(&view.code).unwrap_or(ProblemCode::Internal);
        view.with_code(code)
    }

    fn with_code(self, code: ProblemCode) -> Self {
        Self {
            r#type: code.path(),
            title: code.title().into(),
            status: code.status(),
            code: code.as_str().into(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_failure_is_shown_with_all_its_members_in_order() {
        let recorded = concat!(
            r#"{"detail":"a \"b\"","code":"parse_error","errors":[],"request_id":"r-1","#,
            r#""run_id":"01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f","node":"n","predictor":"n.p","#,
            r#""field":"f","reason":"no","raw":"x","report":[{"penalty":1.0}],"retry_after":3,"unmeasured":true}"#
        );
        let view = serde_json::to_string(&ProblemView::recorded(recorded)).unwrap();
        let head = r#"{"type":"/problems/parse_error","title":"#;
        assert!(view.starts_with(head), "{view}");
        assert_eq!(view.split_once(r#""status":"#).unwrap().1[4..], recorded[1..]);
    }

    #[test]
    fn an_unknown_recorded_code_is_internal() {
        let recorded = r#"{"detail":"d","code":"odd","errors":[],"request_id":"r"}"#;
        let view = ProblemView::recorded(recorded);
        assert_eq!((view.code.as_ref(), view.detail.as_ref()), ("internal", "d"));
    }
}
