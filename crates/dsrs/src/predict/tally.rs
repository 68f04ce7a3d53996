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
        self.change(|sum| {
            sum.usage += usage;
            sum.raw = Some(raw.clone());
            sum.spans.push(span);
        });
    }

    /// Counts what something else used that was paid for: vectors of texts.
    pub fn add(&self, usage: Usage) {
        self.change(|sum| sum.usage += usage);
    }

    fn change(&self, change: impl Fn(&mut Tallied)) {
        let mut tally = Some(self);
        while let Some(counted) = tally {
            change(&mut counted.sum.lock().unwrap_or_else(PoisonError::into_inner));
            tally = counted.above.as_deref();
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn sum(&self) -> Tallied {
        self.sum.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
