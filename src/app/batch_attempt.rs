//! One attempt at a batch, by the process that holds its job: the items that have not ended, so many
//! at a time, up to the batch's end, or back into the queue. What came of items is written in groups
//! while others run, each group in one transaction with the records of its runs.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use dsrs::graph::SharedWork;
use dsrs::value::Payload;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::attempt::Request;
use super::batch_item::Items;
use super::batch_page::ItemPage;
use super::batch_shares::BatchShares;
use super::clock::now;
use super::json::JsonObject;
use super::persist::persist;
use super::run_row::RunOf;
use super::under_way::{Seat, Stop};
use super::{App, AppError, detached};
use crate::shutdown::Work;
use crate::store::batch::{self, BatchRow};
use crate::store::batch_share;
use crate::store::batch_work::{self, EndedItem};
use crate::store::job::{self, Job};
use crate::store::run::RunStatus;

/// Items that are read at a time.
const PAGE_ITEMS: i64 = 256;

/// A page ends once its items reach this size.
const PAGE_BYTES: i64 = 4 << 20;

/// Results that are written at a time. As many may wait, and no item begins while more would.
const GROUP: usize = 64;

/// Pieces of shared work that are removed at a time.
const CLEARED: i64 = 1000;

/// An attempt.
pub(super) struct BatchAttempt {
    app: Arc<App>,
    job: Job,
    request: Request,
    start: DateTime<Utc>,
}

/// How far an attempt came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    /// Every item has ended.
    Through,
    /// Some have not.
    Part,
}

type Running = FuturesUnordered<BoxFuture<'static, Option<EndedItem>>>;

impl BatchAttempt {
    fn of(app: Arc<App>, job: Job) -> Self {
        let request = Request::read(&job.request);
        Self { app, job, request, start: now() }
    }

    /// Ends a batch as cancelled that nobody works on.
    pub(super) async fn cancelled(app: Arc<App>, job: Job) -> Result<(), AppError> {
        Self::of(app, job).finish(RunStatus::Cancelled, None).await
    }

    /// Works on a batch until it has ended, is another's, or the server ends.
    pub(super) async fn make(app: Arc<App>, job: Job, work: Work) {
        let (id, number) = (job.lease.job, job.attempt);
        let cancel = work.cancellation().child_token();
        let (workspace, holder) = (job.scope.workspace, job.lease.holder);
        let seat = app.under_way.enter(workspace, id, Some(holder), cancel);
        if job.cancelled {
            seat.stop(Stop::Cancelled);
        }
        let attempt = Self::of(app, job);
        if let Err(error) = attempt.work(Arc::new(seat), &work).await {
            // The lease lapses, and the batch is tried again.
            tracing::error!(batch = %id, number, %error, "an attempt at a batch broke off");
        }
    }

    async fn work(&self, seat: Arc<Seat>, work: &Work) -> Result<(), AppError> {
        let (db, lease) = (&self.app.db, self.job.lease);
        let batch = persist(|| batch::get(&self.job.scope, db, lease.job)).await?;
        let limit = self.app.worker.attempts;
        if u32::try_from(self.job.attempt).unwrap_or(0) > limit {
            let error = self.failure("run_abandoned", &abandoned(limit));
            return self.finish(RunStatus::Failed, Some(&error)).await;
        }
        if !persist(|| batch_work::begin(db, lease, self.start)).await? {
            return Ok(());
        }
        let items = match self.items(&batch, &seat).await {
            Ok(items) => Arc::new(items),
            Err(AppError::Unavailable(_)) => return self.give_back().await,
            Err(error) => {
                tracing::error!(batch = %lease.job, %error, "an accepted batch cannot be run");
                let detail = "the batch cannot be run any more; the log has the cause";
                let error = self.failure("internal", detail);
                return self.finish(RunStatus::Failed, Some(&error)).await;
            }
        };
        let (sender, ended) = mpsc::channel(GROUP);
        let at_once = self.at_once(&batch);
        let running = self.run_all(&items, &seat, at_once, sender);
        let (came, written) = tokio::join!(running, self.write_all(&seat, ended));
        written?;
        match (seat.stopped(), came?) {
            (Some(Stop::Lost), _) => Ok(()),
            (Some(Stop::Cancelled), _) => self.finish(RunStatus::Cancelled, None).await,
            (None, Came::Through) => self.finish(RunStatus::Succeeded, None).await,
            (None, Came::Part) => {
                tracing::debug!(batch = %lease.job, cut = work.cancellation().is_cancelled(),
                    "a batch goes back into the queue");
                self.give_back().await
            }
        }
    }

    async fn items(&self, batch: &BatchRow, seat: &Seat) -> Result<Items, AppError> {
        let of = RunOf {
            graph: batch.graph_id,
            name: batch.graph_name.clone(),
            version: batch.graph_version,
            state_version: batch.state_version,
        };
        let scope = &self.job.scope;
        let program = self.app.program_at(scope, of.graph, of.version, of.state_version).await?;
        let limit = self.app.limits.run_timeout;
        let store = || BatchShares::new(self.app.db.clone(), scope.clone(), batch.id);
        let shared = batch.dedupe.then(|| SharedWork::of(&program, Box::new(store())));
        Ok(Items {
            app: self.app.clone(),
            scope: scope.clone(),
            program,
            of,
            shared,
            timeout: self.request.timeout.map_or(limit, |wanted| wanted.min(limit)),
            request_id: self.request.request_id.clone(),
            cancel: seat.cancellation(),
        })
    }

    /// How many items run at the same time.
    fn at_once(&self, batch: &BatchRow) -> usize {
        let limit = self.app.worker.batch_concurrency as usize;
        let wanted = batch.concurrency.and_then(|wanted| usize::try_from(wanted).ok());
        wanted.map_or(limit, |wanted| wanted.min(limit)).max(1)
    }

    /// Runs the items that have not ended, page by page.
    async fn run_all(
        &self,
        items: &Arc<Items>,
        seat: &Arc<Seat>,
        at_once: usize,
        ended: mpsc::Sender<EndedItem>,
    ) -> Result<Came, AppError> {
        let mut running = Running::new();
        let (mut after, mut came) = (-1, Came::Through);
        'pages: loop {
            let page = self.page(after).await?;
            let Some(last) = page.last() else { break };
            after = last;
            for (position, inputs) in page.items() {
                while running.len() >= at_once {
                    came = hand_on(&mut running, &ended, came).await;
                }
                if items.cancel.is_cancelled() || self.app.shutdown.is_draining() {
                    came = Came::Part;
                    break 'pages;
                }
                running.push(start(items, seat, position, inputs));
            }
        }
        while !running.is_empty() {
            came = hand_on(&mut running, &ended, came).await;
        }
        Ok(came)
    }

    async fn page(&self, after: i32) -> Result<ItemPage, AppError> {
        let (db, id) = (&self.app.db, self.job.lease.job);
        let read = || batch_work::open_items(db, id, after, PAGE_ITEMS, PAGE_BYTES);
        ItemPage::of(id, &persist(read).await?)
    }

    /// Writes what came of items, as much at a time as there is by then.
    async fn write_all(
        &self,
        seat: &Seat,
        mut ended: mpsc::Receiver<EndedItem>,
    ) -> Result<(), AppError> {
        let (scope, db, lease) = (&self.job.scope, &self.app.db, self.job.lease);
        let mut group = Vec::with_capacity(GROUP);
        while ended.recv_many(&mut group, GROUP).await > 0 {
            if !persist(|| batch_work::record(scope, db, lease, &group)).await? {
                seat.stop(Stop::Lost);
                return Ok(());
            }
            group.clear();
        }
        Ok(())
    }

    async fn finish(&self, status: RunStatus, error: Option<&str>) -> Result<(), AppError> {
        let (db, lease) = (&self.app.db, self.job.lease);
        let clear = || batch_share::clear(&self.job.scope, db, lease.job, CLEARED);
        while persist(clear).await? > 0 {}
        let written = persist(|| batch_work::finish(db, lease, status, error, now())).await?;
        if !written {
            tracing::info!(batch = %lease.job, "a batch was taken over; its end here is dropped");
        }
        Ok(())
    }

    async fn give_back(&self) -> Result<(), AppError> {
        persist(|| job::give_back(&self.app.db, self.job.lease)).await?;
        Ok(())
    }

    fn failure(&self, code: &str, detail: &str) -> String {
        let mut object = JsonObject::new();
        object.text("detail", detail).text("code", code).raw("errors", "[]");
        object.text("request_id", &self.request.request_id);
        object.finish()
    }
}

/// Starts an item; one whose task breaks has a result all the same.
fn start(
    items: &Arc<Items>,
    seat: &Arc<Seat>,
    position: i32,
    inputs: Payload,
) -> BoxFuture<'static, Option<EndedItem>> {
    let (own, own_seat, items) = (items.clone(), seat.clone(), items.clone());
    let task =
        detached("an item of a batch", async move { own.run(&own_seat, position, &inputs).await });
    let task = AbortOnDropHandle::new(task);
    async move {
        match task.await {
            Ok(Some(ended)) => ended,
            _ => Some(items.broken(position)),
        }
    }
    .boxed()
}

/// Waits for the end of one item and hands it on to be written.
async fn hand_on(running: &mut Running, ended: &mpsc::Sender<EndedItem>, came: Came) -> Came {
    let Some(item) = running.next().await else { return came };
    let Some(item) = item else { return Came::Part };
    // Nobody writes any more when the batch is another's.
    if ended.send(item).await.is_ok() { came } else { Came::Part }
}

fn abandoned(limit: u32) -> String {
    format!(
        "{limit} workers ended one after the other without bringing an item to its end, which is \
         the limit (`worker.attempts`); the results so far are kept"
    )
}
