//! Following a run, or an optimization, from any server, by what is written of it while it goes on, to
//! its end. Knows no transport.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::time::sleep;
use uuid::Uuid;

use crate::app::run::event::waiting_json;
use crate::app::run::event_buffer::{EventKind, NumberedEvent, StreamItem};
use crate::app::run::merged_record::{UnfinishedRun, is_waiting, members};
use crate::app::{App, AppError};
use crate::store::optimization::{self, OptimizationRow};
use crate::store::run::{self, RunRow, RunStatus};
use crate::store::run_event::{self, EventsRow};
use crate::store::{Db, Scope, StoreError, background_run};

/// How often is looked when nobody tells of news.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// The same while the run waits, which may be for days.
const LOOK_AT_WAITING: Duration = Duration::from_secs(15);

/// How long to wait before the database is asked again that could not be reached.
const RETRY: Duration = Duration::from_millis(500);

/// What is followed, and what makes the last event's data of its record, once it has ended.
#[derive(Clone, Copy)]
pub(crate) enum FollowTarget {
    /// A run.
    Run(fn(run: &RunRow) -> String),
    /// An optimization.
    Optimization(fn(optimization: &OptimizationRow) -> String),
}

impl FollowTarget {
    async fn status(
        self,
        scope: &Scope,
        db: &Db,
        id: Uuid,
    ) -> Result<Option<RunStatus>, StoreError> {
        match self {
            Self::Run(_) => run::status(scope, db, id).await,
            Self::Optimization(_) => optimization::status(scope, db, id).await,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Optimization(_) => "optimization",
        }
    }
}

/// One who follows something by what is written of it.
pub(crate) struct EventLogFollower {
    app: Arc<App>,
    scope: Scope,
    run: Uuid,
    seen: i64,
    told: VecDeque<StreamItem>,
    news: Arc<Notify>,
    followed: FollowTarget,
    /// The last that was told is that the run waits.
    waits: bool,
    is_over: bool,
}

/// What came of a look.
enum PollOutcome {
    /// There is more to tell, or to look at.
    Found,
    /// Nothing: look again when told of news, or after so long.
    Nothing(Duration),
}

impl App {
    /// Follows something from behind an event; `None` when it has ended and its last event was seen.
    pub(crate) async fn follow(
        self: &Arc<Self>,
        scope: &Scope,
        run: Uuid,
        seen: u64,
        followed: FollowTarget,
    ) -> Result<Option<EventLogFollower>, AppError> {
        let status = followed.status(scope, &self.db, run).await?;
        let status = status.ok_or_else(|| StoreError::not_found(followed.name(), run))?;
        let newest = run_event::newest(&self.db, run).await?;
        let seen = i64::try_from(seen).unwrap_or(i64::MAX);
        let Some(seen) = behind(status, newest, seen) else { return Ok(None) };
        let (app, scope, news) = (self.clone(), scope.clone(), self.db.news().events_of(run));
        let (told, waits, is_over) = (VecDeque::new(), false, false);
        Ok(Some(EventLogFollower { app, scope, run, seen, told, news, followed, waits, is_over }))
    }
}

/// From behind which event a run is told on to one who says what was seen; `None` when that was the
/// last.
fn behind(status: RunStatus, newest: Option<i64>, seen: i64) -> Option<i64> {
    if !status.has_ended() {
        // What nobody has told cannot have been seen: ids that come are not to be missed for it.
        return Some(seen.min(newest.unwrap_or(0)));
    }
    // Of a run of which nothing is written the last event is the first. Who has seen more read it
    // when it was: whether to the end, nobody knows any more.
    let was_all = newest.map_or(seen == 1, |newest| seen > newest);
    (!was_all).then_some(seen)
}

impl EventLogFollower {
    /// What comes next; `None` when the run has ended and all was told.
    pub(crate) async fn next(&mut self) -> Option<StreamItem> {
        loop {
            if let Some(told) = self.told.pop_front() {
                return Some(told);
            }
            if self.is_over {
                return None;
            }
            let news = self.news.clone();
            let mut added = std::pin::pin!(news.notified());
            // Before the look, so that nothing is added unheard between the two.
            added.as_mut().enable();
            match self.look().await {
                Ok(PollOutcome::Found) => {}
                Ok(PollOutcome::Nothing(pause)) => tokio::select! {
                    () = added => {}
                    () = sleep(pause) => {}
                },
                Err(StoreError::Unavailable { .. }) => sleep(RETRY).await,
                Err(error) => {
                    tracing::error!(run = %self.run, cause = error.cause(), "a run cannot be followed");
                    return None;
                }
            }
        }
    }

    /// Looks for what is new.
    async fn look(&mut self) -> Result<PollOutcome, StoreError> {
        if self.read().await? {
            return Ok(PollOutcome::Found);
        }
        match self.followed.status(&self.scope, &self.app.db, self.run).await? {
            Some(RunStatus::Waiting) if self.waits => {
                return Ok(PollOutcome::Nothing(LOOK_AT_WAITING));
            }
            Some(RunStatus::Queued | RunStatus::Running) | None => {
                return Ok(PollOutcome::Nothing(LOOK_AGAIN));
            }
            Some(_) => {}
        }
        // All that is told before it ends or parks is written before that.
        if !self.read().await? {
            self.tell_how_it_stands().await?;
        }
        Ok(PollOutcome::Found)
    }

    /// Tells of what has ended, or waits, by its record.
    async fn tell_how_it_stands(&mut self) -> Result<(), StoreError> {
        let (scope, db) = (&self.scope, &self.app.db);
        let end = match self.followed {
            FollowTarget::Run(end) => end,
            FollowTarget::Optimization(end) => {
                let found = optimization::get(scope, db, self.run).await?;
                self.tell(EventKind::of_optimization(found.status), end(&found));
                self.is_over = true;
                return Ok(());
            }
        };
        let ended = background_run::nodes(scope, db, self.run).await?;
        let run = run::get(scope, db, self.run).await?;
        if run.status.has_ended() {
            self.tell(EventKind::of_end(run.status), end(&run));
            self.is_over = true;
        } else if run.status == RunStatus::Waiting {
            self.tell_wait(UnfinishedRun { run, ended });
        }
        Ok(())
    }

    /// Under the id of the event before it: the run counts on from there.
    fn tell_wait(&mut self, earlier: UnfinishedRun) {
        let nodes = members(&earlier.so_far().nodes).into_iter();
        let names: Vec<_> =
            nodes.filter(|(_, node)| is_waiting(node)).map(|(name, _)| name.to_string()).collect();
        let (id, data) = (id(self.seen), waiting_json(self.run, &names).into());
        self.told.push_back(StreamItem::Event(Arc::new(NumberedEvent {
            id,
            kind: EventKind::RunWaiting,
            data,
        })));
        self.waits = true;
    }

    async fn read(&mut self) -> Result<bool, StoreError> {
        let rows = run_event::after(&self.scope, &self.app.db, self.run, self.seen).await?;
        for row in &rows {
            self.take(row);
        }
        Ok(!rows.is_empty())
    }

    fn take(&mut self, row: &EventsRow) {
        let events: Vec<(String, &RawValue)> =
            serde_json::from_str(&row.events).unwrap_or_default();
        let count = i64::try_from(events.len()).unwrap_or(0);
        let first = row.last_id.saturating_sub(count).saturating_add(1);
        self.skip_to(first);
        for (id, (kind, data)) in (first..).zip(events) {
            if id > self.seen
                && let Some(kind) = EventKind::parse(&kind)
            {
                self.tell(kind, data.get().to_owned());
            }
        }
        self.skip_to(row.last_id.saturating_add(1));
    }

    /// Tells of the events before `next` that are gone.
    fn skip_to(&mut self, next: i64) {
        let (first, last) = (self.seen.saturating_add(1), next.saturating_sub(1));
        if first <= last {
            self.told.push_back(StreamItem::Gap(id(first), id(last)));
            self.seen = last;
            self.waits = false;
        }
    }

    fn tell(&mut self, kind: EventKind, data: String) {
        self.seen = self.seen.saturating_add(1);
        self.waits = kind == EventKind::RunWaiting;
        let (id, data) = (id(self.seen), data.into());
        self.told.push_back(StreamItem::Event(Arc::new(NumberedEvent { id, kind, data })));
    }
}

fn id(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_back_is_told_on_from_what_can_have_been_told() {
        let active_work = [RunStatus::Queued, RunStatus::Running, RunStatus::Waiting];
        for status in active_work {
            assert_eq!(behind(status, Some(7), 5), Some(5));
            assert_eq!(behind(status, Some(7), i64::MAX), Some(7));
            assert_eq!(behind(status, None, 5), Some(0));
        }
        let done = RunStatus::Succeeded;
        assert_eq!((behind(done, Some(7), 7), behind(done, Some(7), 8)), (Some(7), None));
        assert_eq!((behind(done, None, 0), behind(done, None, 1)), (Some(0), None));
        assert_eq!(behind(done, None, 5), Some(5), "the end may not have been seen");
    }
}
