//! Group commit of finished runs: one writer inserts all runs that have arrived during its
//! previous commit, so that thousands of answers a second wait for a handful of transactions, and a
//! single run does not wait for others.
//!
//! It may not know how a run is made, nor spawn: the caller runs [`RunWriter::run`] as a task.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::run::RunRow;
use super::run_batch;
use super::{Db, Scope, StoreError};
use crate::config::Record;

/// At most this many runs in one statement.
const BATCH_RUNS: usize = 512;
/// A batch is sent once its documents reach this size.
const BATCH_BYTES: usize = 4 << 20;
/// Runs that may wait in memory; the next caller waits for room.
const QUEUE_RUNS: usize = 8192;
/// The same bound by size, in KiB.
const QUEUE_KIB: usize = 32 << 10;
/// A commit has this long, all its tries included: long enough for a Postgres that starts again,
/// since what a run has cost is spent.
const COMMIT_DEADLINE: Duration = Duration::from_secs(8);
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// How often was committed, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecorderStats {
    /// Transactions committed.
    pub commits: u64,
    /// Runs in them.
    pub runs: u64,
    /// Runs that could not be written.
    pub lost: u64,
}

/// Takes finished runs. Cheap to clone.
#[derive(Clone)]
pub struct RunRecorder {
    mode: Record,
    queue: mpsc::Sender<Waiting>,
    room: Arc<Semaphore>,
    closing: CancellationToken,
    counts: Arc<RecorderCounters>,
}

/// The one that writes; run it as a task.
pub struct RunWriter {
    db: Db,
    queue: mpsc::Receiver<Waiting>,
    closing: CancellationToken,
    counts: Arc<RecorderCounters>,
}

struct Waiting {
    scope: Scope,
    run: Arc<RunRow>,
    size: usize,
    ack: Option<oneshot::Sender<Result<(), StoreError>>>,
    _room: OwnedSemaphorePermit,
}

#[derive(Default)]
struct RecorderCounters {
    commits: AtomicU64,
    runs: AtomicU64,
    lost: AtomicU64,
}

/// A recorder and its writer.
pub fn recorder(db: Db, mode: Record) -> (RunRecorder, RunWriter) {
    let (sender, receiver) = mpsc::channel(QUEUE_RUNS);
    let (closing, counts) = (CancellationToken::new(), Arc::new(RecorderCounters::default()));
    let recorder = RunRecorder {
        mode,
        queue: sender,
        room: Arc::new(Semaphore::new(QUEUE_KIB)),
        closing: closing.clone(),
        counts: counts.clone(),
    };
    (recorder, RunWriter { db, queue: receiver, closing, counts })
}

impl RunRecorder {
    /// Hands a finished run over. In [`Record::Ack`] this returns when it is committed, or says
    /// why it could not be. The run is written even if the caller stops waiting.
    pub async fn record(
        &self,
        scope: &Scope,
        run: impl Into<Arc<RunRow>>,
    ) -> Result<(), StoreError> {
        if self.mode == Record::Off {
            return Ok(());
        }
        let run = run.into();
        let size = run.size();
        let room =
            self.room.clone().acquire_many_owned(permits(size)).await.map_err(|_| closed())?;
        let (ack, committed) = match self.mode {
            Record::Ack => {
                let (sender, receiver) = oneshot::channel();
                (Some(sender), Some(receiver))
            }
            _ => (None, None),
        };
        let waiting = Waiting { scope: scope.clone(), run, size, ack, _room: room };
        self.queue.send(waiting).await.map_err(|_| closed())?;
        match committed {
            Some(committed) => committed.await.map_err(|_| closed())?,
            None => Ok(()),
        }
    }

    /// When a run is written: before its answer, after it, or never.
    pub fn mode(&self) -> Record {
        self.mode
    }

    /// What has been written so far.
    pub fn stats(&self) -> RecorderStats {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        RecorderStats {
            commits: read(&self.counts.commits),
            runs: read(&self.counts.runs),
            lost: read(&self.counts.lost),
        }
    }

    /// How many runs wait to be written.
    pub fn queued(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Takes no more runs. The writer ends when everything taken so far is written; wait for its
    /// task before closing the database.
    pub fn close(&self) {
        self.closing.cancel();
    }
}

/// A run larger than the whole room takes all of it.
fn permits(size: usize) -> u32 {
    u32::try_from((size >> 10).clamp(1, QUEUE_KIB)).unwrap_or(u32::MAX)
}

fn closed() -> StoreError {
    StoreError::unavailable("runs are no longer recorded: the server is stopping")
}

impl RunWriter {
    /// Writes until the recorder is closed (or dropped) and nothing is left.
    pub async fn run(mut self) {
        let mut next = None;
        while let Some(first) = self.wait_for_first(next.take()).await {
            // lets those who are about to finish get on this commit instead of the next
            tokio::task::yield_now().await;
            let batch = self.gather(first, &mut next);
            self.write(batch).await;
        }
    }

    async fn wait_for_first(&mut self, left_over: Option<Waiting>) -> Option<Waiting> {
        if left_over.is_some() {
            return left_over;
        }
        tokio::select! {
            biased;
            first = self.queue.recv() => return first,
            () = self.closing.cancelled() => {}
        }
        self.queue.close();
        self.queue.recv().await
    }

    /// Everything that has arrived, up to the limits; what no longer fits goes to `next`.
    fn gather(&mut self, first: Waiting, next: &mut Option<Waiting>) -> Vec<Waiting> {
        let mut bytes = first.size;
        let mut batch = vec![first];
        while batch.len() < BATCH_RUNS
            && let Ok(waiting) = self.queue.try_recv()
        {
            bytes += waiting.size;
            if bytes > BATCH_BYTES {
                *next = Some(waiting);
                break;
            }
            batch.push(waiting);
        }
        batch
    }

    async fn write(&self, batch: Vec<Waiting>) {
        match self.insert(&batch).await {
            // one of them is at fault: the others shall not suffer for it
            Err(StoreError::Internal(_)) if batch.len() > 1 => {
                for waiting in batch {
                    let outcome = self.insert(std::slice::from_ref(&waiting)).await;
                    self.settle(vec![waiting], outcome);
                }
            }
            outcome => self.settle(batch, outcome),
        }
    }

    async fn insert(&self, batch: &[Waiting]) -> Result<(), StoreError> {
        let runs = || batch.iter().map(|waiting| (&waiting.scope, &*waiting.run));
        let mut last = String::new();
        let persistent = async {
            loop {
                match run_batch::insert(self.db.recorder(), runs()).await {
                    Err(StoreError::Unavailable { reason, .. }) => last = reason,
                    outcome => return outcome,
                }
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        };
        match tokio::time::timeout(COMMIT_DEADLINE, persistent).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let reason = format!("runs could not be committed in time: {last}");
                Err(StoreError::unavailable(reason))
            }
        }
    }

    fn settle(&self, batch: Vec<Waiting>, outcome: Result<(), StoreError>) {
        let count = batch.len() as u64;
        if let Err(error) = &outcome {
            self.counts.lost.fetch_add(count, Ordering::Relaxed);
            let first = batch.first().map(|waiting| waiting.run.id);
            tracing::error!(%error, cause = error.cause(), ?first, count, "could not record runs");
        } else {
            self.counts.commits.fetch_add(1, Ordering::Relaxed);
            self.counts.runs.fetch_add(count, Ordering::Relaxed);
        }
        for ack in batch.into_iter().filter_map(|waiting| waiting.ack) {
            // a caller that no longer waits needs no answer
            let _ = ack.send(copy(&outcome));
        }
    }
}

/// The same outcome for each of those who wait.
fn copy(outcome: &Result<(), StoreError>) -> Result<(), StoreError> {
    match outcome {
        Ok(()) => Ok(()),
        Err(StoreError::Unavailable { reason, .. }) => Err(StoreError::unavailable(reason.clone())),
        Err(error) => Err(StoreError::internal(error.cause())),
    }
}
