//! Why a rollout failed, and whether that says something about the program. Knows errors of predictions; knows
//! neither scores nor candidates.

use std::sync::Arc;

use crate::lm::{LmError, LmErrorKind};
use crate::predict::{PredictError, PredictErrorKind};

/// Why a rollout failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutFailure {
    /// The stable code.
    pub code: Arc<str>,
    /// A message for people.
    pub message: Arc<str>,
    /// The node that failed; `None` if the metric failed.
    pub node: Option<Arc<str>>,
    /// Whether the failure says nothing about the program: the provider, the time or a budget failed. The example is
    /// unmeasured then. Any other failure is a score of 0.
    pub is_unmeasured: bool,
}

impl RolloutFailure {
    /// The failure of a metric. What its own model answers says nothing about the program either.
    #[must_use]
    pub fn of_metric(error: &PredictError) -> Self {
        let is_of_its_model = matches!(
            error.kind,
            PredictErrorKind::Lm
                | PredictErrorKind::Parse { .. }
                | PredictErrorKind::Incomplete { .. }
                | PredictErrorKind::Filtered
        );
        let failure = Self::of(error, None);
        Self { is_unmeasured: failure.is_unmeasured || is_of_its_model, ..failure }
    }

    /// The failure of a node.
    #[must_use]
    pub fn of(error: &PredictError, node: Option<Arc<str>>) -> Self {
        Self {
            code: error.kind.code().into(),
            message: error.message.as_str().into(),
            node,
            is_unmeasured: says_nothing(error),
        }
    }
}

/// A failure, and how many examples failed like it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureCause {
    /// The first failure of the kind.
    pub failure: RolloutFailure,
    /// The number of examples.
    pub count: usize,
}

impl FailureCause {
    /// The most frequent of some failures, by their codes; the first of equals.
    #[must_use]
    pub fn most_frequent<'f>(failures: impl Iterator<Item = &'f RolloutFailure>) -> Option<Self> {
        let mut found: Vec<(&RolloutFailure, usize)> = Vec::new();
        for failure in failures {
            match found.iter_mut().find(|(known, _)| known.code == failure.code) {
                Some((_, count)) => *count += 1,
                None => found.push((failure, 1)),
            }
        }
        let more = |best: (_, usize), next: (_, usize)| if next.1 > best.1 { next } else { best };
        let (failure, count) = found.into_iter().reduce(more)?;
        Some(Self { failure: failure.clone(), count })
    }
}

/// Whether a program that works as well as possible would have failed, too.
pub(super) fn says_nothing(error: &PredictError) -> bool {
    match &error.kind {
        PredictErrorKind::RateLimited { .. }
        | PredictErrorKind::QuotaExhausted
        | PredictErrorKind::Timeout
        | PredictErrorKind::Cancelled
        | PredictErrorKind::Budget
        | PredictErrorKind::NoModel
        | PredictErrorKind::ToolUnavailable { .. }
        | PredictErrorKind::Sandbox => true,
        PredictErrorKind::Lm => error.lm_error().is_some_and(is_the_providers),
        _ => false,
    }
}

fn is_the_providers(error: &LmError) -> bool {
    match error.kind {
        LmErrorKind::Connection
        | LmErrorKind::Timeout
        | LmErrorKind::RateLimited
        | LmErrorKind::QuotaExhausted
        | LmErrorKind::Provider
        | LmErrorKind::Malformed
        | LmErrorKind::Cancelled
        | LmErrorKind::Budget => true,
        LmErrorKind::Refused => {
            // The key or the address is wrong, whatever is sent.
            matches!(error.status, Some(401 | 403 | 404))
        }
        LmErrorKind::ConstraintRefused | LmErrorKind::Filtered | LmErrorKind::ContextOverflow => {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lm(kind: LmErrorKind, status: Option<u16>) -> PredictError {
        let error = LmError { kind, message: "no".into(), status, retry_after: None };
        let source: Arc<dyn std::error::Error + Send + Sync> = Arc::new(error);
        PredictError { source: Some(source), ..PredictError::new(PredictErrorKind::Lm, "no") }
    }

    #[test]
    fn the_failures_of_a_provider_say_nothing_about_the_program() {
        use LmErrorKind::{Connection, ContextOverflow, Malformed, Provider, Refused, Timeout};
        for kind in [Connection, Timeout, Provider, Malformed] {
            assert!(says_nothing(&lm(kind, None)), "{kind:?}");
        }
        let refused = [400, 401, 403, 404, 413, 422].map(|status| (Refused, Some(status)));
        let refused = refused.map(|(kind, status)| says_nothing(&lm(kind, status)));
        assert_eq!(refused, [false, true, true, true, false, false]);
        assert!(
            !says_nothing(&lm(Refused, None)) && !says_nothing(&lm(ContextOverflow, Some(400)))
        );
    }

    #[test]
    fn what_the_program_or_its_model_does_is_a_score_of_0() {
        let of = |kind| says_nothing(&PredictError::new(kind, "no"));
        let limited = PredictErrorKind::RateLimited { retry_after: None };
        assert!(of(limited) && of(PredictErrorKind::QuotaExhausted));
        assert!(of(PredictErrorKind::Timeout) && of(PredictErrorKind::Budget));
        let parse = PredictErrorKind::Parse { field: None, failure: Box::default() };
        let incomplete = PredictErrorKind::Incomplete { field: None, failure: Box::default() };
        assert!(!of(parse) && !of(incomplete) && !of(PredictErrorKind::Filtered));
        assert!(!of(PredictErrorKind::Op) && !of(PredictErrorKind::Lm));
    }

    #[test]
    fn what_the_model_of_a_metric_answers_is_no_score_of_the_program() {
        let of = |kind| RolloutFailure::of_metric(&PredictError::new(kind, "no")).is_unmeasured;
        assert!(of(PredictErrorKind::Parse { field: None, failure: Box::default() }));
        assert!(of(PredictErrorKind::Filtered) && of(PredictErrorKind::Timeout));
        assert!(!of(PredictErrorKind::Op), "an expression that does not fit the outputs");
    }

    #[test]
    fn the_most_frequent_cause_is_found_by_its_code() {
        let failure = |code: &str, message: &str| RolloutFailure {
            code: code.into(),
            message: message.into(),
            node: None,
            is_unmeasured: true,
        };
        let all = [failure("timeout", "a"), failure("lm_error", "b"), failure("lm_error", "c")];
        let found = FailureCause::most_frequent(all.iter()).unwrap();
        assert_eq!((&*found.failure.message, found.count), ("b", 2));
        assert_eq!(FailureCause::most_frequent([].iter()), None);
    }
}
