//! Following a run from any server, by what is written of it while it goes on, to its end. Knows no
//! transport.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::time::sleep;
use uuid::Uuid;

use super::run_feed::{Event, EventKind, Told};
use super::{App, AppError};
use crate::store::run::{self, RunRow};
use crate::store::run_event::{self, EventsRow};
use crate::store::{Scope, StoreError};

/// How often is looked when nobody tells of news.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// How long to wait before the database is asked again that could not be reached.
const RETRY: Duration = Duration::from_millis(500);

/// Makes the last event's data of the record of a run that has ended.
pub(crate) type EndJson = fn(run: &RunRow) -> String;

/// One who follows a run by what is written of it.
pub(crate) struct LogFollower {
    app: Arc<App>,
    scope: Scope,
    run: Uuid,
    seen: i64,
    told: VecDeque<Told>,
    news: Arc<Notify>,
    end: EndJson,
    is_over: bool,
}

impl App {
    /// Follows a run from behind an event; `None` when it has ended and its last event was seen.
    pub(crate) async fn run_follow(
        self: &Arc<Self>,
        scope: &Scope,
        run: Uuid,
        seen: u64,
        end: EndJson,
    ) -> Result<Option<LogFollower>, AppError> {
        let status = run::status(scope, &self.db, run).await?;
        let status = status.ok_or_else(|| StoreError::not_found("run", run))?;
        let seen = i64::try_from(seen).unwrap_or(i64::MAX);
        if status.has_ended() && seen > run_event::newest(&self.db, run).await? {
            return Ok(None);
        }
        let (app, scope, news) = (self.clone(), scope.clone(), self.db.news().events_of(run));
        let told = VecDeque::new();
        Ok(Some(LogFollower { app, scope, run, seen, told, news, end, is_over: false }))
    }
}

impl LogFollower {
    /// What comes next; `None` when the run has ended and all was told.
    pub(crate) async fn next(&mut self) -> Option<Told> {
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
                Ok(true) => {}
                Ok(false) => tokio::select! {
                    () = added => {}
                    () = sleep(LOOK_AGAIN) => {}
                },
                Err(StoreError::Unavailable { .. }) => sleep(RETRY).await,
                Err(error) => {
                    tracing::error!(run = %self.run, cause = error.cause(), "a run cannot be followed");
                    return None;
                }
            }
        }
    }

    /// Looks for what is new; false when there is nothing.
    async fn look(&mut self) -> Result<bool, StoreError> {
        if self.read().await? {
            return Ok(true);
        }
        let status = run::status(&self.scope, &self.app.db, self.run).await?;
        if !status.is_some_and(|status| status.has_ended()) {
            return Ok(false);
        }
        // All that is told before the end is written before it.
        if self.read().await? {
            return Ok(true);
        }
        let run = run::get(&self.scope, &self.app.db, self.run).await?;
        let data = (self.end)(&run);
        self.tell(EventKind::of_end(run.status), data);
        self.is_over = true;
        Ok(true)
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
        let first = row.last_id - count + 1;
        self.skip_to(first);
        for (id, (kind, data)) in (first..).zip(events) {
            if id > self.seen
                && let Some(kind) = EventKind::parse(&kind)
            {
                self.tell(kind, data.get().to_owned());
            }
        }
        self.skip_to(row.last_id + 1);
    }

    /// Tells of the events before `next` that are gone.
    fn skip_to(&mut self, next: i64) {
        if self.seen + 1 < next {
            self.told.push_back(Told::Gap(id(self.seen + 1), id(next - 1)));
            self.seen = next - 1;
        }
    }

    fn tell(&mut self, kind: EventKind, data: String) {
        self.seen += 1;
        let (id, data) = (id(self.seen), data.into());
        self.told.push_back(Told::Event(Arc::new(Event { id, kind, data })));
    }
}

fn id(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
