//! How a run failed, in words that need no transport: what is recorded, and what an answer is made
//! of.

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::RunError;
use dsrs::predict::{Misread, PredictError, PredictErrorKind};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::app::json::JsonObject;

/// A run that failed.
#[derive(Clone, Debug)]
pub struct RunFailure {
    /// The stable code of the problem.
    pub code: &'static str,
    /// What happened, for a person.
    pub detail: String,
    /// The run.
    pub run_id: Uuid,
    /// The request that started it.
    pub request_id: Arc<str>,
    /// The node that failed.
    pub node: Option<Arc<str>>,
    /// The predictor that failed, by its path in the graph.
    pub predictor: Option<String>,
    /// The field that does not fit.
    pub field: Option<Arc<str>>,
    /// What is wrong with it.
    pub reason: Option<Arc<str>>,
    /// What the LM answered, to the letter.
    pub raw: Option<Arc<str>>,
    /// The leniencies of the parser, when the answer does not fit.
    pub report: Option<Payload>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

impl RunFailure {
    /// The failure of a run, as the engine tells it.
    pub(crate) fn of(run_id: Uuid, request_id: &Arc<str>, error: &RunError) -> Self {
        let RunError { node, error } = error;
        let (field, misread) = misfit(&error.kind);
        let retry_after = match &error.kind {
            PredictErrorKind::RateLimited { retry_after } => Some(retry_after.unwrap_or(SOON)),
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
            reason: misread.map(|misread| misread.reason.clone()),
            raw: misread.map(|misread| misread.raw.clone()),
            report: misread.map(|misread| misread.report.to_payload()),
            retry_after,
        }
    }

    /// The failure of a run as a whole, in our own words.
    pub(crate) fn of_run(
        run_id: Uuid,
        request_id: &Arc<str>,
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
        }
    }

    /// The members that are recorded; an answer adds what its transport knows.
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
        object.finish()
    }

    /// The text members that it has besides the common ones.
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

/// What a caller is asked to wait when the provider does not say.
const SOON: Duration = Duration::from_secs(1);

/// Seconds to wait, rounded up.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// The field that does not fit, and how the answer was read.
fn misfit(kind: &PredictErrorKind) -> (Option<Arc<str>>, Option<&Misread>) {
    match kind {
        PredictErrorKind::Parse { field, misread } => (field.clone(), Some(misread)),
        PredictErrorKind::Constraint { field, misread, .. } => (Some(field.clone()), Some(misread)),
        PredictErrorKind::InvalidValue { field } => (Some(field.clone()), None),
        _ => (None, None),
    }
}

fn full_path(node: Option<&str>, error: &PredictError) -> Option<String> {
    Some(predictor_path(node?, error.predictor.as_deref()?))
}

/// A predictor's path in the graph, from its path in the node.
pub(crate) fn predictor_path(node: &str, within: &str) -> String {
    if within.is_empty() { node.to_owned() } else { format!("{node}.{within}") }
}
