//! One example of an evaluation: run and scored, and recorded as a run if requested. May not know jobs
//! beyond the guard that stops them.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use dsrs::graph::Program;
use dsrs::lm::Usage;
use dsrs::optimize::{self, Evaluator, Example, ExampleRun, Rollout, RolloutFailure};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::clock::now;
use crate::dataset::selection::DatasetPick;
use crate::evaluation::failure_limits::FailureLimits;
use crate::job::active::ActiveGuard;
use crate::json::JsonObject;
use crate::run::documents::{fields_json, usage_json};
use crate::run::record::{RunRecordBuilder, RunVersions};
use crate::run_spans::{RunTrace, ScoreEvent, TracedRun};
use crate::{App, RequestId, RunFailure};
use dsrs_config::Record;
use dsrs_store::Scope;
use dsrs_store::evaluation::EvaluationResultRow;
use dsrs_store::evaluation_work::EvaluationItemResult;
use dsrs_store::job::Job;
use dsrs_store::run::RunRow;
use dsrs_store::run_label::RunLabels;

/// The work on the examples of one evaluation.
pub struct EvaluationWork {
    pub(crate) app: Arc<App>,
    pub(crate) scope: Scope,
    pub(crate) id: Uuid,
    /// The job: the evaluation, or a part of it.
    pub(crate) job: Job,
    /// Whether workers of other servers may help.
    pub(crate) is_divided: bool,
    /// The examples.
    pub(crate) pick: DatasetPick,
    pub(crate) program: Arc<Program>,
    pub(crate) versions: RunVersions,
    pub(crate) evaluator: Evaluator,
    /// Whether each example is also recorded as a run.
    pub(crate) record: bool,
    /// The limits of what may fail, and whether one of them is exceeded.
    pub(crate) limits: FailureLimits,
    /// Whether earlier attempts, or other workers, may have stored results.
    pub(crate) has_results: bool,
    /// The id of the request that started the evaluation.
    pub(crate) request_id: RequestId,
}

/// An example without a score.
#[derive(Clone)]
pub(crate) struct EvaluationItem {
    /// Its position in the dataset version.
    pub(crate) position: i32,
    pub(crate) example: Arc<Example>,
    /// What an earlier try has used, of the graph and of the metric. The example had no score after it.
    pub(crate) earlier: Option<(Usage, Usage)>,
}

impl EvaluationWork {
    /// Runs and scores an example. `None` if it was stopped.
    pub(crate) async fn score(
        &self,
        guard: &ActiveGuard,
        item: EvaluationItem,
    ) -> Option<EvaluationItemResult> {
        let (id, start) = (Uuid::now_v7(), now());
        let trace = self.app.trace_of_job(&self.request_id, id);
        let context = trace.as_ref().map(|trace| trace.context.clone());
        let running = self.app.metrics.run_started();
        let ran = self.evaluator.run_in(&self.program, &item.example, None, context).await;
        let rollout = self.evaluator.rollout(&ran, &item.example).await;
        drop(running);
        let result = self.result(guard, item.clone(), (id, start), &ran, &rollout);
        if let Some(trace) = &trace {
            self.send_spans(trace, (id, start), &item, &rollout, &ran);
        }
        result
    }

    fn result(
        &self,
        guard: &ActiveGuard,
        item: EvaluationItem,
        begun: (Uuid, DateTime<Utc>),
        ran: &ExampleRun,
        rollout: &Result<Rollout, optimize::EarlyStop>,
    ) -> Option<EvaluationItemResult> {
        if guard.cancellation().is_cancelled() {
            // A stopped run may fail in ways that say nothing about the example.
            let rollout = rollout.as_ref().ok().filter(|rollout| rollout.error.is_none())?;
            return Some(self.ended(&item, rollout, self.run_of(ran, &item, begun)));
        }
        match rollout {
            Ok(rollout) => {
                let run = self.run_of(ran, &item, begun);
                Some(self.ended(&item, rollout, run))
            }
            Err(optimize::EarlyStop::Cancelled) => None,
            Err(stop) => Some(self.failed(&item, "internal", &stop.to_string())),
        }
    }

    /// The spans of the run, with the score as an event.
    fn send_spans(
        &self,
        trace: &RunTrace,
        (id, start): (Uuid, DateTime<Utc>),
        item: &EvaluationItem,
        rollout: &Result<Rollout, optimize::EarlyStop>,
        ran: &ExampleRun,
    ) {
        let scored = rollout.as_ref().ok().filter(|rollout| rollout.error.is_none());
        let score = scored.map(|rollout| ScoreEvent {
            metric: self.evaluator.metric.name(),
            value: rollout.value(),
            feedback: rollout.score.feedback.as_ref(),
        });
        let run = TracedRun {
            trace,
            id,
            kind: "evaluation",
            graph: &self.versions.name,
            version: self.versions.version,
            state_version: self.versions.state_version,
            request: &self.request_id,
            start,
            took: ran.took,
            queued: None,
            inputs: self.app.traces_contents().then_some(&item.example.inputs),
            labels: &RunLabels::default(),
            score,
        };
        self.app.send_spans(&run, &ran.outcome);
    }

    /// The record of the run of an example, if requested.
    fn run_of(
        &self,
        ran: &ExampleRun,
        item: &EvaluationItem,
        (id, start): (Uuid, DateTime<Utc>),
    ) -> Option<RunRow> {
        if !self.record || self.app.recorder.mode() == Record::Off {
            return None;
        }
        let failure = ran.outcome.outputs.as_ref().err();
        let failure = failure.map(|error| RunFailure::of(id, &self.request_id, error));
        let ended = RunRecordBuilder {
            id,
            versions: self.versions.clone(),
            actor: &self.scope.actor,
            start,
            took: ran.took,
            inputs: fields_json(&item.example.inputs),
            with_trace: true,
            is_stored: true,
            labels: RunLabels::default(),
        };
        Some(ended.build(&ran.outcome, failure.as_ref()))
    }

    fn ended(
        &self,
        item: &EvaluationItem,
        rollout: &Rollout,
        run: Option<RunRow>,
    ) -> EvaluationItemResult {
        let feedback = rollout.score.feedback.clone();
        let (mut usage, mut judging) = item.earlier.unwrap_or_default();
        usage += rollout.usage;
        judging += rollout.judging;
        let scored = EvaluationResultRow {
            position: item.position,
            example_id: item.example.id.to_string(),
            score: rollout.value(),
            unmeasured: !rollout.is_measured(),
            feedback: feedback.map(|words| Payload::Str(words).to_json()),
            outputs: rollout.outputs.as_ref().map(fields_json),
            error: rollout.error.as_ref().map(|failed| self.error_json(failed)),
            usage: usage_json(&usage),
            judging: usage_json(&judging),
            parse_reports: reports_json(rollout),
            duration_ms: i64::try_from(rollout.took.as_millis()).unwrap_or(i64::MAX),
            run_id: run.as_ref().map(|run| run.id),
        };
        EvaluationItemResult { scored, run }
    }

    /// The result of an example that could not be run at all.
    pub(crate) fn failed(
        &self,
        item: &EvaluationItem,
        code: &str,
        message: &str,
    ) -> EvaluationItemResult {
        let error = RolloutFailure {
            code: code.into(),
            message: message.into(),
            node: None,
            is_unmeasured: false,
        };
        self.ended(item, &Rollout::failed(error), None)
    }

    fn error_json(&self, failed: &RolloutFailure) -> String {
        let mut object = JsonObject::new();
        object.text("detail", &failed.message).text("code", &failed.code).raw("errors", "[]");
        object.text("request_id", &self.request_id);
        if let Some(node) = &failed.node {
            object.text("node", node);
        }
        object.finish()
    }
}

/// `{path: [leniency, …]}`, with the leniencies of all answers of a predictor.
fn reports_json(rollout: &Rollout) -> String {
    let mut found: Vec<(&str, Vec<Payload>)> = Vec::new();
    for (path, report) in &rollout.reports {
        let leniencies = report.as_list().map_or_else(|| vec![report.clone()], <[Payload]>::to_vec);
        match found.iter_mut().find(|(known, _)| *known == path.as_ref()) {
            Some((_, known)) => known.extend(leniencies),
            None => found.push((path, leniencies)),
        }
    }
    let mut object = JsonObject::new();
    for (path, leniencies) in found.iter().filter(|(_, found)| !found.is_empty()) {
        object.raw(path, &Payload::list(leniencies.clone()).to_json());
    }
    object.finish()
}
