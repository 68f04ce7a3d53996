//! Sums of usage and replies over the LM calls below one call. Nested calls add to every tally
//! above them.

use std::sync::{Arc, Mutex, PoisonError};

use super::SpanId;
use crate::lm::Usage;

/// The tally of one call.
#[derive(Debug, Default)]
pub struct CallTally {
    above: Option<Arc<CallTally>>,
    sum: Mutex<CallTotals>,
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
}

impl CallTally {
    /// A tally that also adds to the one above.
    #[must_use]
    pub fn below(above: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { above, sum: Mutex::default() })
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
