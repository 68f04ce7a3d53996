//! The work of a job that consists of many items. Open items are read page by page, a limited number
//! is worked on at a time, and results are written in groups while other items continue. Reading,
//! working and writing wait for each other only where one is far behind, so that neither a page nor a
//! commit causes a pause. May not know any table, nor what an item is.

use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::job::active::{ActiveGuard, StopReason};
use crate::job::conclusion::{AttemptEnd, Conclusion};
use crate::job::item_ranges::ItemRanges;
use crate::{App, AppError};

/// Results that are written at a time. No item starts while as many more wait to be written.
const GROUP: usize = 64;

/// Items that wait for a second try. If more need one, something is wrong that a second try does not change.
const AGAIN: usize = 256;

/// Items that are read ahead, so that the next page is there before the last one is used up.
const READ_AHEAD: usize = 64;

/// Consecutive items without those that have a result.
pub(crate) struct ItemPage<I> {
    /// The items; possibly none.
    pub(crate) items: Vec<I>,
    /// The position after which the next page begins; `None` on the last page.
    pub(crate) next: Option<i32>,
}

/// What a job does with its items.
pub(crate) trait ItemWork: Send + Sync + 'static {
    /// An open item. Cheap to clone.
    type Item: Clone + Send + 'static;

    /// The result of an item.
    type Outcome: Send + Sync + 'static;

    /// The name of the task that works on an item.
    const TASK: &'static str;

    /// The ranges of items that this attempt works on.
    fn ranges(&self) -> ItemRanges;

    /// Waits until results of other workers decide the job; for ever if none do.
    fn until_decided(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// The open items after a position and before another.
    fn page(
        &self,
        after: i32,
        to: i32,
    ) -> impl Future<Output = Result<ItemPage<Self::Item>, AppError>> + Send;

    /// Works on an item. `None` if it was interrupted and another attempt must repeat it.
    fn work(
        &self,
        guard: &ActiveGuard,
        item: Self::Item,
    ) -> impl Future<Output = Option<Self::Outcome>> + Send;

    /// The item to work on once more after all others, if a second try may have a better result.
    fn again(&self, item: &Self::Item, outcome: &Self::Outcome) -> Option<Self::Item> {
        let _ = (item, outcome);
        None
    }

    /// The result of an item whose task panicked.
    fn panicked(&self, item: &Self::Item) -> Self::Outcome;

    /// Writes some results.
    fn write(
        &self,
        outcomes: &[Self::Outcome],
    ) -> impl Future<Output = Result<WriteOutcome, AppError>> + Send;

    /// The conclusion of a job that [`WriteOutcome::StopEarly`] stopped.
    fn stopped_early(&self) -> Conclusion<()> {
        Conclusion::failed("internal", "the job stopped before its last item")
    }
}

/// What follows after some results were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    /// The work continues.
    Stored,
    /// Nothing was written: the lease is lost.
    LeaseLost,
    /// The job stops: the results so far decide it.
    StopEarly,
}

/// How far an attempt has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemProgress {
    /// Every item has a result.
    Complete,
    /// Some items are open.
    Partial,
}

impl ItemProgress {
    /// Complete if both are.
    fn and(self, other: Self) -> Self {
        if self == Self::Complete { other } else { self }
    }
}

/// The items in progress, each with its outcome.
type RunningItems<I, T> = FuturesUnordered<BoxFuture<'static, (I, Option<T>)>>;

/// Works on all open items, at most `concurrency` at a time, until all have a result, the job is
/// stopped, or the server stops.
pub(crate) async fn run_items<W: ItemWork>(
    app: &App,
    work: &Arc<W>,
    guard: &Arc<ActiveGuard>,
    concurrency: usize,
) -> Result<AttemptEnd<()>, AppError> {
    let mut ranges = work.ranges();
    let progress = loop {
        let progress = run_ranges(app, work, guard, concurrency, &mut ranges).await?;
        if progress == ItemProgress::Partial || !ranges.check_again() {
            break progress;
        }
    };
    Ok(match (guard.stopped(), progress) {
        (Some(StopReason::Lost), _) => AttemptEnd::Released,
        (Some(StopReason::Cancelled), _) => Conclusion::Cancelled.into(),
        (Some(StopReason::Enough), _) => work.stopped_early().into(),
        (None, ItemProgress::Complete) => Conclusion::Finished(()).into(),
        (None, ItemProgress::Partial) => AttemptEnd::Requeue,
    })
}

/// Works on the open items of all ranges. Their results are stored when this returns.
async fn run_ranges<W: ItemWork>(
    app: &App,
    work: &Arc<W>,
    guard: &Arc<ActiveGuard>,
    concurrency: usize,
    ranges: &mut ItemRanges,
) -> Result<ItemProgress, AppError> {
    let (page_sender, items) = mpsc::channel(READ_AHEAD);
    let (result_sender, results) = mpsc::channel(GROUP);
    let (read, progress, written) = tokio::join!(
        read_all(app, work.as_ref(), guard, ranges, page_sender),
        run_all(app, work, guard, concurrency, items, result_sender),
        write_all(work.as_ref(), guard, results)
    );
    written?;
    Ok(progress.and(read?))
}

/// The number of items at a time: as requested, up to the limit of the server.
pub(crate) fn item_concurrency(requested: Option<i32>, limit: u32) -> usize {
    let requested = requested.and_then(|requested| u32::try_from(requested).ok());
    requested.map_or(limit, |requested| requested.min(limit)).max(1) as usize
}

/// Reads the pages of one range after another, until the last one, the work stops, or the receiver is gone.
async fn read_all<W: ItemWork>(
    app: &App,
    work: &W,
    guard: &ActiveGuard,
    ranges: &mut ItemRanges,
    items: mpsc::Sender<W::Item>,
) -> Result<ItemProgress, AppError> {
    let (stop, mut decided) = (guard.cancellation(), pin!(work.until_decided()));
    loop {
        // The parts of other workers may take long.
        let range = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(ItemProgress::Partial),
            () = app.shutdown.draining() => return Ok(ItemProgress::Partial),
            () = &mut decided => {
                guard.stop(StopReason::Enough);
                return Ok(ItemProgress::Partial);
            }
            range = ranges.next() => range?,
        };
        let Some(range) = range else { return Ok(ItemProgress::Complete) };
        let mut after = range.from - 1;
        loop {
            let page = work.page(after, range.to).await?;
            for item in page.items {
                if items.send(item).await.is_err() {
                    return Ok(ItemProgress::Partial);
                }
            }
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
    }
}

async fn run_all<W: ItemWork>(
    app: &App,
    work: &Arc<W>,
    guard: &Arc<ActiveGuard>,
    concurrency: usize,
    mut items: mpsc::Receiver<W::Item>,
    results: mpsc::Sender<W::Outcome>,
) -> ItemProgress {
    let mut run =
        ItemRun { work: work.as_ref(), running: RunningItems::new(), again: Vec::new(), results };
    let mut progress = ItemProgress::Complete;
    let is_stopped = || guard.cancellation().is_cancelled() || app.shutdown.is_draining();
    loop {
        tokio::select! {
            item = items.recv(), if run.running.len() < concurrency => match item {
                None => break,
                // The item stays open for the next attempt.
                Some(_) if is_stopped() => {
                    progress = ItemProgress::Partial;
                    break;
                }
                Some(item) => run.running.push(start(app, work, guard, item)),
            },
            Some((item, outcome)) = run.running.next(), if !run.running.is_empty() => {
                progress = run.pass_on(&item, outcome, progress).await;
            }
        }
    }
    // The reader must not wait for the items that are still running.
    drop(items);
    loop {
        while run.running.len() < concurrency && !is_stopped() {
            let Some(item) = run.again.pop() else { break };
            run.running.push(start(app, work, guard, item));
        }
        let Some((item, outcome)) = run.running.next().await else { break };
        progress = run.pass_on(&item, outcome, progress).await;
    }
    if run.again.is_empty() { progress } else { ItemProgress::Partial }
}

/// The items of an attempt that are in progress, and those that follow for a second try.
struct ItemRun<'w, W: ItemWork> {
    work: &'w W,
    running: RunningItems<W::Item, W::Outcome>,
    again: Vec<W::Item>,
    results: mpsc::Sender<W::Outcome>,
}

impl<W: ItemWork> ItemRun<'_, W> {
    /// Passes the result of an item on to the writer, or notes the item for a second try.
    async fn pass_on(
        &mut self,
        item: &W::Item,
        outcome: Option<W::Outcome>,
        progress: ItemProgress,
    ) -> ItemProgress {
        let Some(outcome) = outcome else { return ItemProgress::Partial };
        // No result is written before the second try: of each item, one result is stored.
        if self.again.len() < AGAIN
            && let Some(again) = self.work.again(item, &outcome)
        {
            self.again.push(again);
            return progress;
        }
        // The writer is gone once the lease is lost.
        if self.results.send(outcome).await.is_ok() { progress } else { ItemProgress::Partial }
    }
}

/// Starts an item. If its task panics, the item still has a result.
fn start<W: ItemWork>(
    app: &App,
    work: &Arc<W>,
    guard: &Arc<ActiveGuard>,
    item: W::Item,
) -> BoxFuture<'static, (W::Item, Option<W::Outcome>)> {
    let (own, own_guard, own_item) = (work.clone(), guard.clone(), item.clone());
    let task = async move { own.work(&own_guard, own_item).await };
    // For what is computed after the run, such as its score.
    let time = app.limits.run_timeout.saturating_mul(2);
    let task = app.compute.spawn_within(W::TASK, time, &guard.cancellation(), task);
    let (task, work) = (AbortOnDropHandle::new(task), work.clone());
    async move {
        let outcome = match task.await {
            Ok(Some(outcome)) => outcome,
            _ => Some(work.panicked(&item)),
        };
        (item, outcome)
    }
    .boxed()
}

/// Writes results, all that have gathered at a time.
async fn write_all<W: ItemWork>(
    work: &W,
    guard: &ActiveGuard,
    mut results: mpsc::Receiver<W::Outcome>,
) -> Result<(), AppError> {
    let mut group = Vec::with_capacity(GROUP);
    while results.recv_many(&mut group, GROUP).await > 0 {
        let written = work.write(&group).await;
        // The results of the other items could not be written, either.
        let written = written.inspect_err(|_| guard.stop(StopReason::Lost))?;
        match written {
            WriteOutcome::Stored => {}
            WriteOutcome::LeaseLost => {
                guard.stop(StopReason::Lost);
                return Ok(());
            }
            WriteOutcome::StopEarly => guard.stop(StopReason::Enough),
        }
        group.clear();
    }
    Ok(())
}
