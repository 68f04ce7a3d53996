//! Batches as a kind of job. Each open item is a run, and a group of results is written in one
//! transaction with the records of those runs.

use std::sync::Arc;

use dsrs::graph::SharedWork;
use dsrs::value::Payload;

use crate::AppError;
use crate::batch::item::BatchWork;
use crate::batch::page::BatchItemPage;
use crate::batch::shared_work::BatchShares;
use crate::job::active::ActiveGuard;
use crate::job::attempt::JobAttempt;
use crate::job::conclusion::{AttemptEnd, Conclusion};
use crate::job::item_ranges::ItemRanges;
use crate::job::item_work::{ItemPage, ItemWork, WriteOutcome, item_concurrency, run_items};
use crate::job::kind::JobKind;
use crate::run::record::RunVersions;
use dsrs_store::batch::BatchRow;
use dsrs_store::batch_share;
use dsrs_store::batch_work::{self, BatchItemResult};
use dsrs_store::job;
use dsrs_store::persist;

/// Items that are read at a time.
const PAGE_ITEMS: i64 = 256;

/// A page ends once its items reach this size.
const PAGE_BYTES: i64 = 4 << 20;

/// Outputs of shared work that are removed at a time.
const CLEARED: i64 = 1000;

/// The kind of job that works on a batch.
pub struct Batches;

impl JobKind for Batches {
    type Row = BatchRow;
    type Work = (Arc<BatchWork>, usize);
    type Output = ();

    const IS_DIVIDED: bool = true;

    async fn load(attempt: &JobAttempt, guard: &ActiveGuard) -> Result<Self::Work, AppError> {
        let (app, scope, id) = (&attempt.app, &attempt.job.scope, attempt.job.divided());
        let row = persist(|| job::get::<BatchRow>(scope, &app.db, id)).await?;
        let versions = RunVersions {
            graph: row.graph_id,
            name: row.graph_name,
            version: row.graph_version,
            state_version: row.state_version,
        };
        let program =
            app.program_at(scope, versions.graph, versions.version, versions.state_version).await?;
        let store = || BatchShares::new(app.db.clone(), scope.clone(), row.id);
        let shared = row.dedupe.then(|| SharedWork::of(&program, Box::new(store())));
        let work = BatchWork {
            app: app.clone(),
            scope: scope.clone(),
            id,
            total: row.counts.total,
            // A requested concurrency is that of the batch as a whole, and equal work is shared in memory.
            is_divided: row.concurrency.is_none() && !row.dedupe,
            job: attempt.job.clone(),
            program,
            versions,
            shared,
            timeout: attempt.timeout(),
            labels: row.labels,
            request_id: attempt.request.request_id.clone(),
            cancel: guard.cancellation(),
        };
        let concurrency = item_concurrency(row.concurrency, app.worker.batch_concurrency);
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
        let (scope, db, batch) = (&attempt.job.scope, &attempt.app.db, attempt.job.lease.job);
        // No other attempt needs the shared work.
        while persist(|| batch_share::clear(scope, db, batch, CLEARED)).await? > 0 {}
        attempt.finish(Self::TYPE, conclusion).await
    }

    fn abandoned(limit: u32) -> String {
        format!(
            "{limit} attempts in a row ended without the result of an item, which is the limit \
             (`worker.attempts`); the results so far are stored"
        )
    }
}

impl ItemWork for BatchWork {
    type Item = (i32, Payload);
    type Outcome = BatchItemResult;

    const TASK: &'static str = "an item of a batch";

    fn ranges(&self) -> ItemRanges {
        match self.is_divided {
            true => ItemRanges::divided(&self.app.db, &self.job, self.total),
            false => ItemRanges::undivided(&self.app.db, &self.job),
        }
    }

    async fn page(&self, after: i32, to: i32) -> Result<ItemPage<Self::Item>, AppError> {
        let (db, lease, id) = (&self.app.db, self.job.lease, self.id);
        let read = || batch_work::open_items(db, lease, id, (after, to), PAGE_ITEMS, PAGE_BYTES);
        let page = BatchItemPage::of(id, &persist(read).await?)?;
        Ok(ItemPage { items: page.items().collect(), next: page.last() })
    }

    async fn work(
        &self,
        guard: &ActiveGuard,
        (position, inputs): Self::Item,
    ) -> Option<BatchItemResult> {
        self.run(guard, position, &inputs).await
    }

    fn panicked(&self, (position, _): &Self::Item) -> BatchItemResult {
        self.failed(*position)
    }

    async fn write(&self, results: &[BatchItemResult]) -> Result<WriteOutcome, AppError> {
        let (scope, db, lease) = (&self.scope, &self.app.db, self.job.lease);
        let write = || batch_work::record(scope, db, lease, self.id, results);
        Ok(if persist(write).await? { WriteOutcome::Stored } else { WriteOutcome::LeaseLost })
    }
}
