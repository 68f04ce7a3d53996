//! Evaluations as jobs: the examples that have no score are rolled out, and each group of results is
//! written in one transaction.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use dsrs::graph::Program;
use dsrs::optimize::{Evaluator, Metric};
use dsrs::problem::{At, Problems};
use dsrs::strategy::BuildEnv;
use dsrs::value::Payload;
use uuid::Uuid;

use crate::app::batch::attempt::at_once;
use crate::app::clock::now;
use crate::app::dataset::selection::{DatasetPick, fit};
use crate::app::evaluation::example::{Examples, Item};
use crate::app::job::active::{ActiveGuard, StopReason};
use crate::app::job::item_job::{ItemJob, Taken};
use crate::app::job::item_work::{ItemPage, ItemWork, Written};
use crate::app::persist::persist;
use crate::app::program::environment::Phase;
use crate::app::run::record::RunVersions;
use crate::app::task::run_blocking;
use crate::app::{App, AppError};
use crate::store::dataset_example::{ExampleRow, Room};
use crate::store::evaluation::{self, EvaluationRow};
use crate::store::evaluation_work::{self, EndedExample};
use crate::store::job::{JobKind, Lease};
use crate::store::run::RunStatus;
use crate::store::{Scope, StoreError};

/// What is read of the examples at a time.
const PAGE: Room = Room { count: 256, bytes: 4 << 20 };

/// Evaluations.
pub(crate) struct Evaluations;

impl ItemJob for Evaluations {
    type Row = EvaluationRow;
    type Work = Examples;

    const KIND: JobKind = JobKind::Evaluation;
    const A: &'static str = "an evaluation";
    const AN_ITEM: &'static str = "an example";

    async fn row(scope: &Scope, app: &App, id: Uuid) -> Result<EvaluationRow, StoreError> {
        evaluation::get(scope, &app.db, id).await
    }

    fn status(row: &EvaluationRow) -> RunStatus {
        row.status
    }

    async fn begin(app: &App, lease: Lease, at: DateTime<Utc>) -> Result<bool, StoreError> {
        evaluation_work::begin(&app.db, lease, at).await
    }

    async fn work(
        taken: &Taken,
        row: &EvaluationRow,
        guard: &ActiveGuard,
    ) -> Result<(Examples, usize), AppError> {
        if is_enough(row.tally.failed, row.max_errors) {
            guard.stop(StopReason::Enough);
        }
        let (app, scope) = (&taken.app, &taken.job.scope);
        let of = RunVersions {
            graph: row.graph_id,
            name: row.graph_name.clone(),
            version: row.graph_version,
            state_version: row.state_version,
        };
        let program = app.program_at(scope, of.graph, of.version, of.state_version).await?;
        let written = stored(Payload::from_json(&row.metric).ok(), "metric")?;
        let at = At::Root;
        let read = |env: &dyn BuildEnv| Metric::read(&written, env, &program, &at);
        let graphs = Box::pin(app.graphs_of(scope, Phase::Stored, read)).await?;
        let metric = app.build_with(&graphs, Phase::Stored, None, read);
        let metric = metric.map_err(|why| AppError::Internal(format!("a stored metric: {why}")))?;
        let evaluator = Evaluator {
            models: app.models.clone(),
            metric: Arc::new(metric),
            budgeted: None,
            timeout: taken.timeout(),
            cancelled: guard.cancellation(),
        };
        let examples = Examples {
            app: app.clone(),
            scope: scope.clone(),
            lease: taken.job.lease,
            pick: stored(DatasetPick::read(&row.dataset), "dataset")?,
            program,
            of,
            evaluator,
            record: row.record,
            max_errors: row.max_errors,
            begun_before: row.tally.done > 0,
            request_id: taken.request.request_id.clone(),
        };
        Ok((examples, at_once(row.concurrency, app.worker.evaluation_concurrency)))
    }

    fn enough(row: &EvaluationRow) -> (&'static str, String) {
        let most = row.max_errors.unwrap_or_default();
        let detail = format!(
            "more than {most} examples failed (`max_errors`); what came of them and of the others so far \
             is kept"
        );
        ("too_many_errors", detail)
    }

    async fn finish(
        taken: &Taken,
        status: RunStatus,
        error: Option<&str>,
    ) -> Result<bool, AppError> {
        let (db, lease) = (&taken.app.db, taken.job.lease);
        Ok(persist(|| evaluation_work::finish(db, lease, status, error, now())).await?)
    }
}

fn stored<T>(read: Option<T>, what: &str) -> Result<T, AppError> {
    read.ok_or_else(|| AppError::Internal(format!("the {what} of an evaluation does not load")))
}

/// Whether more examples failed than may.
fn is_enough(failed: i32, most: Option<i32>) -> bool {
    most.is_some_and(|most| failed > most)
}

impl ItemWork for Examples {
    type Item = Item;
    type Ended = EndedExample;

    const TASK: &'static str = "an example of an evaluation";

    async fn page(&self, after: i32) -> Result<ItemPage<Item>, AppError> {
        let mut page = self.app.dataset_page(&self.scope, &self.pick, after, PAGE).await?;
        if let Some(last) = page.rows.last().filter(|_| self.begun_before) {
            let (db, id) = (&self.app.db, self.lease.job);
            let done = persist(|| evaluation_work::done(db, id, after, last.position)).await?;
            let done: HashSet<i32> = done.into_iter().collect();
            page.rows.retain(|row| !done.contains(&row.position));
        }
        // Large examples take a while to read, in which others would not get on.
        let program = self.program.clone();
        let read = move || page.rows.iter().map(|row| item(&program, row)).collect();
        let broken = || AppError::Internal("the reading of examples broke off".to_owned());
        let items: Result<Vec<Item>, AppError> = run_blocking(read).await.ok_or_else(broken)?;
        Ok(ItemPage { items: items?, next: page.next })
    }

    async fn work(&self, guard: &ActiveGuard, item: Item) -> Option<EndedExample> {
        self.score(guard, item).await
    }

    fn broken(&self, item: &Item) -> EndedExample {
        let detail = "the example could not be worked on; the log has the cause";
        self.failed(item, "internal", detail)
    }

    async fn write(&self, ended: &[EndedExample]) -> Result<Written, AppError> {
        let write = || evaluation_work::record(&self.scope, &self.app.db, self.lease, ended);
        Ok(match persist(write).await? {
            None => Written::Lost,
            Some(failed) if is_enough(failed, self.max_errors) => Written::Enough,
            Some(_) => Written::Kept,
        })
    }
}

fn item(program: &Program, row: &ExampleRow) -> Result<Item, AppError> {
    let mut problems = Problems::new();
    let example = fit(program, row, &At::Root, &mut problems);
    let broken = || AppError::Internal(format!("example `{}` no longer fits: {problems}", row.id));
    let example = example.filter(|_| problems.is_empty()).ok_or_else(broken)?;
    Ok(Item { position: row.position, example: Arc::new(example) })
}
