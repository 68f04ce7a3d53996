//! The failure of a run without transport: recorded, and the source of the answer.

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::RunError;
use dsrs::optimize::RolloutFailure;
use dsrs::predict::{PredictError, PredictErrorKind, RejectedAnswer};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::RequestId;
use crate::json::JsonObject;

/// A run that failed.
#[derive(Clone, Debug)]
pub struct RunFailure {
    /// The stable problem code.
    pub code: &'static str,
    /// What happened, for people.
    pub detail: String,
    pub run_id: Uuid,
    /// The request that started it.
    pub request_id: RequestId,
    /// The node that failed.
    pub node: Option<Arc<str>>,
    /// The path of the predictor that failed, in the graph.
    pub predictor: Option<String>,
    /// The field whose value is invalid.
    pub field: Option<Arc<str>>,
    /// Why it is invalid.
    pub reason: Option<Arc<str>>,
    /// The unchanged answer of the LM.
    pub raw: Option<Arc<str>>,
    /// The leniencies that the parser used, if the answer could not be parsed.
    pub report: Option<Payload>,
    /// How long to wait before a retry, if the provider limits the rate.
    pub retry_after: Option<Duration>,
    /// Whether the failure says nothing about the program, as an evaluation decides it.
    pub is_unmeasured: bool,
}

impl RunFailure {
    /// The failure that the engine reports.
    pub(crate) fn of(run_id: Uuid, request_id: &RequestId, error: &RunError) -> Self {
        let RunError { node, error } = error;
        let (field, failure) = invalid_field(&error.kind);
        let retry_after = match &error.kind {
            PredictErrorKind::RateLimited { retry_after }
            | PredictErrorKind::ToolUnavailable { retry_after } => {
                Some(retry_after.unwrap_or(DEFAULT_RETRY_AFTER))
            }
            _ => None,
        };
        Self {
            code: error.kind.code(),
            detail: error.message.clone(),
            run_id,
            request_id: request_id.clone(),
            node: node.clone(),
            predictor: full_path(node.as_deref(), error),
            field,
            reason: failure.map(|failure| failure.reason.clone()),
            raw: failure.map(|failure| failure.raw.clone()),
            report: failure.map(|failure| failure.report.to_payload()),
            retry_after,
            is_unmeasured: RolloutFailure::of(error, None).is_unmeasured,
        }
    }

    /// A failure of the run as a whole: of the server or of the caller, never of the program.
    pub(crate) fn of_run(
        run_id: Uuid,
        request_id: &RequestId,
        code: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            code,
            detail: detail.into(),
            run_id,
            request_id: request_id.clone(),
            node: None,
            predictor: None,
            field: None,
            reason: None,
            raw: None,
            report: None,
            retry_after: None,
            is_unmeasured: true,
        }
    }

    /// The recorded members. An answer adds those of its transport.
    pub(crate) fn to_json(&self) -> String {
        let mut object = JsonObject::new();
        object.text("detail", &self.detail).text("code", self.code).raw("errors", "[]");
        object.text("request_id", &self.request_id).shown_text("run_id", self.run_id);
        for (name, member) in self.members() {
            object.text(name, member);
        }
        if let Some(report) = &self.report {
            object.raw("report", &report.to_json());
        }
        if let Some(wait) = self.retry_after {
            object.shown("retry_after", whole_seconds(wait));
        }
        if self.is_unmeasured {
            object.shown("unmeasured", true);
        }
        object.finish()
    }

    /// The optional text members that are present.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let members = [
            ("node", self.node.as_deref()),
            ("predictor", self.predictor.as_deref()),
            ("field", self.field.as_deref()),
            ("reason", self.reason.as_deref()),
            ("raw", self.raw.as_deref()),
        ];
        members.into_iter().filter_map(|(name, member)| Some((name, member?)))
    }
}

/// How long to wait if the provider does not say.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Seconds to wait, rounded up.
pub fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// The invalid field, and how the answer was parsed.
fn invalid_field(kind: &PredictErrorKind) -> (Option<Arc<str>>, Option<&RejectedAnswer>) {
    match kind {
        PredictErrorKind::Parse { field, failure }
        | PredictErrorKind::Incomplete { field, failure } => (field.clone(), Some(failure)),
        PredictErrorKind::Constraint { field, failure, .. } => (Some(field.clone()), Some(failure)),
        PredictErrorKind::InvalidValue { field } => (Some(field.clone()), None),
        _ => (None, None),
    }
}

fn full_path(node: Option<&str>, error: &PredictError) -> Option<String> {
    Some(predictor_path(node?, error.predictor.as_deref()?))
}

/// The path of a predictor in the graph, from its path in the node.
pub(crate) fn predictor_path(node: &str, within: &str) -> String {
    if within.is_empty() { node.to_owned() } else { format!("{node}.{within}") }
}
