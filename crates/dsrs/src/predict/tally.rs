//! What the LM calls under one call used and said: a sum for whoever started it. Calls within
//! calls add to every tally above them.

use std::sync::{Arc, Mutex, PoisonError};

use super::SpanId;
use crate::lm::Usage;

/// The tally of one call.
#[derive(Debug, Default)]
pub struct Tally {
    above: Option<Arc<Tally>>,
    sum: Mutex<Tallied>,
}

/// What was tallied.
#[derive(Clone, Debug, Default)]
pub struct Tallied {
    /// What all LM calls used together.
    pub usage: Usage,
    /// The last answer, to the letter.
    pub raw: Option<Arc<str>>,
    /// The spans of the LM calls in the run's trace.
    pub spans: Vec<SpanId>,
}

impl Tally {
    /// A tally that counts for the one above, too.
    #[must_use]
    pub fn below(above: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { above, sum: Mutex::default() })
    }

    /// Counts an answered LM call.
    pub fn count(&self, usage: Usage, raw: &Arc<str>, span: SpanId) {
        let mut tally = Some(self);
        while let Some(counted) = tally {
            let mut sum = counted.sum.lock().unwrap_or_else(PoisonError::into_inner);
            sum.usage += usage;
            sum.raw = Some(raw.clone());
            sum.spans.push(span);
            drop(sum);
            tally = counted.above.as_deref();
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn sum(&self) -> Tallied {
        self.sum.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
