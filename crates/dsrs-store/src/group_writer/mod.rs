//! Group commit: one task of a process writes what many runs have to store. All that arrives during a
//! commit goes into the next one, so that thousands of writes a second wait for a handful of transactions,
//! and a single write does not wait for others. Every caller is answered after the commit.
//!
//! `transaction` writes a group, `task` gathers it, and the other files have the statements. May not know
//! how a run is executed, nor spawn: the caller runs [`WriterTask::run`] as a task.

mod checkpoint;
mod end;
mod event;
mod lease;
mod start;
mod task;
mod transaction;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::job::{JobType, Lease};
use super::packed_checkpoint::PackedCheckpoint;
use super::packed_run::PackedRun;
use super::run::RunRow;
use super::run_progress::{EventsRow, RecordedCheckpoints};
use super::{Db, Scope, StoreError};

pub(super) use checkpoint::{NodeCheckpoints, write_checkpoints};
pub use start::begin;
pub use task::WriterTask;

/// Writes that may wait in memory; the next caller waits for room.
const QUEUE_WRITES: usize = 8192;

/// The same bound by size, in KiB.
const QUEUE_KIB: usize = 32 << 10;

/// The size of a write besides its documents.
const BASE_BYTES: usize = 256;

/// What is to be written. Documents are shared, so that a repeated write copies none.
#[derive(Clone, Debug)]
pub(super) enum Write {
    /// The record of a run that has ended, which a client waited for.
    Record { run: Arc<PackedRun> },
    /// A queued run and its job.
    Queue {
        /// The caller.
        scope: Scope,
        run: Arc<RunRow>,
        kind: JobType,
        /// The options of the request, as JSON text for the worker.
        request: Arc<str>,
    },
    /// A queued run that the engine has.
    Add {
        /// The caller.
        scope: Scope,
        run: Arc<RunRow>,
    },
    /// The start of an attempt at a run that the engine has.
    Begin {
        /// The caller who requested the run.
        scope: Scope,
        /// The run as it was accepted.
        run: Arc<RunRow>,
        /// When the attempt started.
        at: DateTime<Utc>,
    },
    /// The start of an attempt.
    Start {
        /// The attempt.
        lease: Lease,
        kind: JobType,
        /// When it started.
        at: DateTime<Utc>,
    },
    /// The checkpoint of a node.
    Checkpoint {
        /// The caller who requested the run.
        scope: Scope,
        /// The attempt.
        lease: Lease,
        /// The checkpoint.
        node: Arc<PackedCheckpoint>,
        /// When the node ended.
        at: DateTime<Utc>,
    },
    /// Events of a claimed run.
    Events {
        /// The attempt.
        lease: Lease,
        row: Arc<EventsRow>,
        /// When they were written.
        at: DateTime<Utc>,
    },
    /// The end of a background run.
    End {
        /// The attempt.
        lease: Lease,
        /// The final record, of the caller who requested the run.
        run: Arc<PackedRun>,
        /// The checkpoints in the record.
        checkpoints: RecordedCheckpoints,
    },
}

impl Write {
    /// The attempt that must hold its job; `None` if no job is involved.
    fn lease(&self) -> Option<Lease> {
        match self {
            Self::Record { .. } | Self::Queue { .. } | Self::Add { .. } | Self::Begin { .. } => {
                None
            }
            Self::Start { lease, .. }
            | Self::Checkpoint { lease, .. }
            | Self::Events { lease, .. }
            | Self::End { lease, .. } => Some(*lease),
        }
    }

    /// About how many bytes it has.
    fn size(&self) -> usize {
        let documents = match self {
            Self::Record { run } | Self::End { run, .. } => run.size(),
            Self::Add { run, .. } | Self::Begin { run, .. } => run.size(),
            Self::Queue { run, request, .. } => run.size() + request.len(),
            Self::Start { .. } => 0,
            Self::Checkpoint { node, .. } => node.size(),
            Self::Events { row, .. } => row.events.len(),
        };
        BASE_BYTES + documents
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is stored, now or by an earlier try.
    Stored,
    /// The run has more checkpoints than its final record includes: nothing is written.
    Behind,
    /// The lease is lost: nothing is written.
    LeaseLost,
}

impl CommitOutcome {
    /// Whether it is stored.
    #[must_use]
    pub fn is_stored(self) -> bool {
        self == Self::Stored
    }
}

/// How often was committed, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterStats {
    /// Transactions committed.
    pub commits: u64,
    /// Writes in them.
    pub writes: u64,
    /// Runs of waiting clients in them.
    pub runs: u64,
    /// Such runs that could not be written.
    pub lost: u64,
}

#[derive(Debug, Default)]
struct WriterCounters {
    commits: AtomicU64,
    writes: AtomicU64,
    runs: AtomicU64,
    lost: AtomicU64,
}

/// Takes writes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct GroupWriter {
    queue: mpsc::Sender<QueuedWrite>,
    room: Arc<Semaphore>,
    closing: CancellationToken,
    counters: Arc<WriterCounters>,
}

type Ack = oneshot::Sender<Result<CommitOutcome, StoreError>>;

#[derive(Debug)]
struct QueuedWrite {
    write: Write,
    size: usize,
    arrived: Instant,
    ack: Option<Ack>,
    _room: OwnedSemaphorePermit,
}

/// A writer, and the task that must run for it.
pub(super) fn open(db: Db) -> (GroupWriter, WriterTask) {
    let (sender, receiver) = mpsc::channel(QUEUE_WRITES);
    let writer = GroupWriter {
        queue: sender,
        room: Arc::new(Semaphore::new(QUEUE_KIB)),
        closing: CancellationToken::new(),
        counters: Arc::default(),
    };
    let task = WriterTask::new(db, receiver, &writer);
    (writer, task)
}

impl GroupWriter {
    /// Writes, and returns once it is committed. It is written even if the caller stops waiting.
    pub(super) async fn write(&self, write: Write) -> Result<CommitOutcome, StoreError> {
        let (ack, committed) = oneshot::channel();
        self.send(write, Some(ack)).await?;
        committed.await.map_err(|_| closed())?
    }

    /// Queues a write that nobody waits for.
    pub(super) async fn enqueue(&self, write: Write) -> Result<(), StoreError> {
        self.send(write, None).await
    }

    async fn send(&self, write: Write, ack: Option<Ack>) -> Result<(), StoreError> {
        let size = write.size();
        let room = self.room.clone().acquire_many_owned(permits(size)).await;
        let (arrived, room) = (Instant::now(), room.map_err(|_| closed())?);
        let queued = QueuedWrite { write, size, arrived, ack, _room: room };
        self.queue.send(queued).await.map_err(|_| closed())
    }

    /// What has been written so far.
    pub fn stats(&self) -> WriterStats {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        WriterStats {
            commits: read(&self.counters.commits),
            writes: read(&self.counters.writes),
            runs: read(&self.counters.runs),
            lost: read(&self.counters.lost),
        }
    }

    /// How many writes wait.
    pub fn queued(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Takes no more writes. The task ends when everything taken so far is written; wait for it before
    /// closing the database.
    pub fn close(&self) {
        self.closing.cancel();
    }
}

/// A write larger than the whole room takes all of it.
fn permits(size: usize) -> u32 {
    u32::try_from((size >> 10).clamp(1, QUEUE_KIB)).unwrap_or(u32::MAX)
}

fn closed() -> StoreError {
    StoreError::unavailable("nothing is written any more: the server is stopping")
}

impl Db {
    /// Writes by the writer of this process, or alone if it has none.
    pub(super) async fn write(&self, write: Write) -> Result<CommitOutcome, StoreError> {
        match self.writer.get() {
            Some(writer) => writer.write(write).await,
            None => task::write_alone(self, &write).await,
        }
    }
}
