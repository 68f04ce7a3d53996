//! Evaluations: accepted, looked at, read out, cancelled. Working on them is `evaluation_attempt`.

pub(crate) mod attempt;
pub(crate) mod comparison;
pub(crate) mod example;

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::Program;
use dsrs::optimize::Metric;
use dsrs::problem::{At, Code, Problem, Problems};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::app::batch::refuse_waiting;
use crate::app::clock::now;
use crate::app::dataset::selection::{DatasetPick, DatasetRef};
use crate::app::error::merge_faults;
use crate::app::evaluation::attempt::Evaluations;
use crate::app::run::attempt::JobRequest;
use crate::app::{App, AppError, Invalid};
use crate::store::batch::Spent;
use crate::store::evaluation::{self, EvaluationRow, Judging, ResultKey, ScoredRow, Tally, Wanted};
use crate::store::graph::{GraphPin, GraphRef, Pick};
use crate::store::run::RunStatus;
use crate::store::{Cursor, Page, Scope};

/// What is to be evaluated, and how.
pub(crate) struct EvaluationRequest {
    /// On which examples.
    pub(crate) dataset: DatasetRef,
    /// Who judges, as it was written.
    pub(crate) metric: Payload,
    /// With which versions.
    pub(crate) pick: Pick,
    /// How many examples at the same time, if fewer than the server's limit.
    pub(crate) concurrency: Option<i32>,
    /// It fails when more examples than that do.
    pub(crate) max_errors: Option<i32>,
    /// How long the graph may take on an example, and then the metric, if less than the server's limit.
    pub(crate) timeout: Option<Duration>,
    /// Whether each example is recorded as a run, too.
    pub(crate) record: bool,
    /// The request's id.
    pub(crate) request_id: Arc<str>,
    /// What is wrong with the rest of the request.
    pub(crate) faults: Problems,
}

impl App {
    /// Accepts an evaluation: graph, examples and metric are those of now, whatever becomes of them.
    pub(crate) async fn evaluation_start(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        request: EvaluationRequest,
    ) -> Result<EvaluationRow, AppError> {
        let (pin, program) = self.ready(scope, graph, request.pick).await?;
        let mut faults = request.faults;
        refuse_waiting(&program, "an example of an evaluation", &mut faults);
        let metric = self.metric_written(scope, &request.metric, &program).await?;
        let metric = metric.map_err(|problems| faults.also(problems)).ok();
        let examples = self.fitting_examples(scope, &request.dataset, &program).await;
        let examples = merge_faults(faults, examples)?;
        // Without a metric there are faults.
        let Some(metric) = metric else { return Err(AppError::Internal("no metric".to_owned())) };
        let asked = JobRequest { timeout: request.timeout, request_id: request.request_id };
        let millis = request.timeout.and_then(|timeout| i64::try_from(timeout.as_millis()).ok());
        let row = EvaluationRow {
            concurrency: request.concurrency,
            max_errors: request.max_errors,
            timeout_ms: millis,
            record: request.record,
            ..queued(scope, &pin, &examples, &metric)
        };
        evaluation::create(scope, &self.db, &row, &asked.to_json()).await?;
        Ok(row)
    }

    /// A metric of a request, at `/metric`, checked against the program that it is to judge.
    pub(crate) async fn metric_written(
        &self,
        scope: &Scope,
        written: &Payload,
        program: &Program,
    ) -> Result<Result<Metric, Problems>, AppError> {
        let at = At::Root;
        let read = |env: &dyn dsrs::strategy::BuildEnv| {
            Metric::read(written, env, program, &at.key("metric"))
        };
        Box::pin(self.written(scope, None, read)).await
    }

    /// The examples that a reference means now, all of which fit the graph.
    async fn fitting_examples(
        &self,
        scope: &Scope,
        wanted: &DatasetRef,
        program: &Arc<Program>,
    ) -> Result<DatasetPick, AppError> {
        let at = At::Root;
        let at = at.key("dataset");
        let pick = match self.dataset_pick(scope, wanted, &at).await {
            // What a path lacks is not found; what a body lacks is wrong with the body.
            Err(AppError::NotFound(detail)) => {
                let mut problems = Problems::new();
                problems.add(&at, Code::InvalidValue, detail);
                return Err(AppError::invalid(Invalid::Request, problems));
            }
            other => other?,
        };
        match self.dataset_fits(scope, &pick, program).await {
            Ok(_) => Ok(pick),
            Err(AppError::Invalid { what, problems }) => {
                let place = at.pointer();
                let mut moved = Problems::new();
                moved.extend(problems.iter().map(|problem| Problem {
                    pointer: format!("{place}{}", problem.pointer),
                    ..problem.clone()
                }));
                Err(AppError::invalid(what, moved))
            }
            Err(other) => Err(other),
        }
    }

    /// An evaluation, as it stands.
    pub(crate) async fn evaluation_get(
        &self,
        scope: &Scope,
        id: Uuid,
    ) -> Result<EvaluationRow, AppError> {
        Ok(evaluation::get(scope, &self.db, id).await?)
    }

    /// One page of evaluations, newest first.
    pub(crate) async fn evaluation_list(
        &self,
        scope: &Scope,
        graph: Option<&GraphRef>,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<EvaluationRow>, AppError> {
        Ok(evaluation::list(scope, &self.db, graph, after, limit).await?)
    }

    /// One page of what came of the examples of an evaluation.
    pub(crate) async fn evaluation_results(
        &self,
        scope: &Scope,
        id: Uuid,
        wanted: Wanted,
        after: Option<ResultKey>,
        limit: u32,
    ) -> Result<Page<ScoredRow, ResultKey>, AppError> {
        Ok(evaluation::results(scope, &self.db, id, wanted, after, limit).await?)
    }

    /// Stops an evaluation, wherever it is. Answers how it stands, which may be `running` still, when the
    /// one who works on it does not answer.
    pub(crate) async fn evaluation_cancel(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
    ) -> Result<EvaluationRow, AppError> {
        self.item_job_cancel::<Evaluations>(scope, id).await
    }
}

fn queued(scope: &Scope, pin: &GraphPin, examples: &DatasetPick, metric: &Metric) -> EvaluationRow {
    let total = i32::try_from(examples.count).unwrap_or(i32::MAX);
    EvaluationRow {
        id: Uuid::now_v7(),
        graph_id: pin.id,
        graph_name: pin.name.clone(),
        graph_version: pin.version,
        state_version: pin.state_version,
        dataset: examples.to_json(),
        metric: metric.to_payload().to_json(),
        status: RunStatus::Queued,
        concurrency: None,
        max_errors: None,
        timeout_ms: None,
        record: false,
        tally: Tally { total, ..Tally::default() },
        spent: Spent::default(),
        judging: Judging::default(),
        error: None,
        created_at: now(),
        started_at: None,
        finished_at: None,
        created_by: scope.actor.to_string(),
    }
}
