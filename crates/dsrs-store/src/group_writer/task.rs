//! The task of the writer: gathers writes into groups, repeats a group while the database is not available,
//! and answers the callers. May not know the statements.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::transaction::{commit, commit_records};
use super::{CommitOutcome, GroupWriter, QueuedWrite, Write, WriterCounters};
use crate::{Db, StoreError};

/// At most this many writes in one transaction.
const GROUP_WRITES: usize = 512;

/// A group is sent once its documents reach this size.
const GROUP_BYTES: usize = 4 << 20;

/// A group has this long, all its tries included: long enough for a Postgres that starts again, since what
/// a run has cost is spent.
const DEADLINE: Duration = Duration::from_secs(8);

/// While writes arrive together, groups begin this far apart. A transaction costs Postgres ten times what a write in
/// it costs, so that a few larger groups cost much less than many small ones.
const SPACING: Duration = Duration::from_millis(2);

/// A group of so many writes does not wait for more: the cost of the transaction is a small part of it.
const LARGE_GROUP: usize = 128;

/// The pause before a group is sent again.
const RETRY: Duration = Duration::from_millis(100);

/// The pause before a write is tried again whose job another transaction has locked.
const LOCKED_PAUSE: Duration = Duration::from_millis(5);

/// The one that writes; run it as a task.
pub struct WriterTask {
    db: Db,
    queue: mpsc::Receiver<QueuedWrite>,
    closing: CancellationToken,
    counters: Arc<WriterCounters>,
}

/// When the next group may begin.
struct Pace {
    earliest: Instant,
}

impl Pace {
    fn new() -> Self {
        Self { earliest: Instant::now() }
    }

    /// A group with so many writes begins. One write has arrived alone, so that the next need not wait for others.
    fn begin(&mut self, writes: usize) {
        self.earliest = Instant::now() + if writes > 1 { SPACING } else { Duration::ZERO };
    }

    /// Waits for the time of the next group, unless many writes wait or none will follow.
    async fn wait(&self, waiting: usize, closing: &CancellationToken) {
        if waiting < LARGE_GROUP && Instant::now() < self.earliest {
            tokio::select! {
                () = sleep_until(self.earliest) => {}
                () = closing.cancelled() => {}
            }
        }
        // Those that are about to finish get into this group instead of the next.
        tokio::task::yield_now().await;
    }
}

impl WriterTask {
    pub(super) fn new(db: Db, queue: mpsc::Receiver<QueuedWrite>, writer: &GroupWriter) -> Self {
        let (closing, counters) = (writer.closing.clone(), writer.counters.clone());
        Self { db, queue, closing, counters }
    }

    /// Writes until the writer is closed (or dropped) and nothing is left.
    pub async fn run(mut self) {
        // What is left for the next group.
        let mut rest = VecDeque::new();
        let mut pace = Pace::new();
        while self.wait(&mut rest).await {
            pace.wait(self.queue.len(), &self.closing).await;
            let group = self.gather(&mut rest);
            let count = group.len();
            pace.begin(count);
            let locked = self.write(group).await;
            // Nothing was written: without a pause this loop would ask for the same locks without end.
            if locked.len() == count {
                sleep(LOCKED_PAUSE).await;
            }
            rest.extend(locked);
        }
    }

    /// Waits for a write. False if none will follow.
    async fn wait(&mut self, rest: &mut VecDeque<QueuedWrite>) -> bool {
        if !rest.is_empty() {
            return true;
        }
        let first = tokio::select! {
            biased;
            first = self.queue.recv() => first,
            () = self.closing.cancelled() => {
                // Closed before the rest is read: what is sent later fails at its caller instead of being lost.
                self.queue.close();
                self.queue.recv().await
            }
        };
        rest.extend(first);
        !rest.is_empty()
    }

    /// Everything that is left or has arrived, up to the limits.
    fn gather(&mut self, rest: &mut VecDeque<QueuedWrite>) -> Vec<QueuedWrite> {
        let (mut group, mut bytes) = (Vec::new(), 0);
        while group.len() < GROUP_WRITES
            && let Some(next) = rest.pop_front().or_else(|| self.queue.try_recv().ok())
        {
            bytes += next.size;
            // A write that alone is larger than the limit is a group of its own.
            if bytes > GROUP_BYTES && !group.is_empty() {
                rest.push_front(next);
                break;
            }
            group.push(next);
        }
        group
    }

    /// Writes a group and answers its callers. Returns the writes whose jobs another transaction has locked.
    async fn write(&self, group: Vec<QueuedWrite>) -> Vec<QueuedWrite> {
        let writes: Vec<&Write> = group.iter().map(|queued| &queued.write).collect();
        match commit_in_time(&self.db, &writes, StoreError::is_outage).await {
            Ok(outcomes) => self.settle(group, outcomes),
            Err(error) if error.is_outage() => {
                tracing::error!(
                    cause = error.cause(),
                    count = group.len(),
                    "could not write a group"
                );
                for queued in group {
                    self.answer(queued, Err(copy(&error)));
                }
                Vec::new()
            }
            // One of them is at fault; the others are written.
            Err(_) => {
                for queued in group {
                    let outcome = write_alone(&self.db, &queued.write).await;
                    self.answer(queued, outcome);
                }
                Vec::new()
            }
        }
    }

    fn settle(
        &self,
        group: Vec<QueuedWrite>,
        outcomes: Vec<Option<CommitOutcome>>,
    ) -> Vec<QueuedWrite> {
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
        let mut locked = Vec::new();
        for (queued, outcome) in group.into_iter().zip(outcomes) {
            match outcome {
                Some(outcome) => self.answer(queued, Ok(outcome)),
                // From its arrival: a job that stays locked must not hold its caller up for longer than an outage.
                None if queued.arrived.elapsed() > DEADLINE => {
                    self.answer(queued, Err(locked_job()))
                }
                None => locked.push(queued),
            }
        }
        locked
    }

    fn answer(&self, queued: QueuedWrite, outcome: Result<CommitOutcome, StoreError>) {
        let is_record = matches!(queued.write, Write::Record { .. });
        if outcome.is_ok() {
            self.counters.writes.fetch_add(1, Ordering::Relaxed);
            self.counters.runs.fetch_add(u64::from(is_record), Ordering::Relaxed);
        } else {
            self.counters.lost.fetch_add(u64::from(is_record), Ordering::Relaxed);
        }
        if let Some(ack) = queued.ack {
            // A caller that no longer waits needs no answer.
            let _ = ack.send(outcome);
        } else if let Err(error) = outcome {
            tracing::error!(cause = error.cause(), "could not record a run");
        }
    }
}

/// Writes one in a transaction of its own.
pub(super) async fn write_alone(db: &Db, write: &Write) -> Result<CommitOutcome, StoreError> {
    let start = Instant::now();
    // Callers repeat the other writes themselves, and give them up once it is the statement that fails.
    let is_record = matches!(write, Write::Record { .. });
    let repeated = |error: &StoreError| {
        error.is_outage() || (is_record && matches!(error, StoreError::Unavailable { .. }))
    };
    while start.elapsed() < DEADLINE {
        if let [Some(outcome)] = commit_in_time(db, &[write], repeated).await?[..] {
            return Ok(outcome);
        }
        sleep(LOCKED_PAUSE).await;
    }
    Err(locked_job())
}

/// Commits a group; no outcome means that another transaction has locked the job. Tries again, until the
/// deadline, after errors that are to be `repeated`.
async fn commit_in_time(
    db: &Db,
    writes: &[&Write],
    repeated: impl Fn(&StoreError) -> bool,
) -> Result<Vec<Option<CommitOutcome>>, StoreError> {
    let deadline = Instant::now() + DEADLINE;
    let mut is_sent = false;
    loop {
        let attempt = async {
            // A repeated group may be stored already.
            if !std::mem::replace(&mut is_sent, true) && commit_records(db, writes).await? {
                return Ok(vec![Some(CommitOutcome::Stored); writes.len()]);
            }
            commit(db, writes).await
        };
        let error = match timeout_at(deadline, attempt).await {
            Ok(Ok(outcomes)) => return Ok(outcomes),
            Ok(Err(error)) => error,
            Err(_) => return Err(StoreError::unavailable("a group was not committed in time")),
        };
        // A try that begins at the deadline could only time out, which would hide the error.
        if !repeated(&error) || Instant::now() + RETRY >= deadline {
            return Err(error);
        }
        sleep(RETRY).await;
    }
}

fn locked_job() -> StoreError {
    StoreError::unavailable("another transaction has locked the job")
}

/// The same error for each of those that wait.
fn copy(error: &StoreError) -> StoreError {
    match error {
        StoreError::Unavailable { reason, .. } => StoreError::unavailable(reason.clone()),
        error => StoreError::internal(error.cause()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long the next group waits after one with so many writes, if so many wait.
    async fn pause(writes: usize, waiting: usize, closing: &CancellationToken) -> Duration {
        let mut pace = Pace::new();
        pace.begin(writes);
        let began = Instant::now();
        pace.wait(waiting, closing).await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn groups_begin_apart_only_while_writes_arrive_together() {
        let open = CancellationToken::new();
        assert!(pause(2, 1, &open).await >= SPACING);
        assert_eq!(pause(1, 1, &open).await, Duration::ZERO);
        assert_eq!(pause(2, LARGE_GROUP, &open).await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_writer_that_closes_does_not_wait() {
        let closing = CancellationToken::new();
        closing.cancel();
        assert_eq!(pause(2, 1, &closing).await, Duration::ZERO);
    }
}
