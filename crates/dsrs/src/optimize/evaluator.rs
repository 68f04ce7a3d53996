//! The evaluator: runs a program on an example and scores the outputs with a metric. Knows programs,
//! metrics and budgets; knows nothing of candidates.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::rollout_observer::RolloutObserver;
use super::{
    Case, EarlyStop, Example, Metric, PredictorCall, Rollout, RolloutFailure, Score,
    predictor_calls,
};
use crate::graph::{Outcome, Program};
use crate::lm::{BudgetedReplies, Models, TraceContext, Usage};
use crate::predict::{
    CallRecord, Ctx, LmOverrides, NodeScope, PassageIndexes, PredictError, PredictErrorKind,
    RunScope, Span, SpanKind, Variation,
};
use crate::value::{Fields, Payload};

/// Retries of a metric's request after a transient failure.
const RETRIES: u32 = 2;

/// The maximum number of tries of a run whose time ran out while it waited.
const LONGEST_WAIT: u32 = 100;

/// The error of a `cost` budget with a model without prices.
const UNPRICED: &str = "a budget of `cost` cannot be enforced: a model that the program calls has \
                        no prices; configure them, or limit `tokens` instead";

/// The name of the metric in place of a node name.
const METRIC: &str = "metric";

/// What all rollouts share.
#[derive(Clone)]
pub struct Evaluator {
    /// The models that programs and metrics may use.
    pub models: Arc<Models>,
    /// The indexes that programs and metrics may search.
    pub indexes: Option<Arc<dyn PassageIndexes>>,
    /// The results of calls that programs and metrics reuse.
    pub call_record: Option<Arc<dyn CallRecord>>,
    /// The metric.
    pub metric: Arc<Metric>,
    /// The budget of requests; without one they are not counted.
    pub budgeted: Option<Arc<BudgetedReplies>>,
    /// The timeout of a program on one example, and then of the metric.
    pub timeout: Duration,
    /// Cancels the rollouts.
    pub cancelled: CancellationToken,
    /// Who watches the rollouts, if anyone does.
    pub observer: Option<Arc<dyn RolloutObserver>>,
}

/// A run of a program on an example, before scoring.
pub struct ExampleRun {
    /// Its outcome.
    pub outcome: Outcome,
    /// Its begin.
    pub start: SystemTime,
    /// Its duration.
    pub took: Duration,
    scope: Arc<RunScope>,
}

impl Evaluator {
    /// Runs a program on an example and scores the outputs. A failed run is a rollout with score 0, which counts
    /// only if it [is measured](Rollout::is_measured).
    /// A run whose time ran out while it waited for a permit or for the budget is repeated, with
    /// the recorded replies of the first try.
    ///
    /// # Errors
    /// If it was stopped for a reason that says nothing about the program.
    pub async fn roll_out(
        &self,
        program: &Program,
        example: &Example,
        variation: Option<Variation>,
    ) -> Result<Rollout, EarlyStop> {
        let Some(observer) = &self.observer else {
            let ran = self.run(program, example, variation).await;
            return self.rollout(&ran, example).await;
        };
        let context = observer.begin();
        let ran = self.run_in(program, example, variation, context.clone()).await;
        let rollout = self.rollout(&ran, example).await;
        if let Some(context) = context {
            observer.end(context, example, &ran, rollout.as_ref().ok());
        }
        rollout
    }

    /// Runs a program on an example: the first half of [`Self::roll_out`], for callers that need the run.
    pub async fn run(
        &self,
        program: &Program,
        example: &Example,
        variation: Option<Variation>,
    ) -> ExampleRun {
        self.run_in(program, example, variation, None).await
    }

    /// Like [`Self::run`], at this place in a distributed trace.
    pub async fn run_in(
        &self,
        program: &Program,
        example: &Example,
        variation: Option<Variation>,
        trace_context: Option<Arc<TraceContext>>,
    ) -> ExampleRun {
        let mut number = 0;
        loop {
            let trace_context = trace_context.clone();
            let start = SystemTime::now();
            let scope = Arc::new(RunScope { variation, trace_context, ..self.scope() });
            let outcome = program.execute(&scope, example.inputs.clone()).await;
            let took = scope.trace.elapsed();
            number += 1;
            if !self.should_repeat(&scope, number) {
                return ExampleRun { outcome, start, took, scope };
            }
        }
    }

    /// Scores a run: the second half of [`Self::roll_out`].
    ///
    /// # Errors
    /// As [`Self::roll_out`].
    pub async fn rollout(&self, ran: &ExampleRun, example: &Example) -> Result<Rollout, EarlyStop> {
        let ExampleRun { outcome, took, scope, .. } = ran;
        if let Err(failure) = &outcome.outputs {
            self.check_stop(&failure.error)?;
        }
        self.check_paid(scope)?;
        let mut rollout = Rollout {
            outputs: None,
            score: Score::of(0.0),
            error: None,
            usage: outcome.usage,
            judging: Usage::default(),
            calls: predictor_calls(&outcome.spans),
            reports: reports(&outcome.spans),
            took: *took,
        };
        match &outcome.outputs {
            Ok(outputs) => {
                self.judge(&mut rollout, example, outputs).await?;
                rollout.outputs = Some(outputs.clone());
            }
            Err(failure) => {
                rollout.error = Some(RolloutFailure::of(&failure.error, failure.node.clone()));
            }
        }
        Ok(rollout)
    }

    async fn judge(
        &self,
        rollout: &mut Rollout,
        example: &Example,
        outputs: &Fields,
    ) -> Result<(), EarlyStop> {
        let calls: &[PredictorCall] = &rollout.calls;
        let mut number = 0;
        let (ctx, tally, judged) = loop {
            let (ctx, tally) = self.ctx(METRIC, LmOverrides::default()).with_tally();
            let judged = self.metric.score(&ctx, Case { example, outputs, calls }).await;
            number += 1;
            if !self.should_repeat(&ctx.run, number) {
                break (ctx, tally, judged);
            }
        };
        rollout.judging = tally.sum().usage;
        match judged {
            Ok(score) => rollout.score = score,
            Err(error) => {
                self.check_stop(&error)?;
                rollout.error = Some(RolloutFailure::of_metric(&error));
            }
        }
        self.check_paid(&ctx.run)
    }

    /// Scores outputs that a program has made elsewhere, and returns what the metric spent, too.
    pub async fn score(
        &self,
        example: &Example,
        outputs: &Fields,
    ) -> (Result<Score, PredictError>, Usage) {
        let (ctx, tally) = self.ctx(METRIC, LmOverrides::default()).with_tally();
        let score = self.metric.score(&ctx, Case { example, outputs, calls: &[] }).await;
        (score, tally.sum().usage)
    }

    /// A context for predictor calls outside of a graph, under a name in place of a node name.
    #[must_use]
    pub fn ctx(&self, name: &str, lm: LmOverrides) -> Ctx {
        let scope = self.scope();
        let deadline = scope.deadline;
        let node =
            NodeScope { node: name.into(), lm, retries: RETRIES, parse_retries: 1, deadline };
        Ctx::of(Arc::new(scope), Arc::new(node), None)
    }

    fn scope(&self) -> RunScope {
        let own = Instant::now() + self.timeout;
        let ends = self.budgeted.as_ref().and_then(|budgeted| budgeted.account().ends());
        let mut scope = RunScope::new(self.models.clone(), ends.map_or(own, |ends| ends.min(own)));
        scope.indexes.clone_from(&self.indexes);
        scope.call_record.clone_from(&self.call_record);
        scope.cancelled = self.cancelled.child_token();
        scope.budgeted.clone_from(&self.budgeted);
        scope
    }

    /// Whether the time of a run ran out while it waited, so that another try may succeed.
    pub(super) fn should_repeat(&self, scope: &RunScope, number: u32) -> bool {
        let account = self.budgeted.as_ref().map(|budgeted| budgeted.account());
        scope.starved.load(Ordering::Relaxed)
            && number < LONGEST_WAIT
            && !self.cancelled.is_cancelled()
            && account.is_some_and(|account| account.reached().is_none())
    }

    /// Checks that the budget covered all calls of a run, which may have survived refused calls.
    fn check_paid(&self, scope: &RunScope) -> Result<(), EarlyStop> {
        let budgeted = self.budgeted.as_ref();
        match budgeted.and_then(|budgeted| budgeted.account().reached()) {
            _ if !scope.out_of_budget.load(Ordering::Relaxed) => Ok(()),
            _ if self.cancelled.is_cancelled() => Err(EarlyStop::Cancelled),
            Some(limit) => Err(EarlyStop::BudgetSpent(limit)),
            None => match budgeted.and_then(|budgeted| budgeted.recording_error()) {
                Some(error) => Err(EarlyStop::NotRecorded(error.0.as_str().into())),
                None => Err(EarlyStop::Failed(UNPRICED.into())),
            },
        }
    }

    /// Checks whether a failure ends the work instead of being a result.
    ///
    /// # Errors
    /// Why the work ends.
    pub fn check_stop(&self, error: &PredictError) -> Result<(), EarlyStop> {
        let account = self.budgeted.as_ref().map(|budgeted| budgeted.account());
        let reached = account.and_then(|account| account.reached());
        match (&error.kind, reached) {
            (PredictErrorKind::Budget, Some(limit)) => Err(EarlyStop::BudgetSpent(limit)),
            // Without a budget of the work, that of the run is spent: a result of the program.
            (PredictErrorKind::Budget, None) if self.budgeted.is_some() => {
                Err(EarlyStop::Failed(error.message.as_str().into()))
            }
            (PredictErrorKind::Timeout, Some(limit @ crate::lm::BudgetLimit::Seconds)) => {
                Err(EarlyStop::BudgetSpent(limit))
            }
            (PredictErrorKind::Cancelled, _) if self.cancelled.is_cancelled() => {
                Err(EarlyStop::Cancelled)
            }
            (PredictErrorKind::Cancelled, _) => {
                let why = error.lm_error().map_or(&error.message, |source| &source.message);
                Err(EarlyStop::NotRecorded(why.as_str().into()))
            }
            // The computation may have ended for that reason alone.
            _ if self.cancelled.is_cancelled() => Err(EarlyStop::Cancelled),
            _ => Ok(()),
        }
    }
}

/// The parse reports of all predictor calls.
fn reports(spans: &[Span]) -> Vec<(Arc<str>, Payload)> {
    let read = spans.iter().filter(|span| span.kind == SpanKind::Predictor);
    let read = read.filter_map(|span| {
        let within = span.predictor.as_deref().unwrap_or_default();
        let path = crate::graph::predictor_path(&span.node, within);
        Some((Arc::from(path), span.parse_report.clone()?))
    });
    read.collect()
}
