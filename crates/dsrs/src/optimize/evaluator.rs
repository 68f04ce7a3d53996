//! The engine on which all evaluation stands: runs a program on an example and has a metric judge
//! it. Knows programs, metrics and budgets; knows nothing of candidates, and of who asks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Case, EarlyStop, Example, Metric, PredictorCall, Rollout, RolloutFailure, Score,
    predictor_calls,
};
use crate::graph::{Outcome, Program};
use crate::lm::{BudgetedReplies, Models, Usage};
use crate::predict::{
    Ctx, LmOverrides, NodeScope, PredictError, PredictErrorKind, RunScope, Span, SpanKind,
    Variation,
};
use crate::value::{Fields, Payload};

/// Repeats of a request of the metric that failed in passing.
const RETRIES: u32 = 2;

/// How often a run is made whose time goes by while it waits.
const LONGEST_WAIT: u32 = 100;

/// Why a request is not paid for though nothing is spent.
const UNPRICED: &str = "a budget of `cost` cannot be kept: a model that the program asks has no \
                        prices; configure them, or limit `tokens` instead";

/// The name of the metric where nodes have theirs.
const METRIC: &str = "metric";

/// Everything that rollouts share.
#[derive(Clone)]
pub struct Evaluator {
    /// The models that programs and metrics may use.
    pub models: Arc<Models>,
    /// Who judges.
    pub metric: Arc<Metric>,
    /// What requests are paid from; without one, nobody counts.
    pub budgeted: Option<Arc<BudgetedReplies>>,
    /// How long a program may take on one example, and then the metric.
    pub timeout: Duration,
    /// Cancelled when nobody wants the rollouts any more.
    pub cancelled: CancellationToken,
}

/// A run of a program on an example, not judged yet.
pub struct ExampleRun {
    /// What came of it.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
    scope: Arc<RunScope>,
}

impl Evaluator {
    /// Runs a program on an example and has it judged. A run that fails is a rollout that scores 0;
    /// one whose time went by while it waited for its turn, or for the budget, is made again, and
    /// finds what the first has paid for.
    ///
    /// # Errors
    /// When it was cut short by something that says nothing of the program.
    pub async fn roll_out(
        &self,
        program: &Program,
        example: &Example,
        variation: Option<Variation>,
    ) -> Result<Rollout, EarlyStop> {
        let ran = self.run(program, example, variation).await;
        self.rollout(&ran, example).await
    }

    /// Runs a program on an example: the first half of [`Self::roll_out`], for whoever wants to look at
    /// the run, too.
    pub async fn run(
        &self,
        program: &Program,
        example: &Example,
        variation: Option<Variation>,
    ) -> ExampleRun {
        let mut number = 0;
        loop {
            let scope = Arc::new(RunScope { variation, ..self.scope() });
            let outcome = program.execute(&scope, example.inputs.clone()).await;
            let took = scope.trace.elapsed();
            number += 1;
            if !self.is_to_be_repeated(&scope, number) {
                return ExampleRun { outcome, took, scope };
            }
        }
    }

    /// Has a run judged: the second half of [`Self::roll_out`].
    ///
    /// # Errors
    /// As there.
    pub async fn rollout(&self, ran: &ExampleRun, example: &Example) -> Result<Rollout, EarlyStop> {
        let ExampleRun { outcome, took, scope } = ran;
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
                rollout.error = Some(failed(&failure.error, failure.node.clone()));
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
            if !self.is_to_be_repeated(&ctx.run, number) {
                break (ctx, tally, judged);
            }
        };
        rollout.judging = tally.sum().usage;
        match judged {
            Ok(score) => rollout.score = score,
            Err(error) => {
                self.check_stop(&error)?;
                rollout.error = Some(failed(&error, None));
            }
        }
        self.check_paid(&ctx.run)
    }

    /// A context for calls of predictors that belong to no graph, under a name that stands where
    /// nodes have theirs.
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
        scope.cancelled = self.cancelled.child_token();
        scope.budgeted.clone_from(&self.budgeted);
        scope
    }

    /// Whether the time of a run went by while it waited, and it is worth another try.
    pub(super) fn is_to_be_repeated(&self, scope: &RunScope, number: u32) -> bool {
        let account = self.budgeted.as_ref().map(|budgeted| budgeted.account());
        scope.starved.load(Ordering::Relaxed)
            && number < LONGEST_WAIT
            && !self.cancelled.is_cancelled()
            && account.is_some_and(|account| account.reached().is_none())
    }

    /// Whether all that a run asked for was paid for. Its graph may have outlived that it was not.
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

    /// Whether a failure is none of what was called, but ends the work.
    ///
    /// # Errors
    /// Then, why it ends.
    pub fn check_stop(&self, error: &PredictError) -> Result<(), EarlyStop> {
        let account = self.budgeted.as_ref().map(|budgeted| budgeted.account());
        let reached = account.and_then(|account| account.reached());
        match (&error.kind, reached) {
            (PredictErrorKind::Budget, Some(limit)) => Err(EarlyStop::BudgetSpent(limit)),
            (PredictErrorKind::Budget, None) => {
                Err(EarlyStop::Failed(error.message.as_str().into()))
            }
            (PredictErrorKind::Timeout, Some(limit @ crate::lm::BudgetLimit::Seconds)) => {
                Err(EarlyStop::BudgetSpent(limit))
            }
            (PredictErrorKind::Cancelled, _) if self.cancelled.is_cancelled() => {
                Err(EarlyStop::Cancelled)
            }
            (PredictErrorKind::Cancelled, _) => {
                let why = error.source.as_ref().map_or(&error.message, |source| &source.message);
                Err(EarlyStop::NotRecorded(why.as_str().into()))
            }
            _ => Ok(()),
        }
    }
}

fn failed(error: &PredictError, node: Option<Arc<str>>) -> RolloutFailure {
    RolloutFailure { code: error.kind.code().into(), message: error.message.as_str().into(), node }
}

/// How leniently the answers were read, of each predictor that was.
fn reports(spans: &[Span]) -> Vec<(Arc<str>, Payload)> {
    let read = spans.iter().filter(|span| span.kind == SpanKind::Predictor);
    let read = read.filter_map(|span| {
        let within = span.predictor.as_deref().unwrap_or_default();
        let path = crate::graph::predictor_path(&span.node, within);
        Some((Arc::from(path), span.parse_report.clone()?))
    });
    read.collect()
}
