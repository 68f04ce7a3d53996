//! What a call gives back: the output, and what is known of how it came about.

use std::ops::Deref;
use std::sync::Arc;

use crate::lm::Usage;
use crate::predict::{RunScope, SpanId, Tallied, Trace};

/// An output with what was used for it. The output's fields are read through `Deref`.
#[derive(Clone)]
pub struct Predicted<O> {
    output: O,
    tallied: Tallied,
    run: Option<Arc<RunScope>>,
}

impl<O> Predicted<O> {
    /// An output that a module made itself.
    #[must_use]
    pub fn of(output: O) -> Self {
        Self { output, tallied: Tallied::default(), run: None }
    }

    pub(super) fn about(self, tallied: Tallied, run: Arc<RunScope>) -> Self {
        Self { output: self.output, tallied, run: Some(run) }
    }

    /// The same knowledge about an output that was made of this one.
    #[must_use]
    pub fn map<P>(self, change: impl FnOnce(O) -> P) -> Predicted<P> {
        Predicted { output: change(self.output), tallied: self.tallied, run: self.run }
    }

    /// The output alone.
    #[must_use]
    pub fn into_output(self) -> O {
        self.output
    }

    /// What all LM calls on the way used.
    #[must_use]
    pub const fn usage(&self) -> &Usage {
        &self.tallied.usage
    }

    /// The last answer of the LM, to the letter; `None` when none was asked.
    #[must_use]
    pub fn raw(&self) -> Option<&str> {
        self.tallied.raw.as_deref()
    }

    /// The spans of the LM calls on the way, in the run's trace.
    #[must_use]
    pub fn spans(&self) -> &[SpanId] {
        &self.tallied.spans
    }

    /// The trace of the run that the call was part of; `None` before the call has returned.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.run.as_deref().map(|run| &run.trace)
    }
}

impl<O> Deref for Predicted<O> {
    type Target = O;

    fn deref(&self) -> &O {
        &self.output
    }
}

impl<O: std::fmt::Debug> std::fmt::Debug for Predicted<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut told = f.debug_struct("Predicted");
        told.field("output", &self.output).field("usage", self.usage()).finish_non_exhaustive()
    }
}
