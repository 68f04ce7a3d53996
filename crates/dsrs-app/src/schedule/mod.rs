//! Schedules: created, changed, deleted, fired by hand; their firings listed. `calendar` has their times, `fire` starts
//! their work. What starts work is given by a higher room ([`WorkStarter`]): a firing is the same request as that of a
//! client. May not know HTTP.

pub(crate) mod calendar;
mod cron;
pub(crate) mod fire;
pub(crate) mod policy;

use dsrs_api::plain_name::PlainName;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use dsrs::problem::{At, Code, Problems};
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::clock::now;
use crate::precondition::Precondition;
use crate::{App, AppError, Identity, Invalid};
use calendar::{Calendar, LocalTime};
use dsrs_store::graph::{self, GraphRef, VersionSelection};
use dsrs_store::schedule::{self, MOST_SCHEDULES, ScheduleRow, ScheduleSettings};
use dsrs_store::schedule_firing::{self, FiringRow};
use dsrs_store::{ListQuery, Page, Scope, StoreError};
use policy::{CatchUp, Overlap, ScheduleTarget};

/// Work that is to be started as a client would.
pub struct WorkRequest {
    /// The caller.
    pub identity: Arc<Identity>,
    /// The kind of work.
    pub target: ScheduleTarget,
    pub graph: Uuid,
    pub body: String,
    /// The idempotency key, and how long a claim of it counts.
    pub key: Uuid,
    pub lease: Duration,
}

/// What became of a request.
pub enum WorkAnswer {
    Accepted(Uuid),
    /// It is refused for good, with a problem as JSON text.
    Refused(String),
    /// It cannot be accepted now: the problem as JSON text, and when to try again.
    Later(String, Option<u64>),
}

/// Starts work.
pub trait WorkStarter: Send + Sync {
    /// Starts work once for each key.
    fn start<'a>(&'a self, app: &'a Arc<App>, work: WorkRequest) -> BoxFuture<'a, WorkAnswer>;

    /// A refusal as a problem, as JSON text.
    fn problem(&self, refusal: StartRefusal) -> String;
}

/// Why work is not even requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartRefusal {
    /// The key was revoked or has expired.
    KeyEnded,
    /// A limit of the key is reached.
    Limit,
}

/// What a request sets of a schedule; what is `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct ScheduleChange {
    pub name: Option<PlainName>,
    /// The text for people.
    pub description: Option<String>,
    /// The cron expression.
    pub cron: Option<String>,
    pub time_zone: Option<String>,
    /// What happens while earlier work is in progress.
    pub overlap: Option<Overlap>,
    /// What happens with times that were missed.
    pub catch_up: Option<CatchUp>,
    pub graph: Option<GraphRef>,
    /// The kind of work.
    pub target: Option<ScheduleTarget>,
    /// The body of the request, as JSON text.
    pub request: Option<String>,
    /// Whether it starts anything.
    pub enabled: Option<bool>,
    /// The problems found so far.
    pub faults: Problems,
}

/// A schedule with its next times.
pub struct ScheduleWithTimes {
    pub row: ScheduleRow,
    /// Its next times; none while it is disabled.
    pub next: Vec<DateTime<Utc>>,
}

/// What a schedule would be, and the problems found so far.
pub struct ScheduleDraft {
    /// The settings, as far as they could be read.
    pub settings: ScheduleSettings,
    /// Whether graph, kind of work and request are known, and are to be checked as a request.
    pub names_work: bool,
    pub problems: Problems,
}

/// The next times that are shown.
const SHOWN_TIMES: usize = 5;

impl ScheduleWithTimes {
    pub(crate) fn of(row: ScheduleRow) -> Self {
        let calendar = Calendar::zone(&row.settings.time_zone)
            .and_then(|zone| Calendar::read(&row.settings.cron, zone).ok());
        let next = match (row.next_at, calendar) {
            (Some(first), Some(calendar)) => {
                let mut next = vec![first];
                next.extend(calendar.next(first, SHOWN_TIMES - 1));
                next
            }
            _ => Vec::new(),
        };
        Self { row, next }
    }
}

impl App {
    /// A new schedule; nothing is stored.
    pub async fn schedule_new(
        &self,
        scope: &Scope,
        change: &ScheduleChange,
    ) -> Result<ScheduleDraft, AppError> {
        let empty = ScheduleSettings {
            name: String::new(),
            description: String::new(),
            cron: String::new(),
            time_zone: "UTC".to_owned(),
            overlap: Overlap::Skip.as_str().to_owned(),
            catch_up: CatchUp::None.as_str().to_owned(),
            graph_id: Uuid::nil(),
            graph_name: String::new(),
            target: String::new(),
            request: String::new(),
            enabled: true,
        };
        let mut draft = self.schedule_draft(scope, empty, change).await?;
        let has_all = change.target.is_some() && change.graph.is_some() && change.request.is_some();
        draft.names_work &= has_all;
        Ok(draft)
    }

    /// A schedule with a change; nothing is stored.
    async fn schedule_draft(
        &self,
        scope: &Scope,
        settings: ScheduleSettings,
        change: &ScheduleChange,
    ) -> Result<ScheduleDraft, AppError> {
        let mut problems = change.faults.clone();
        let mut settings = set(settings, change);
        let mut names_work = true;
        if let Some(graph) = &change.graph {
            match graph::pin(scope, &self.db, graph, VersionSelection::default()).await {
                Ok(found) => (settings.graph_id, settings.graph_name) = (found.id, found.name),
                Err(StoreError::NotFound { what, name }) => {
                    let detail = format!("there is no {what} `{name}`");
                    problems.add(&At::Root.key("graph"), Code::InvalidValue, detail);
                    names_work = false;
                }
                Err(error) => return Err(error.into()),
            }
        }
        check_times(&settings.cron, &mut settings.time_zone, &mut problems);
        Ok(ScheduleDraft { settings, names_work, problems })
    }

    /// Stores a new schedule.
    pub async fn schedule_create(
        &self,
        scope: &Scope,
        settings: &ScheduleSettings,
    ) -> Result<ScheduleWithTimes, AppError> {
        let next_at = next_time(settings, self.db.now().await?);
        let id = Uuid::now_v7();
        let created = schedule::create(scope, &self.db, id, settings, next_at, now()).await?;
        created.map(ScheduleWithTimes::of).ok_or_else(|| {
            let detail =
                format!("the workspace has {MOST_SCHEDULES} schedules, the most; delete one");
            let mut problems = Problems::new();
            problems.add(&At::Root, Code::TooLarge, detail);
            AppError::invalid(Invalid::Request, problems)
        })
    }

    /// One page of the schedules of the workspace, newest first.
    pub async fn schedule_list(
        &self,
        scope: &Scope,
        list: ListQuery,
    ) -> Result<Page<ScheduleWithTimes>, AppError> {
        let Page { items, next } = schedule::list(scope, &self.db, list).await?;
        Ok(Page { items: items.into_iter().map(ScheduleWithTimes::of).collect(), next })
    }

    pub async fn schedule_get(
        &self,
        scope: &Scope,
        id: Uuid,
    ) -> Result<ScheduleWithTimes, AppError> {
        Ok(ScheduleWithTimes::of(schedule::get(scope, &self.db, id).await?))
    }

    /// A schedule, and what it would be with a change; nothing is stored.
    pub async fn schedule_prepare(
        &self,
        scope: &Scope,
        id: Uuid,
        change: &ScheduleChange,
        precondition: &Precondition,
    ) -> Result<(ScheduleRow, ScheduleDraft), AppError> {
        let seen = schedule::get(scope, &self.db, id).await?;
        precondition.check(id, seen.revision)?;
        let mut draft = self.schedule_draft(scope, seen.settings.clone(), change).await?;
        // A schedule whose graph is gone can be paused.
        let changes_work =
            [change.graph.is_some(), change.target.is_some(), change.request.is_some()];
        draft.names_work &= draft.settings.enabled || changes_work.contains(&true);
        Ok((seen, draft))
    }

    /// Stores the settings of a schedule, unless another request has changed it since it was `seen`: then `None`.
    pub async fn schedule_replace(
        &self,
        scope: &Scope,
        seen: &ScheduleRow,
        settings: &ScheduleSettings,
    ) -> Result<Option<ScheduleWithTimes>, AppError> {
        let is_same = (&settings.cron, &settings.time_zone)
            == (&seen.settings.cron, &seen.settings.time_zone);
        let next_at = match seen.next_at.filter(|_| is_same && settings.enabled) {
            Some(next) => Some(next),
            None => next_time(settings, self.db.now().await?),
        };
        let stored = schedule::update(scope, &self.db, seen, settings, next_at, now()).await?;
        Ok(stored.map(ScheduleWithTimes::of))
    }

    /// Deletes a schedule. Work that it has started continues.
    pub async fn schedule_delete(
        &self,
        scope: &Scope,
        id: Uuid,
        precondition: &Precondition,
    ) -> Result<(), AppError> {
        loop {
            let seen = schedule::get(scope, &self.db, id).await?;
            precondition.check(id, seen.revision)?;
            if schedule::delete(scope, &self.db, (id, seen.revision), now()).await? {
                return Ok(());
            }
        }
    }

    /// Fires a schedule now.
    pub async fn schedule_fire(&self, scope: &Scope, id: Uuid) -> Result<FiringRow, AppError> {
        let row = schedule_firing::add_by_hand(scope, &self.db, id).await?;
        self.firings_due.notify_one();
        Ok(row)
    }

    /// The newest firing of each of these schedules that has one.
    pub async fn firings_newest(
        &self,
        scope: &Scope,
        schedules: &[Uuid],
    ) -> Result<Vec<FiringRow>, AppError> {
        Ok(schedule_firing::newest(scope, &self.db, schedules).await?)
    }

    /// One page of the firings of a schedule, newest first.
    pub async fn firing_list(
        &self,
        scope: &Scope,
        schedule: Uuid,
        list: ListQuery,
    ) -> Result<Page<FiringRow>, AppError> {
        schedule::get(scope, &self.db, schedule).await?;
        Ok(schedule_firing::list(scope, &self.db, schedule, list).await?)
    }
}

/// The next time of an enabled schedule.
fn next_time(settings: &ScheduleSettings, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let zone = Calendar::zone(&settings.time_zone).filter(|_| settings.enabled)?;
    Calendar::read(&settings.cron, zone).ok()?.after(after)
}

/// The next times of an expression in a time zone, before anything is stored.
///
/// # Errors
/// What is wrong with them, as it would be reported of a schedule.
pub fn times_of(cron: &str, time_zone: &str) -> Result<Vec<LocalTime>, Problems> {
    let (mut zone, mut problems) = (time_zone.to_owned(), Problems::new());
    check_times(cron, &mut zone, &mut problems);
    problems.or(())?;
    let calendar = Calendar::zone(&zone).and_then(|zone| Calendar::read(cron, zone).ok());
    Ok(calendar.map(|calendar| calendar.next_local(now(), SHOWN_TIMES)).unwrap_or_default())
}

/// The settings with what a change sets of them, except for the graph.
fn set(mut settings: ScheduleSettings, change: &ScheduleChange) -> ScheduleSettings {
    let put = |place: &mut String, text: Option<&str>| {
        if let Some(text) = text {
            text.clone_into(place);
        }
    };
    put(&mut settings.name, change.name.as_ref().map(PlainName::as_str));
    put(&mut settings.description, change.description.as_deref());
    put(&mut settings.cron, change.cron.as_deref());
    put(&mut settings.time_zone, change.time_zone.as_deref());
    put(&mut settings.overlap, change.overlap.map(Overlap::as_str));
    put(&mut settings.catch_up, change.catch_up.map(CatchUp::as_str));
    put(&mut settings.target, change.target.map(ScheduleTarget::as_str));
    put(&mut settings.request, change.request.as_deref());
    settings.enabled = change.enabled.unwrap_or(settings.enabled);
    settings
}

/// The expression and the time zone are readable, and there is a time. The name of the zone becomes that of the
/// database.
fn check_times(cron: &str, time_zone: &mut String, problems: &mut Problems) {
    let root = At::Root;
    let zone = Calendar::zone(time_zone);
    match zone.as_ref().and_then(|zone| zone.iana_name()) {
        Some(name) => name.clone_into(time_zone),
        None => {
            let detail = "expected a name of the IANA time zone database, such as `Europe/Berlin`";
            problems.add(&root.key("time_zone"), Code::InvalidValue, detail);
        }
    }
    // One that could not be read is reported already.
    if cron.is_empty() {
        return;
    }
    // Another zone does not change whether an expression can be read.
    let zone = zone.unwrap_or(jiff::tz::TimeZone::UTC);
    match Calendar::read(cron, zone) {
        Err(expected) => problems.add(&root.key("cron"), Code::InvalidValue, expected),
        Ok(calendar) if calendar.after(now()).is_none() => {
            let detail = "no time within nine years fits";
            problems.add(&root.key("cron"), Code::InvalidValue, detail);
        }
        Ok(_) => {}
    }
}
