//! Evaluations: started, read, cancelled. Attempts are in `attempt`. May know runs and datasets; may not
//! know HTTP.

pub(crate) mod attempt;
pub(crate) mod comparison;
pub(crate) mod example;
pub(crate) mod failure_limits;
pub(crate) mod forecast;
mod recorded_calls;
mod request;
pub(crate) mod score_summary;

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::Program;
use dsrs::optimize::Metric;
use dsrs::problem::{At, Code, Problem, Problems};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::clock::now;
use crate::dataset::reference::DatasetRef;
use crate::dataset::selection::DatasetPick;
use crate::error::merge_faults;
use crate::job::await_check::refuse_await_nodes;
use crate::job::request::JobRequest;
use crate::{App, AppError, Commit, Invalid, RequestId};
use dsrs_store::batch::UsageTotals;
use dsrs_store::evaluation::{
    self, EvaluationResultRow, EvaluationRow, EvaluationTotals, JudgingTotals, ResultCursor,
    ResultFilter,
};
use dsrs_store::graph::{GraphRef, ResolvedGraph, VersionSelection};
use dsrs_store::run::RunStatus;
use dsrs_store::{ListQuery, Page, Scope};

pub struct EvaluationRequest {
    /// The examples.
    pub dataset: DatasetRef,
    /// The metric, as requested.
    pub metric: Payload,
    /// The versions to run.
    pub pick: VersionSelection,
    /// The number of examples at a time, if fewer than the limit of the server.
    pub concurrency: Option<i32>,
    /// The evaluation fails if more examples than this fail.
    pub max_errors: Option<i32>,
    /// The share of examples that may stay without a score, if not the usual one.
    pub max_unmeasured: Option<f64>,
    /// The time limit of the graph on one example, and then of the metric, if shorter than that of the
    /// server.
    pub timeout: Option<Duration>,
    /// Whether each example is also recorded as a run.
    pub record: bool,
    /// Whether results of calls are those that evaluations recorded before.
    pub reuse_calls: bool,
    pub request_id: RequestId,
    /// The problems found so far.
    pub faults: Problems,
}

impl App {
    /// Starts an evaluation. Graph, examples and metric are pinned: later changes do not affect it.
    pub async fn evaluation_start(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        request: EvaluationRequest,
        commit: Commit<EvaluationRow>,
    ) -> Result<EvaluationRow, AppError> {
        let (pin, program) = self.ready(scope, graph, request.pick).await?;
        let mut faults = request.faults;
        refuse_await_nodes(&program, "an example of an evaluation", &mut faults);
        let metric = self.metric_written(scope, &request.metric, &program).await?;
        let metric = metric.map_err(|problems| faults.also(problems)).ok();
        let examples = self.fitting_examples(scope, &request.dataset, &program).await;
        let examples = merge_faults(faults, examples)?;
        // A missing metric is one of the faults above.
        let Some(metric) = metric else { return Err(AppError::Internal("no metric".to_owned())) };
        let asked = JobRequest::new(request.timeout, request.request_id);
        let millis = request.timeout.and_then(|timeout| i64::try_from(timeout.as_millis()).ok());
        let row = EvaluationRow {
            concurrency: request.concurrency,
            max_errors: request.max_errors,
            max_unmeasured: request.max_unmeasured,
            timeout_ms: millis,
            record: request.record,
            reuse_calls: request.reuse_calls,
            ..queued(scope, &pin, &examples, &metric)
        };
        let (asked, ending) = (asked.to_json(), commit.ending(&row));
        evaluation::create(scope, &self.db, &row, &asked, &ending).await?;
        Ok(row)
    }

    /// Reads the metric of a request, at `/metric`, and checks it against the program.
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
        Box::pin(self.build_new(scope, None, Metric::references(written), read)).await
    }

    /// The examples that a reference names now. All of them fit the graph.
    async fn fitting_examples(
        &self,
        scope: &Scope,
        wanted: &DatasetRef,
        program: &Arc<Program>,
    ) -> Result<DatasetPick, AppError> {
        let at = At::Root;
        let at = at.key("dataset");
        let pick = match self.dataset_pick(scope, wanted, &at).await {
            // An unknown dataset in a path is `not_found`; in a body it is a problem of the body.
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
                let moved = problems.map(|problem| Problem {
                    pointer: format!("{place}{}", problem.pointer),
                    ..problem
                });
                Err(AppError::invalid(what, moved))
            }
            Err(other) => Err(other),
        }
    }

    /// One page of evaluations, newest first.
    pub async fn evaluation_list(
        &self,
        scope: &Scope,
        graph: Option<&GraphRef>,
        list: ListQuery,
    ) -> Result<Page<EvaluationRow>, AppError> {
        Ok(evaluation::list(scope, &self.db, graph, list).await?)
    }

    /// One page of the results of an evaluation.
    pub async fn evaluation_results(
        &self,
        scope: &Scope,
        id: Uuid,
        wanted: ResultFilter,
        list: ListQuery<ResultCursor>,
    ) -> Result<Page<EvaluationResultRow, ResultCursor>, AppError> {
        Ok(evaluation::results(scope, &self.db, id, wanted, list).await?)
    }
}

fn queued(
    scope: &Scope,
    pin: &ResolvedGraph,
    examples: &DatasetPick,
    metric: &Metric,
) -> EvaluationRow {
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
        max_unmeasured: None,
        timeout_ms: None,
        record: false,
        reuse_calls: false,
        tally: EvaluationTotals { total, ..EvaluationTotals::default() },
        spent: UsageTotals::default(),
        judging: JudgingTotals::default(),
        error: None,
        created_at: now(),
        started_at: None,
        finished_at: None,
        created_by: scope.actor.to_string(),
    }
}
