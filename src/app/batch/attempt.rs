//! Batches as jobs: the items that have not ended are runs, and each group of results is written in one
//! transaction with the records of those runs.

use chrono::{DateTime, Utc};
use dsrs::graph::SharedWork;
use dsrs::value::Payload;
use uuid::Uuid;

use crate::app::batch::item::Items;
use crate::app::batch::page::ItemPage;
use crate::app::batch::shared_work::BatchShares;
use crate::app::clock::now;
use crate::app::job::active::ActiveGuard;
use crate::app::job::item_job::{ItemJob, Taken};
use crate::app::job::item_work::{self, ItemWork, Written};
use crate::app::persist::persist;
use crate::app::run::record::RunVersions;
use crate::app::{App, AppError};
use crate::store::batch::{self, BatchRow};
use crate::store::batch_share;
use crate::store::batch_work::{self, EndedItem};
use crate::store::job::{JobKind, Lease};
use crate::store::run::RunStatus;
use crate::store::{Scope, StoreError};

/// Items that are read at a time.
const PAGE_ITEMS: i64 = 256;

/// A page ends once its items reach this size.
const PAGE_BYTES: i64 = 4 << 20;

/// Pieces of shared work that are removed at a time.
const CLEARED: i64 = 1000;

/// Batches.
pub(crate) struct Batches;

impl ItemJob for Batches {
    type Row = BatchRow;
    type Work = Items;

    const KIND: JobKind = JobKind::Batch;
    const A: &'static str = "a batch";
    const AN_ITEM: &'static str = "an item";

    async fn row(scope: &Scope, app: &App, id: Uuid) -> Result<BatchRow, StoreError> {
        batch::get(scope, &app.db, id).await
    }

    fn status(row: &BatchRow) -> RunStatus {
        row.status
    }

    async fn begin(app: &App, lease: Lease, at: DateTime<Utc>) -> Result<bool, StoreError> {
        batch_work::begin(&app.db, lease, at).await
    }

    async fn work(
        taken: &Taken,
        batch: &BatchRow,
        guard: &ActiveGuard,
    ) -> Result<(Items, usize), AppError> {
        let (app, scope) = (&taken.app, &taken.job.scope);
        let of = RunVersions {
            graph: batch.graph_id,
            name: batch.graph_name.clone(),
            version: batch.graph_version,
            state_version: batch.state_version,
        };
        let program = app.program_at(scope, of.graph, of.version, of.state_version).await?;
        let store = || BatchShares::new(app.db.clone(), scope.clone(), batch.id);
        let shared = batch.dedupe.then(|| SharedWork::of(&program, Box::new(store())));
        let items = Items {
            app: app.clone(),
            scope: scope.clone(),
            lease: taken.job.lease,
            program,
            of,
            shared,
            timeout: taken.timeout(),
            request_id: taken.request.request_id.clone(),
            cancel: guard.cancellation(),
        };
        Ok((items, at_once(batch.concurrency, app.worker.batch_concurrency)))
    }

    fn enough(_: &BatchRow) -> (&'static str, String) {
        ("internal", "no item more was wanted".to_owned())
    }

    async fn finish(
        taken: &Taken,
        status: RunStatus,
        error: Option<&str>,
    ) -> Result<bool, AppError> {
        let (db, lease) = (&taken.app.db, taken.job.lease);
        let clear = || batch_share::clear(&taken.job.scope, db, lease.job, CLEARED);
        while persist(clear).await? > 0 {}
        Ok(persist(|| batch_work::finish(db, lease, status, error, now())).await?)
    }
}

/// How many items are at work at the same time.
pub(crate) fn at_once(wanted: Option<i32>, limit: u32) -> usize {
    let limit = limit as usize;
    wanted.and_then(|wanted| usize::try_from(wanted).ok()).map_or(limit, |wanted| wanted.min(limit))
}

impl ItemWork for Items {
    type Item = (i32, Payload);
    type Ended = EndedItem;

    const TASK: &'static str = "an item of a batch";

    async fn page(&self, after: i32) -> Result<item_work::ItemPage<Self::Item>, AppError> {
        let (db, id) = (&self.app.db, self.lease.job);
        let read = || batch_work::open_items(db, id, after, PAGE_ITEMS, PAGE_BYTES);
        let page = ItemPage::of(id, &persist(read).await?)?;
        Ok(item_work::ItemPage { items: page.items().collect(), next: page.last() })
    }

    async fn work(&self, guard: &ActiveGuard, (position, inputs): Self::Item) -> Option<EndedItem> {
        self.run(guard, position, &inputs).await
    }

    fn broken(&self, (position, _): &Self::Item) -> EndedItem {
        self.broken_at(*position)
    }

    async fn write(&self, ended: &[EndedItem]) -> Result<Written, AppError> {
        let write = || batch_work::record(&self.scope, &self.app.db, self.lease, ended);
        Ok(if persist(write).await? { Written::Kept } else { Written::Lost })
    }
}
