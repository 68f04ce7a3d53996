//! Sums of usage and replies over the LM calls below one call, and the outcomes of their checks.
//! Nested calls add to every tally above them.

use std::sync::{Arc, Mutex, PoisonError};

use super::{CheckOutcome, SpanId};
use crate::lm::Usage;

/// The tally of one call.
#[derive(Debug, Default)]
pub struct CallTally {
    above: Option<Arc<CallTally>>,
    /// Whether checks are not added to the tallies above: only the call knows whether its result is
    /// used.
    keeps_checks: bool,
    sum: Mutex<CallTotals>,
}

/// The outcome of a check, and the call of a predictor that it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionCheck {
    /// The predictor's path.
    pub predictor: Arc<str>,
    /// The span of the call in the trace of the run.
    pub span: SpanId,
    /// The field, the label, and whether it held.
    pub outcome: CheckOutcome,
}

/// The totals of a tally.
#[derive(Clone, Debug, Default)]
pub struct CallTotals {
    /// The usage of all LM calls.
    pub usage: Usage,
    /// The last reply, verbatim.
    pub raw: Option<Arc<str>>,
    /// The spans of the LM calls in the run's trace.
    pub spans: Vec<SpanId>,
    /// The outcomes of the checks of all predictor calls.
    pub checks: Vec<PredictionCheck>,
}

impl CallTally {
    /// A tally that also adds to the one above.
    #[must_use]
    pub fn below(above: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { above, ..Self::default() })
    }

    /// Like [`Self::below`], for one of several attempts, whose result may not be used: its checks
    /// are not those of the call above.
    #[must_use]
    pub fn of_attempt(above: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { above, keeps_checks: true, ..Self::default() })
    }

    /// Counts an answered LM call.
    pub fn count(&self, usage: Usage, raw: &Arc<str>, span: SpanId) {
        self.change(|sum| {
            sum.usage += usage;
            sum.raw = Some(raw.clone());
            sum.spans.push(span);
        });
    }

    /// Counts paid usage that is no LM call: embeddings.
    pub fn add(&self, usage: Usage) {
        self.change(|sum| sum.usage += usage);
    }

    /// Adds the outcomes of the checks of one call of a predictor.
    pub(super) fn add_checks(&self, predictor: &Arc<str>, span: SpanId, checks: &[CheckOutcome]) {
        let checks = checks.iter().map(|outcome| PredictionCheck {
            predictor: predictor.clone(),
            span,
            outcome: outcome.clone(),
        });
        let checks: Vec<_> = checks.collect();
        let mut tally = Some(self).filter(|_| !checks.is_empty());
        while let Some(counted) = tally {
            counted
                .sum
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .checks
                .extend_from_slice(&checks);
            tally = counted.above.as_deref().filter(|_| !counted.keeps_checks);
        }
    }

    fn change(&self, change: impl Fn(&mut CallTotals)) {
        let mut tally = Some(self);
        while let Some(counted) = tally {
            change(&mut counted.sum.lock().unwrap_or_else(PoisonError::into_inner));
            tally = counted.above.as_deref();
        }
    }

    /// The totals so far.
    #[must_use]
    pub fn sum(&self) -> CallTotals {
        self.sum.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
