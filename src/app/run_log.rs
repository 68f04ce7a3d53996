//! What is told of a run in the background, written down for those who follow it from any server: a
//! moment's worth at a time, and no more than is worth keeping while the database is away.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dsrs::predict::{RunEvent, RunListener};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::clock::now;
use super::run_event::event_json;
use super::run_feed::EventKind;
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
pub(super) struct RunLog {
    gathered: Mutex<Gathered>,
    news: Notify,
}

struct Gathered {
    /// The id of the newest event, written or not.
    newest: i64,
    events: Vec<String>,
    bytes: usize,
}

impl RunLog {
    /// Goes on behind an event.
    pub(super) fn after(newest: i64) -> Self {
        let gathered = Gathered { newest, events: Vec::new(), bytes: 0 };
        Self { gathered: Mutex::new(gathered), news: Notify::new() }
    }

    /// Adds an event.
    pub(super) fn tell(&self, kind: EventKind, data: &str) {
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

    /// Writes what is told, a moment after it was, until dropped.
    pub(super) async fn keep(&self, db: &Db, lease: Lease) {
        loop {
            self.news.notified().await;
            sleep(MOMENT).await;
            self.flush(db, lease).await;
        }
    }

    /// Writes what has gathered. Events are no reason to hold up or to fail a run: what cannot be
    /// written is dropped.
    pub(super) async fn flush(&self, db: &Db, lease: Lease) {
        let Some(row) = self.take() else { return };
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

    fn take(&self) -> Option<EventsRow> {
        let mut gathered = self.gathered();
        let events = std::mem::take(&mut gathered.events);
        gathered.bytes = 0;
        let events = (!events.is_empty()).then(|| format!("[{}]", events.join(",")))?;
        Some(EventsRow { last_id: gathered.newest, events })
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunListener for RunLog {
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
        let log = RunLog::after(7);
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
}
