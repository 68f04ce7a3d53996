//! The items of a job that has many, whatever they are: those that are left are read page by page, so
//! many are at work at a time, and what came of them is written in groups while others go on. Reading,
//! working and writing wait for each other only where one is far behind, so that neither a page nor a
//! commit makes a pause. Knows no table.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::app::job::active::{ActiveGuard, StopReason};
use crate::app::{App, AppError, spawn_named};

/// Results that are written at a time. As many may wait, and no item begins while more would.
const GROUP: usize = 64;

/// Items that wait for their turn, so that the next page is read before the last one is used up.
const WAITING: usize = 64;

/// Items that follow each other, without those that have ended.
pub(crate) struct ItemPage<I> {
    /// The items; there may be none.
    pub(crate) items: Vec<I>,
    /// The position behind which the next page begins; `None` on the last page.
    pub(crate) next: Option<i32>,
}

/// What is done with the items of a job.
pub(crate) trait ItemWork: Send + Sync + 'static {
    /// An item that is left. Copies of it are cheap.
    type Item: Clone + Send + 'static;

    /// What came of one.
    type Ended: Send + Sync + 'static;

    /// What a task is called that works on one.
    const TASK: &'static str;

    /// The items behind a position; -1 for the first.
    fn page(
        &self,
        after: i32,
    ) -> impl Future<Output = Result<ItemPage<Self::Item>, AppError>> + Send;

    /// Works on an item to its end; `None` when it was stopped, and is to be done another time.
    fn work(
        &self,
        guard: &ActiveGuard,
        item: Self::Item,
    ) -> impl Future<Output = Option<Self::Ended>> + Send;

    /// What came of an item whose task broke.
    fn broken(&self, item: &Self::Item) -> Self::Ended;

    /// Writes what came of some items.
    fn write(
        &self,
        ended: &[Self::Ended],
    ) -> impl Future<Output = Result<Written, AppError>> + Send;
}

/// What is to be done once some items are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Go on.
    Kept,
    /// Nothing was written: the job is another's.
    Lost,
    /// No item more is wanted.
    Enough,
}

/// How far the work came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// Every item has ended.
    Through,
    /// Some have not.
    Part,
}

type Running<E> = FuturesUnordered<BoxFuture<'static, Option<E>>>;

/// Works on all items that are left, `at_once` at a time, until they have ended, the job is stopped, or
/// the server ends.
pub(crate) async fn work_on<W: ItemWork>(
    app: &App,
    work: &Arc<W>,
    guard: &Arc<ActiveGuard>,
    at_once: usize,
) -> Result<Came, AppError> {
    let (reading, left) = mpsc::channel(WAITING);
    let (ending, ended) = mpsc::channel(GROUP);
    let (read, came, written) = tokio::join!(
        read_all(work.as_ref(), reading),
        run_all(app, work, guard, at_once, left, ending),
        write_all(work.as_ref(), guard, ended)
    );
    written?;
    read?;
    Ok(came)
}

/// Reads pages until the last one, or nobody wants more.
async fn read_all<W: ItemWork>(work: &W, left: mpsc::Sender<W::Item>) -> Result<(), AppError> {
    let mut after = Some(-1);
    while let Some(behind) = after {
        let page = work.page(behind).await?;
        for item in page.items {
            if left.send(item).await.is_err() {
                return Ok(());
            }
        }
        after = page.next;
    }
    Ok(())
}

async fn run_all<W: ItemWork>(
    app: &App,
    work: &Arc<W>,
    guard: &Arc<ActiveGuard>,
    at_once: usize,
    mut left: mpsc::Receiver<W::Item>,
    ended: mpsc::Sender<W::Ended>,
) -> Came {
    let (mut running, mut came) = (Running::new(), Came::Through);
    let stop = guard.cancellation();
    loop {
        tokio::select! {
            item = left.recv(), if running.len() < at_once => match item {
                None => break,
                Some(_) if stop.is_cancelled() || app.shutdown.is_draining() => {
                    came = Came::Part;
                    break;
                }
                Some(item) => running.push(start(work, guard, item)),
            },
            Some(item) = running.next(), if !running.is_empty() => {
                came = hand_on(item, &ended, came).await;
            }
        }
    }
    // Whoever reads is not to wait for those that are still at work.
    drop(left);
    while let Some(item) = running.next().await {
        came = hand_on(item, &ended, came).await;
    }
    came
}

/// Starts an item; one whose task breaks has a result all the same.
fn start<W: ItemWork>(
    work: &Arc<W>,
    guard: &Arc<ActiveGuard>,
    item: W::Item,
) -> BoxFuture<'static, Option<W::Ended>> {
    let (own, own_guard, own_item) = (work.clone(), guard.clone(), item.clone());
    let task = spawn_named(W::TASK, async move { own.work(&own_guard, own_item).await });
    let (task, work) = (AbortOnDropHandle::new(task), work.clone());
    async move {
        match task.await {
            Ok(Some(ended)) => ended,
            _ => Some(work.broken(&item)),
        }
    }
    .boxed()
}

/// Hands what came of one item on to be written.
async fn hand_on<E>(item: Option<E>, ended: &mpsc::Sender<E>, came: Came) -> Came {
    let Some(item) = item else { return Came::Part };
    // Nobody writes any more when the job is another's.
    if ended.send(item).await.is_ok() { came } else { Came::Part }
}

/// Writes what came of items, as much at a time as there is by then.
async fn write_all<W: ItemWork>(
    work: &W,
    guard: &ActiveGuard,
    mut ended: mpsc::Receiver<W::Ended>,
) -> Result<(), AppError> {
    let mut group = Vec::with_capacity(GROUP);
    while ended.recv_many(&mut group, GROUP).await > 0 {
        let written = work.write(&group).await;
        // What the others would come to could not be written, either.
        let written = written.inspect_err(|_| guard.stop(StopReason::Lost))?;
        match written {
            Written::Kept => {}
            Written::Lost => {
                guard.stop(StopReason::Lost);
                return Ok(());
            }
            Written::Enough => guard.stop(StopReason::Enough),
        }
        group.clear();
    }
    Ok(())
}
