//! Writes the events of background work to the database, where followers on any server read them:
//! gathered for a moment, and at most a fixed size while the database is not available. May not know
//! who emits the events.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::clock::now;
use crate::event::EventKind;
use dsrs_store::Db;
use dsrs_store::job::Lease;
use dsrs_store::persist;
use dsrs_store::run_event;
use dsrs_store::run_progress::EventsRow;

/// How long events are gathered before they are written.
const WRITE_DELAY: Duration = Duration::from_millis(100);

/// How many bytes of events may be pending. Beyond it they are dropped; followers receive a gap.
const MAX_PENDING_BYTES: usize = 1 << 20;

/// The events of one attempt.
pub(crate) struct EventLog {
    pending: Mutex<PendingEvents>,
    added: Notify,
    /// Cancelled when no more events follow.
    closed: CancellationToken,
}

struct PendingEvents {
    /// The id of the newest event, written or not.
    newest: i64,
    events: Vec<String>,
    bytes: usize,
}

impl EventLog {
    /// A log that continues after an event.
    pub(crate) fn after(newest: i64) -> Self {
        let pending = PendingEvents { newest, events: Vec::new(), bytes: 0 };
        let (added, closed) = (Notify::new(), CancellationToken::new());
        Self { pending: Mutex::new(pending), added, closed }
    }

    /// Adds an event.
    pub(crate) fn push(&self, kind: EventKind, data: &str) {
        let event = format!("[\"{}\",{data}]", kind.as_str());
        let mut pending = self.pending();
        pending.newest += 1;
        pending.bytes += event.len();
        pending.events.push(event);
        if pending.bytes > MAX_PENDING_BYTES {
            pending.events.clear();
            pending.bytes = 0;
        }
        drop(pending);
        self.added.notify_one();
    }

    /// Runs `work` and writes events meanwhile; all of them are written when this returns.
    pub(crate) async fn write_during<T>(
        &self,
        db: &Db,
        lease: Lease,
        work: impl Future<Output = T>,
    ) -> T {
        self.run_with_writer(work, |row| write(db, lease, row)).await
    }

    /// A write in progress when the work ends is completed: its events are stored nowhere else.
    async fn run_with_writer<T, W: Future<Output = ()>>(
        &self,
        work: impl Future<Output = T>,
        write: impl Fn(EventsRow) -> W,
    ) -> T {
        let work = async {
            let done = work.await;
            self.closed.cancel();
            done
        };
        tokio::join!(work, self.write_until_closed(write)).0
    }

    async fn write_until_closed<W: Future<Output = ()>>(&self, write: impl Fn(EventsRow) -> W) {
        loop {
            tokio::select! {
                () = self.added.notified() => {}
                () = self.closed.cancelled() => {}
            }
            // Waits for the delay, or less if the log is closed.
            let _ = timeout(WRITE_DELAY, self.closed.cancelled()).await;
            let is_last = self.closed.is_cancelled();
            if let Some(row) = self.take() {
                write(row).await;
            }
            if is_last {
                return;
            }
        }
    }

    fn take(&self) -> Option<EventsRow> {
        let mut pending = self.pending();
        let events = std::mem::take(&mut pending.events);
        pending.bytes = 0;
        let events = (!events.is_empty()).then(|| format!("[{}]", events.join(",")))?;
        Some(EventsRow { last_id: pending.newest, events })
    }

    fn pending(&self) -> MutexGuard<'_, PendingEvents> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Events that the database refuses are dropped: the work itself does not fail.
async fn write(db: &Db, lease: Lease, row: EventsRow) {
    let row = Arc::new(row);
    if let Err(error) = persist(|| run_event::append(db, lease, &row, now())).await {
        let (job, cause) = (lease.job, error.cause());
        tracing::error!(%job, cause, "cannot store events");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_events_become_one_row_and_are_dropped_above_the_limit() {
        let log = EventLog::after(7);
        assert!(log.take().is_none());
        log.push(EventKind::NodeStarted, r#"{"node":"a"}"#);
        log.push(EventKind::NodeCompleted, r#"{"node":"a"}"#);
        let row = log.take().unwrap();
        assert_eq!(row.last_id, 9);
        let events = r#"[["node.started",{"node":"a"}],["node.completed",{"node":"a"}]]"#;
        assert_eq!(row.events, events);
        log.push(EventKind::NodeDelta, &format!("\"{}\"", "x".repeat(MAX_PENDING_BYTES)));
        assert!(log.take().is_none());
        log.push(EventKind::NodeDelta, "1");
        assert_eq!(
            log.take().unwrap(),
            EventsRow { last_id: 11, events: r#"[["node.delta",1]]"#.into() }
        );
    }

    #[tokio::test]
    async fn a_write_in_progress_when_the_work_ends_is_completed() {
        let log = EventLog::after(0);
        let (begun, ended, written) = (Notify::new(), Notify::new(), Mutex::new(Vec::new()));
        let work = async {
            log.push(EventKind::RunStarted, "1");
            begun.notified().await;
            log.push(EventKind::RunWaiting, "2");
            ended.notify_one();
            "done"
        };
        let write = |row: EventsRow| {
            let (begun, ended, written) = (&begun, &ended, &written);
            async move {
                if row.last_id == 1 {
                    begun.notify_one();
                    ended.notified().await;
                }
                // Lets the work end before the write does.
                tokio::task::yield_now().await;
                written.lock().unwrap().push((row.last_id, row.events));
            }
        };
        assert_eq!(log.run_with_writer(work, write).await, "done");
        let rows = [(1, r#"[["run.started",1]]"#), (2, r#"[["run.waiting",2]]"#)];
        assert_eq!(*written.lock().unwrap(), rows.map(|(id, events)| (id, events.to_owned())));
    }
}
