//! Follows background work from any server: reads the log of its events until it ends, and its
//! record then. NOTIFY wakes a follower; it also polls, in case a notification is lost. May not know
//! what the record says.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::time::sleep;
use uuid::Uuid;

use crate::event::{EventKind, NumberedEvent, StreamItem};
use dsrs_store::job::{self, JobRow};
use dsrs_store::run::RunStatus;
use dsrs_store::run_event;
use dsrs_store::run_progress::EventsRow;
use dsrs_store::{Db, Scope, StoreError};

/// How often a follower polls without notifications.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The same while a run waits for a signal, which may take days.
const WAITING_POLL_INTERVAL: Duration = Duration::from_secs(15);

/// The pause before the next query after one that could not reach the database.
const RETRY: Duration = Duration::from_millis(500);

/// A record whose events are in the log.
pub trait Followable: JobRow {
    /// Its progress, once its status is neither `queued` nor `running`.
    fn progress(
        scope: &Scope,
        db: &Db,
        id: Uuid,
    ) -> impl Future<Output = Result<FollowedProgress<Self>, StoreError>> + Send;
}

/// How far background work is.
pub enum FollowedProgress<R> {
    Ended(Box<R>),
    /// It waits for a signal: the data of the event that says so.
    Waiting(String),
    /// It continues.
    Active,
}

/// Follows one record.
pub struct EventLogFollower<R> {
    scope: Scope,
    db: Db,
    id: Uuid,
    seen: i64,
    items: VecDeque<StreamItem<R>>,
    news: Arc<Notify>,
    /// Whether the last item says that the run waits.
    waits: bool,
    is_over: bool,
    record: PhantomData<fn() -> R>,
}

enum PollOutcome {
    /// There are items, or may be.
    Found,
    /// Nothing new: poll again when notified, or after this time.
    Nothing(Duration),
}

impl<R: Followable> EventLogFollower<R> {
    /// Follows a record from the event after `seen`; `None` if it has ended and `seen` was the last
    /// event.
    pub(crate) async fn open(
        db: &Db,
        scope: &Scope,
        id: Uuid,
        seen: u64,
    ) -> Result<Option<Self>, StoreError> {
        let status = job::status_of::<R>(scope, db, id).await?;
        let status = status.ok_or_else(|| StoreError::not_found(R::JOB.as_str(), id))?;
        let newest = run_event::newest(scope, db, id).await?;
        let seen = i64::try_from(seen).unwrap_or(i64::MAX);
        let Some(seen) = resume_position(status, newest, seen) else { return Ok(None) };
        Ok(Some(Self {
            scope: scope.clone(),
            db: db.clone(),
            id,
            seen,
            items: VecDeque::new(),
            news: db.notifications().events_of(id),
            waits: false,
            is_over: false,
            record: PhantomData,
        }))
    }

    /// The next item, or `None` after the last event.
    pub(crate) async fn next(&mut self) -> Option<StreamItem<R>> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Some(item);
            }
            if self.is_over {
                return None;
            }
            let news = self.news.clone();
            let mut added = std::pin::pin!(news.notified());
            // Subscribe before the query, so that no notification is lost between the two.
            added.as_mut().enable();
            match self.poll().await {
                Ok(PollOutcome::Found) => {}
                Ok(PollOutcome::Nothing(pause)) => tokio::select! {
                    () = added => {}
                    () = sleep(pause) => {}
                },
                Err(StoreError::Unavailable { .. }) => sleep(RETRY).await,
                Err(error) => {
                    tracing::error!(id = %self.id, cause = error.cause(), "cannot read events");
                    return None;
                }
            }
        }
    }

    async fn poll(&mut self) -> Result<PollOutcome, StoreError> {
        if self.read_log().await? {
            return Ok(PollOutcome::Found);
        }
        match job::status_of::<R>(&self.scope, &self.db, self.id).await? {
            Some(RunStatus::Waiting) if self.waits => {
                return Ok(PollOutcome::Nothing(WAITING_POLL_INTERVAL));
            }
            Some(RunStatus::Queued | RunStatus::Running) | None => {
                return Ok(PollOutcome::Nothing(POLL_INTERVAL));
            }
            Some(_) => {}
        }
        // All events before an end or a wait are in the log by now.
        if !self.read_log().await? {
            self.read_record().await?;
        }
        Ok(PollOutcome::Found)
    }

    async fn read_record(&mut self) -> Result<(), StoreError> {
        match R::progress(&self.scope, &self.db, self.id).await? {
            FollowedProgress::Ended(record) => {
                self.seen = self.seen.saturating_add(1);
                self.items.push_back(StreamItem::Ended(id(self.seen), record));
                self.is_over = true;
            }
            // Under the id of the event before it: the run's next event continues from there.
            FollowedProgress::Waiting(data) => {
                self.push_event(self.seen, EventKind::RunWaiting, &data);
                self.waits = true;
            }
            FollowedProgress::Active => {}
        }
        Ok(())
    }

    async fn read_log(&mut self) -> Result<bool, StoreError> {
        let rows = run_event::after(&self.scope, &self.db, self.id, self.seen).await?;
        for row in &rows {
            self.push_row(row);
        }
        Ok(!rows.is_empty())
    }

    fn push_row(&mut self, row: &EventsRow) {
        let events: Vec<(String, &RawValue)> =
            serde_json::from_str(&row.events).unwrap_or_default();
        let count = i64::try_from(events.len()).unwrap_or(0);
        let first = row.last_id.saturating_sub(count).saturating_add(1);
        self.skip_to(first);
        for (id, (kind, data)) in (first..).zip(events) {
            if id > self.seen
                && let Some(kind) = EventKind::parse(&kind)
            {
                self.seen = self.seen.saturating_add(1);
                self.waits = kind == EventKind::RunWaiting;
                self.push_event(self.seen, kind, data.get());
            }
        }
        self.skip_to(row.last_id.saturating_add(1));
    }

    /// Reports the missing events before `next` as a gap.
    fn skip_to(&mut self, next: i64) {
        let (first, last) = (self.seen.saturating_add(1), next.saturating_sub(1));
        if first <= last {
            self.items.push_back(StreamItem::Gap(id(first), id(last)));
            self.seen = last;
            self.waits = false;
        }
    }

    fn push_event(&mut self, number: i64, kind: EventKind, data: &str) {
        let event = NumberedEvent { id: id(number), kind, data: data.into() };
        self.items.push_back(StreamItem::Event(Arc::new(event)));
    }
}

/// The event after which a follower continues; `None` if it has read the last one.
fn resume_position(status: RunStatus, newest: Option<i64>, seen: i64) -> Option<i64> {
    if !status.has_ended() {
        // An id above the newest cannot have been read. Using it would skip events to come.
        return Some(seen.min(newest.unwrap_or(0)));
    }
    // Without a log the end is event 1. A higher id was read while there was a log: whether it was
    // the last one is unknown.
    let was_last = newest.map_or(seen == 1, |newest| seen > newest);
    (!was_last).then_some(seen)
}

fn id(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_follower_resumes_after_the_last_event_that_it_can_have_read() {
        for status in [RunStatus::Queued, RunStatus::Running, RunStatus::Waiting] {
            assert_eq!(resume_position(status, Some(7), 5), Some(5));
            assert_eq!(resume_position(status, Some(7), i64::MAX), Some(7));
            assert_eq!(resume_position(status, None, 5), Some(0));
        }
        let ended = |newest, seen| resume_position(RunStatus::Succeeded, newest, seen);
        assert_eq!((ended(Some(7), 7), ended(Some(7), 8)), (Some(7), None));
        assert_eq!((ended(None, 0), ended(None, 1)), (Some(0), None));
        assert_eq!(ended(None, 5), Some(5), "the end may not have been read");
    }
}
