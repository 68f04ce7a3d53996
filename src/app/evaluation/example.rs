//! One example of an evaluation: rolled out, from its inputs to its score, and to the record of its run
//! where that is wanted.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::lm::Usage;
use dsrs::optimize::{self, Evaluator, Example, ExampleRun, Rollout, RolloutFailure, Score};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::app::clock::now;
use crate::app::dataset::selection::DatasetPick;
use crate::app::job::active::ActiveGuard;
use crate::app::json::JsonObject;
use crate::app::run::documents::{fields_json, usage_json};
use crate::app::run::record::{RunRecordBuilder, RunVersions};
use crate::app::{App, RunFailure};
use crate::config::Record;
use crate::store::Scope;
use crate::store::evaluation::ScoredRow;
use crate::store::evaluation_work::EndedExample;
use crate::store::job::Lease;
use crate::store::run::RunRow;

/// What the examples of an evaluation share.
pub(crate) struct Examples {
    pub(crate) app: Arc<App>,
    pub(crate) scope: Scope,
    /// The right to write what came of them.
    pub(crate) lease: Lease,
    /// Which they are.
    pub(crate) pick: DatasetPick,
    pub(crate) program: Arc<Program>,
    pub(crate) of: RunVersions,
    pub(crate) evaluator: Evaluator,
    /// Whether each is recorded as a run, too.
    pub(crate) record: bool,
    /// How many may fail.
    pub(crate) max_errors: Option<i32>,
    /// Whether some have a score from attempts before.
    pub(crate) begun_before: bool,
    /// The request that asked for the evaluation.
    pub(crate) request_id: Arc<str>,
}

/// An example that has no score yet.
#[derive(Clone)]
pub(crate) struct Item {
    /// Where it stands in the dataset's version.
    pub(crate) position: i32,
    pub(crate) example: Arc<Example>,
}

impl Examples {
    /// Rolls an example out; `None` when it was stopped.
    pub(crate) async fn score(&self, guard: &ActiveGuard, item: Item) -> Option<EndedExample> {
        let start = now();
        let running = self.app.metrics.run_started();
        let ran = self.evaluator.run(&self.program, &item.example, None).await;
        let rollout = self.evaluator.rollout(&ran, &item.example).await;
        drop(running);
        if guard.cancellation().is_cancelled() {
            // What is stopped fails in ways that say nothing of the example.
            return rollout.ok().filter(|rollout| rollout.error.is_none()).map(|rollout| {
                let run = self.run_of(&ran, &item, start);
                self.ended(&item, &rollout, run)
            });
        }
        match rollout {
            Ok(rollout) => {
                let run = self.run_of(&ran, &item, start);
                Some(self.ended(&item, &rollout, run))
            }
            Err(optimize::EarlyStop::Cancelled) => None,
            Err(stop) => Some(self.failed(&item, "internal", &stop.to_string())),
        }
    }

    /// The record of an example's run, where that is wanted.
    fn run_of(
        &self,
        ran: &ExampleRun,
        item: &Item,
        start: chrono::DateTime<chrono::Utc>,
    ) -> Option<RunRow> {
        if !self.record || self.app.recorder.mode() == Record::Off {
            return None;
        }
        let id = Uuid::now_v7();
        let failure = ran.outcome.outputs.as_ref().err();
        let failure = failure.map(|error| RunFailure::of(id, &self.request_id, error));
        let ended = RunRecordBuilder {
            id,
            versions: self.of.clone(),
            actor: &self.scope.actor,
            start,
            took: ran.took,
            inputs: fields_json(&item.example.inputs),
            with_trace: true,
        };
        Some(ended.build(&ran.outcome, failure.as_ref()))
    }

    fn ended(&self, item: &Item, rollout: &Rollout, run: Option<RunRow>) -> EndedExample {
        let feedback = rollout.score.feedback.clone();
        let scored = ScoredRow {
            position: item.position,
            example_id: item.example.id.to_string(),
            score: rollout.value(),
            feedback: feedback.map(|words| Payload::Str(words).to_json()),
            outputs: rollout.outputs.as_ref().map(fields_json),
            error: rollout.error.as_ref().map(|failed| self.error_json(failed)),
            usage: usage_json(&rollout.usage),
            judging: usage_json(&rollout.judging),
            parse_reports: reports_json(rollout),
            duration_ms: i64::try_from(rollout.took.as_millis()).unwrap_or(i64::MAX),
            run_id: run.as_ref().map(|run| run.id),
        };
        EndedExample { scored, run }
    }

    /// What came of an example that could not be rolled out at all.
    pub(crate) fn failed(&self, item: &Item, code: &str, message: &str) -> EndedExample {
        let error = RolloutFailure { code: code.into(), message: message.into(), node: None };
        let rollout = Rollout {
            outputs: None,
            score: Score::of(0.0),
            error: Some(error),
            usage: Usage::default(),
            judging: Usage::default(),
            calls: Vec::new(),
            reports: Vec::new(),
            took: std::time::Duration::ZERO,
        };
        self.ended(item, &rollout, None)
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

/// `{path: [leniency, …]}`; one whose answers were read several times has all of them.
fn reports_json(rollout: &Rollout) -> String {
    let mut found: Vec<(&str, Vec<Payload>)> = Vec::new();
    for (path, report) in &rollout.reports {
        let told = report.as_list().map_or_else(|| vec![report.clone()], <[Payload]>::to_vec);
        match found.iter_mut().find(|(known, _)| *known == path.as_ref()) {
            Some((_, known)) => known.extend(told),
            None => found.push((path, told)),
        }
    }
    let mut object = JsonObject::new();
    for (path, told) in found.iter().filter(|(_, told)| !told.is_empty()) {
        object.raw(path, &Payload::list(told.clone()).to_json());
    }
    object.finish()
}
