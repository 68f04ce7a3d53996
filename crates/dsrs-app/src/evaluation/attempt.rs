//! Evaluations as a kind of job: examples without a score are run and scored, and a group of results is
//! written in one transaction.

use std::collections::HashSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::Program;
use dsrs::optimize::{Evaluator, Metric};
use dsrs::predict::CallRecord;
use dsrs::problem::{At, Problems};
use dsrs::strategy::BuildEnv;
use dsrs::value::Payload;
use tokio::time::sleep;

use crate::dataset::selection::{DatasetPick, fit};
use crate::evaluation::example::{EvaluationItem, EvaluationWork};
use crate::evaluation::failure_limits::FailureLimits;
use crate::evaluation::recorded_calls::RecordedCalls;
use crate::job::active::{ActiveGuard, StopReason};
use crate::job::attempt::JobAttempt;
use crate::job::conclusion::{AttemptEnd, Conclusion};
use crate::job::item_ranges::{ItemRanges, RANGE};
use crate::job::item_work::{ItemPage, ItemWork, WriteOutcome, item_concurrency, run_items};
use crate::job::kind::JobKind;
use crate::run::documents::usage_of_json;
use crate::run::record::RunVersions;
use crate::task::run_blocking;
use crate::{App, AppError};
use dsrs_store::Scope;
use dsrs_store::dataset_example::{ExampleRow, PageLimits};
use dsrs_store::evaluation::EvaluationRow;
use dsrs_store::evaluation_work::{self, EvaluationItemResult, FailedExamples};
use dsrs_store::job;
use dsrs_store::persist;

/// The size of a page of examples.
const PAGE: PageLimits = PageLimits { count: 256, bytes: 4 << 20 };

/// How often a worker checks whether the results of others decide the evaluation.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The kind of job that works on an evaluation.
pub struct Evaluations;

impl JobKind for Evaluations {
    type Row = EvaluationRow;
    type Work = (Arc<EvaluationWork>, usize);
    type Output = ();

    const IS_DIVIDED: bool = true;

    async fn load(attempt: &JobAttempt, guard: &ActiveGuard) -> Result<Self::Work, AppError> {
        let (app, scope, id) = (&attempt.app, &attempt.job.scope, attempt.job.divided());
        let row = persist(|| job::get::<EvaluationRow>(scope, &app.db, id)).await?;
        let limits = FailureLimits::of(&row);
        if limits.are_exceeded(scope, &app.db, failed_of(&row)).await? {
            guard.stop(StopReason::Enough);
        }
        let versions = RunVersions {
            graph: row.graph_id,
            name: row.graph_name,
            version: row.graph_version,
            state_version: row.state_version,
        };
        let program =
            app.program_at(scope, versions.graph, versions.version, versions.state_version).await?;
        let metric = stored(Payload::from_json(&row.metric).ok(), "metric")?;
        let metric = app.stored_metric(scope, &metric, &program).await?;
        let evaluator = Evaluator {
            models: app.observed_models(&versions.name),
            indexes: Some(app.indexes.of_workspace(scope)),
            call_record: row.reuse_calls.then(|| {
                let record: Arc<dyn CallRecord> =
                    Arc::new(RecordedCalls::new(app.db.clone(), scope.clone()));
                record
            }),
            metric: Arc::new(metric),
            budgeted: None,
            timeout: attempt.timeout(),
            cancelled: guard.cancellation(),
            observer: None,
        };
        // A requested concurrency is that of the evaluation as a whole.
        let is_divided = row.concurrency.is_none();
        let work = EvaluationWork {
            app: app.clone(),
            scope: scope.clone(),
            id,
            job: attempt.job.clone(),
            is_divided,
            pick: stored(DatasetPick::read(&row.dataset), "dataset")?,
            program,
            versions,
            evaluator,
            record: row.record,
            limits,
            has_results: is_divided || row.tally.done > 0,
            request_id: attempt.request.request_id.clone(),
        };
        let concurrency = item_concurrency(row.concurrency, app.worker.evaluation_concurrency);
        Ok((Arc::new(work), concurrency))
    }

    async fn run(
        attempt: &JobAttempt,
        (work, concurrency): Self::Work,
        guard: &Arc<ActiveGuard>,
    ) -> Result<AttemptEnd<()>, AppError> {
        run_items(&attempt.app, &work, guard, concurrency).await
    }

    async fn conclude(attempt: &JobAttempt, conclusion: Conclusion<()>) -> Result<bool, AppError> {
        attempt.finish(Self::TYPE, conclusion).await
    }

    fn abandoned(limit: u32) -> String {
        format!(
            "{limit} attempts in a row ended without the result of an example, which is the limit \
             (`worker.attempts`); the results so far are stored"
        )
    }
}

impl App {
    /// Builds a stored metric for the program that it judges.
    pub(crate) async fn stored_metric(
        &self,
        scope: &Scope,
        written: &Payload,
        program: &Program,
    ) -> Result<Metric, AppError> {
        let read = |env: &dyn BuildEnv| Metric::read(written, env, program, &At::Root);
        let references = Metric::references(written);
        let metric = Box::pin(self.build_stored(scope, references, read)).await?;
        metric.map_err(|problems| AppError::Internal(format!("a stored metric: {problems}")))
    }
}

fn stored<T>(read: Option<T>, what: &str) -> Result<T, AppError> {
    read.ok_or_else(|| AppError::Internal(format!("the {what} of an evaluation does not load")))
}

fn failed_of(row: &EvaluationRow) -> FailedExamples {
    FailedExamples { failed: row.tally.failed, unmeasured: row.tally.unmeasured }
}

impl ItemWork for EvaluationWork {
    type Item = EvaluationItem;
    type Outcome = EvaluationItemResult;

    const TASK: &'static str = "an example of an evaluation";

    fn ranges(&self) -> ItemRanges {
        match self.is_divided {
            true => ItemRanges::divided(&self.app.db, &self.job, self.items()),
            false => ItemRanges::undivided(&self.app.db, &self.job),
        }
    }

    async fn until_decided(&self) {
        if !self.has_others() {
            return pending().await;
        }
        let (scope, db) = (&self.scope, &self.app.db);
        loop {
            sleep(POLL_INTERVAL).await;
            let Ok(row) = job::get::<EvaluationRow>(scope, db, self.id).await else { continue };
            if self.limits.are_exceeded(scope, db, failed_of(&row)).await.unwrap_or(false) {
                return;
            }
        }
    }

    async fn page(&self, after: i32, to: i32) -> Result<ItemPage<EvaluationItem>, AppError> {
        let mut page = self.app.dataset_page(&self.scope, &self.pick, after, PAGE).await?;
        page.rows.retain(|row| row.position < to);
        page.next = page.next.filter(|next| next + 1 < to);
        if let Some(last) = page.rows.last().filter(|_| self.has_results) {
            let (db, lease, end) = (&self.app.db, self.job.lease, last.position);
            let done = persist(|| evaluation_work::done(db, lease, self.id, after, end)).await?;
            let done: HashSet<i32> = done.into_iter().collect();
            page.rows.retain(|row| !done.contains(&row.position));
        }
        // Large examples take long to parse: not on a thread that other tasks need.
        let program = self.program.clone();
        let read = move || page.rows.iter().map(|row| item(&program, row)).collect();
        let broken = || AppError::Internal("reading examples panicked".to_owned());
        let items: Result<Vec<EvaluationItem>, AppError> =
            run_blocking(read).await.ok_or_else(broken)?;
        Ok(ItemPage { items: items?, next: page.next })
    }

    async fn work(
        &self,
        guard: &ActiveGuard,
        item: EvaluationItem,
    ) -> Option<EvaluationItemResult> {
        self.score(guard, item).await
    }

    fn again(
        &self,
        item: &EvaluationItem,
        result: &EvaluationItemResult,
    ) -> Option<EvaluationItem> {
        let is_open = result.scored.unmeasured && item.earlier.is_none();
        let used = || (usage_of_json(&result.scored.usage), usage_of_json(&result.scored.judging));
        is_open.then(|| EvaluationItem { earlier: Some(used()), ..item.clone() })
    }

    fn panicked(&self, item: &EvaluationItem) -> EvaluationItemResult {
        let detail = "the example could not be evaluated; the log has the cause";
        self.failed(item, "internal", detail)
    }

    async fn write(&self, results: &[EvaluationItemResult]) -> Result<WriteOutcome, AppError> {
        let (scope, db, lease) = (&self.scope, &self.app.db, self.job.lease);
        let write = || evaluation_work::record(scope, db, lease, self.id, results);
        Ok(match persist(write).await? {
            None => WriteOutcome::LeaseLost,
            Some(failed) if self.limits.are_exceeded(scope, db, failed).await? => {
                WriteOutcome::StopEarly
            }
            Some(_) => WriteOutcome::Stored,
        })
    }

    fn stopped_early(&self) -> Conclusion<()> {
        self.limits.conclusion()
    }
}

impl EvaluationWork {
    /// The number of positions.
    const fn items(&self) -> i32 {
        self.pick.last.saturating_add(1)
    }

    /// Whether workers of other servers may have a part.
    const fn has_others(&self) -> bool {
        self.is_divided && (self.job.parent.is_some() || self.items() > RANGE)
    }
}

fn item(program: &Program, row: &ExampleRow) -> Result<EvaluationItem, AppError> {
    let mut problems = Problems::new();
    let example = fit(program, row, &At::Root, &mut problems);
    let broken = || AppError::Internal(format!("example `{}` no longer fits: {problems}", row.id));
    let example = example.filter(|_| problems.is_empty()).ok_or_else(broken)?;
    Ok(EvaluationItem { position: row.position, example: Arc::new(example), earlier: None })
}
