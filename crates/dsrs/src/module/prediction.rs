//! The result of a call: the output, and the LM calls that it took.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::Arc;

use crate::lm::Usage;
use crate::predict::{CallTotals, PredictionCheck, RunScope, SpanId, Trace};

/// An output and what its LM calls used. `Deref` gives access to the fields of the output.
#[derive(Clone)]
pub struct Prediction<O> {
    output: O,
    tallied: CallTotals,
    run: Option<Arc<RunScope>>,
}

impl<O> Prediction<O> {
    /// An output that a module computed itself.
    #[must_use]
    pub fn of(output: O) -> Self {
        Self { output, tallied: CallTotals::default(), run: None }
    }

    /// The same output with the totals of the call that returns it. The checks of an attempt that is
    /// part of the result are only in the prediction that the attempt returned.
    pub(super) fn about(self, mut tallied: CallTotals, run: Arc<RunScope>) -> Self {
        let known: HashSet<SpanId> = tallied.checks.iter().map(|check| check.span).collect();
        let own = self.tallied.checks.into_iter().filter(|check| !known.contains(&check.span));
        tallied.checks.extend(own);
        Self { output: self.output, tallied, run: Some(run) }
    }

    /// The same metadata for an output computed from this one.
    #[must_use]
    pub fn map<P>(self, change: impl FnOnce(O) -> P) -> Prediction<P> {
        Prediction { output: change(self.output), tallied: self.tallied, run: self.run }
    }

    /// The output alone, as the module returned it: with what a strategy adds, such as `reasoning`. The
    /// output without it is `into_output().into_inner()`, for every type that `derive(Augmentation)` makes.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use dsrs::lm::{Models, ScriptedLm};
    /// use dsrs::{ChainOfThought, Ctx, Module, Signature, WithReasoning};
    /// # #[derive(Signature)]
    /// # struct QA { #[input] question: String, #[output] answer: String }
    /// # dsrs::block_on(async {
    /// # let lm = Arc::new(ScriptedLm::sections([("reasoning", "two and two"), ("answer", "4")]));
    /// # let ctx = Ctx::within(Models::only(lm).into(), std::time::Duration::from_secs(60));
    /// let result = ChainOfThought::<QA>::new().call(&ctx, QAInput { question: "2 + 2?".into() }).await.unwrap();
    /// let output: WithReasoning<QAOutput> = result.into_output();
    /// let answer: QAOutput = output.into_inner();
    /// assert_eq!(answer.answer, "4");
    /// # });
    /// ```
    #[must_use]
    pub fn into_output(self) -> O {
        self.output
    }

    /// The usage of all LM calls.
    #[must_use]
    pub const fn usage(&self) -> &Usage {
        &self.tallied.usage
    }

    /// The last reply of the LM, verbatim. `None` if there was no LM call.
    #[must_use]
    pub fn raw(&self) -> Option<&str> {
        self.tallied.raw.as_deref()
    }

    /// The spans of the LM calls in the trace of the run.
    #[must_use]
    pub fn spans(&self) -> &[SpanId] {
        &self.tallied.spans
    }

    /// The outcomes of the checks of all predictor calls that led to the output, in order.
    #[must_use]
    pub fn checks(&self) -> &[PredictionCheck] {
        &self.tallied.checks
    }

    /// The checks that failed. An assert that fails is an error instead.
    pub fn failed_checks(&self) -> impl Iterator<Item = &PredictionCheck> {
        self.checks().iter().filter(|check| !check.outcome.passed)
    }

    /// The trace of the run. `None` until the call has returned.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.run.as_deref().map(|run| &run.trace)
    }
}

impl<O> Deref for Prediction<O> {
    type Target = O;

    fn deref(&self) -> &O {
        &self.output
    }
}

impl<O: std::fmt::Debug> std::fmt::Debug for Prediction<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Prediction");
        debug.field("output", &self.output).field("usage", self.usage()).finish_non_exhaustive()
    }
}
