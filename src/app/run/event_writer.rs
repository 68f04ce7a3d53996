//! What is told of a run in the background, written down for those who follow it from any server: a
//! moment's worth at a time, and no more than is worth keeping while the database is away.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dsrs::predict::{RunEvent, RunListener};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::app::clock::now;
use crate::app::run::event::event_json;
use crate::app::run::event_buffer::EventKind;
use crate::store::job::Lease;
use crate::store::run_event::{self, EventsRow};
use crate::store::{Db, StoreError};

/// How long events gather before they are written.
const MOMENT: Duration = Duration::from_millis(100);

/// How long to wait before the database is asked again that could not be reached.
const RETRY: Duration = Duration::from_millis(500);

/// What may gather, in bytes; beyond it what has gathered is dropped, and told as a gap.
const ROOM: usize = 1 << 20;

/// The events of one attempt.
pub(crate) struct EventLog {
    gathered: Mutex<PendingEvents>,
    news: Notify,
    /// Nothing is told any more.
    closed: CancellationToken,
}

struct PendingEvents {
    /// The id of the newest event, written or not.
    newest: i64,
    events: Vec<String>,
    bytes: usize,
}

impl EventLog {
    /// Goes on behind an event.
    pub(crate) fn after(newest: i64) -> Self {
        let gathered = PendingEvents { newest, events: Vec::new(), bytes: 0 };
        let (news, closed) = (Notify::new(), CancellationToken::new());
        Self { gathered: Mutex::new(gathered), news, closed }
    }

    /// Adds an event.
    pub(crate) fn tell(&self, kind: EventKind, data: &str) {
        let event = format!("[\"{}\",{data}]", kind.as_str());
        let mut gathered = self.gathered();
        gathered.newest += 1;
        gathered.bytes += event.len();
        gathered.events.push(event);
        if gathered.bytes > ROOM {
            gathered.events.clear();
            gathered.bytes = 0;
        }
        drop(gathered);
        self.news.notify_one();
    }

    /// Works, and meanwhile writes down what is told; all of it is written when this is done.
    pub(crate) async fn write_during<T>(
        &self,
        db: &Db,
        lease: Lease,
        work: impl Future<Output = T>,
    ) -> T {
        self.beside(work, |row| write(db, lease, row)).await
    }

    /// What is being written when the work ends is written to its end: it is nowhere else any more.
    async fn beside<T, W: Future<Output = ()>>(
        &self,
        work: impl Future<Output = T>,
        write: impl Fn(EventsRow) -> W,
    ) -> T {
        let work = async {
            let done = work.await;
            self.closed.cancel();
            done
        };
        tokio::join!(work, self.keep(write)).0
    }

    /// Writes what is told, a moment after it was, until nothing is told any more.
    async fn keep<W: Future<Output = ()>>(&self, write: impl Fn(EventsRow) -> W) {
        loop {
            tokio::select! {
                () = self.news.notified() => {}
                () = self.closed.cancelled() => {}
            }
            // However it ends, the moment is over.
            let _ = timeout(MOMENT, self.closed.cancelled()).await;
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
        let mut gathered = self.gathered();
        let events = std::mem::take(&mut gathered.events);
        gathered.bytes = 0;
        let events = (!events.is_empty()).then(|| format!("[{}]", events.join(",")))?;
        Some(EventsRow { last_id: gathered.newest, events })
    }

    fn gathered(&self) -> MutexGuard<'_, PendingEvents> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Events are no reason to fail a run: what cannot be written is dropped.
async fn write(db: &Db, lease: Lease, row: EventsRow) {
    loop {
        match run_event::append(db, lease, &row, now()).await {
            Err(StoreError::Unavailable { .. }) => sleep(RETRY).await,
            Err(error) => {
                let (run, cause) = (lease.job, error.cause());
                return tracing::error!(%run, cause, "events are not kept");
            }
            Ok(_) => return,
        }
    }
}

impl RunListener for EventLog {
    fn hear(&self, event: RunEvent<'_>) {
        let (kind, data) = event_json(event);
        self.tell(kind, &data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gathers_is_written_in_one_row_and_what_is_too_much_is_dropped() {
        let log = EventLog::after(7);
        assert!(log.take().is_none());
        log.tell(EventKind::NodeStarted, r#"{"node":"a"}"#);
        log.tell(EventKind::NodeCompleted, r#"{"node":"a"}"#);
        let row = log.take().unwrap();
        assert_eq!(row.last_id, 9);
        let events = r#"[["node.started",{"node":"a"}],["node.completed",{"node":"a"}]]"#;
        assert_eq!(row.events, events);
        log.tell(EventKind::NodeDelta, &format!("\"{}\"", "x".repeat(ROOM)));
        assert!(log.take().is_none());
        log.tell(EventKind::NodeDelta, "1");
        assert_eq!(
            log.take().unwrap(),
            EventsRow { last_id: 11, events: r#"[["node.delta",1]]"#.into() }
        );
    }

    #[tokio::test]
    async fn what_is_being_written_when_the_work_ends_is_written_to_its_end() {
        let log = EventLog::after(0);
        let (begun, ended, written) = (Notify::new(), Notify::new(), Mutex::new(Vec::new()));
        let work = async {
            log.tell(EventKind::RunStarted, "1");
            begun.notified().await;
            log.tell(EventKind::RunWaiting, "2");
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
                // Longer than the work takes to be over.
                tokio::task::yield_now().await;
                written.lock().unwrap().push((row.last_id, row.events));
            }
        };
        assert_eq!(log.beside(work, write).await, "done");
        let rows = [(1, r#"[["run.started",1]]"#), (2, r#"[["run.waiting",2]]"#)];
        assert_eq!(*written.lock().unwrap(), rows.map(|(id, events)| (id, events.to_owned())));
    }
}
