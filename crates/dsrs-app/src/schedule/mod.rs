//! Schedules: created, changed, deleted, fired by hand; their firings listed. `calendar` has their times, `fire` claims
//! firings, `work` starts what they start. May not know HTTP.

pub(crate) mod calendar;
mod cron;
pub(crate) mod fire;
mod work;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use chrono::{DateTime, Utc};
use dsrs::document::{Change, word_of};
use dsrs::problem::{At, Code, Problems};
use dsrs_api::schedule::{CatchUp, Overlap, ScheduleSettings};
use uuid::Uuid;

use crate::clock::now;
use crate::precondition::Precondition;
use crate::{App, AppError, Identity, Invalid};
use calendar::{Calendar, LocalTime};
use dsrs_store::graph::{self, GraphRef, VersionSelection};
use dsrs_store::schedule::{self, MOST_SCHEDULES, ScheduleColumns, ScheduleRow};
use dsrs_store::schedule_firing::{self, FiringRow};
use dsrs_store::{ListQuery, Page, Scope, StoreError};

/// A schedule with its next times.
pub struct ScheduleWithTimes {
    pub row: ScheduleRow,
    /// Its next times; none while it is disabled.
    pub next: Vec<DateTime<Utc>>,
}

/// What a schedule would be, and the problems found so far.
struct ScheduleDraft {
    /// The settings, as far as they could be read.
    settings: ScheduleColumns,
    /// Whether graph, kind of work and request are known, and are to be checked as a request.
    names_work: bool,
    problems: Problems,
}

/// The members that say which work starts.
const WORK: [&str; 3] = ["graph", "target", "request"];

/// How often a change is tried again if another one was made at the same time.
const TRIES: usize = 5;

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
    async fn schedule_new(
        &self,
        scope: &Scope,
        change: &Change<ScheduleSettings>,
    ) -> Result<ScheduleDraft, AppError> {
        let empty = ScheduleColumns {
            time_zone: "UTC".to_owned(),
            overlap: word_of(&Overlap::default()).to_owned(),
            catch_up: word_of(&CatchUp::default()).to_owned(),
            enabled: true,
            ..ScheduleColumns::default()
        };
        let mut draft = self.schedule_draft(scope, &empty, change).await?;
        draft.names_work &= WORK.iter().all(|member| change.sets(member));
        Ok(draft)
    }

    /// A schedule with a change; nothing is stored.
    async fn schedule_draft(
        &self,
        scope: &Scope,
        before: &ScheduleColumns,
        change: &Change<ScheduleSettings>,
    ) -> Result<ScheduleDraft, AppError> {
        let changed = change.apply(&before.document());
        let mut changed = changed.map_err(|error| AppError::Internal(error.to_string()))?;
        let (mut problems, mut names_work) = (change.problems().clone(), true);
        let mut graph_id = before.graph_id;
        if change.sets("graph") {
            let graph = GraphRef::parse(&changed.graph);
            match graph::pin(scope, &self.db, &graph, VersionSelection::default()).await {
                Ok(found) => (graph_id, changed.graph) = (found.id, found.name),
                Err(StoreError::NotFound { what, name }) => {
                    let detail = format!("there is no {what} `{name}`");
                    problems.add(&At::Root.key("graph"), Code::InvalidValue, detail);
                    names_work = false;
                }
                Err(error) => return Err(error.into()),
            }
        }
        check_times(&changed.cron, &mut changed.time_zone, &mut problems);
        let mut settings = ScheduleColumns::of(changed, graph_id);
        // A newer release may have stored words that this one does not know.
        for (member, column, stored) in [
            ("overlap", &mut settings.overlap, &before.overlap),
            ("catch_up", &mut settings.catch_up, &before.catch_up),
            ("target", &mut settings.target, &before.target),
            ("request", &mut settings.request, &before.request),
        ] {
            if !change.sets(member) {
                column.clone_from(stored);
            }
        }
        Ok(ScheduleDraft { settings, names_work, problems })
    }

    /// Creates a schedule, checked with its request.
    pub async fn schedule_create(
        self: &Arc<Self>,
        identity: &Identity,
        change: &Change<ScheduleSettings>,
    ) -> Result<ScheduleWithTimes, AppError> {
        let scope = &identity.scope;
        let draft = self.schedule_new(scope, change).await?;
        let settings = &self.schedule_checked(identity, draft).await?;
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

    /// The settings of a draft without problems, neither of its own nor of its request; otherwise all of them.
    async fn schedule_checked(
        self: &Arc<Self>,
        identity: &Identity,
        draft: ScheduleDraft,
    ) -> Result<ScheduleColumns, AppError> {
        let ScheduleDraft { settings, names_work, mut problems } = draft;
        let refused = match names_work {
            true => self.rehearse(identity, &settings).await.err(),
            false => None,
        };
        match refused {
            None if problems.is_empty() => return Ok(settings),
            Some(refused) if problems.is_empty() => return Err(refused),
            Some(AppError::Invalid { problems: of_request, .. }) => problems.also(of_request),
            _ => {}
        }
        Err(AppError::invalid(Invalid::Request, problems))
    }

    /// Changes a schedule, checked as one that is created.
    pub async fn schedule_change(
        self: &Arc<Self>,
        identity: &Identity,
        id: Uuid,
        change: &Change<ScheduleSettings>,
        precondition: &Precondition,
    ) -> Result<ScheduleWithTimes, AppError> {
        let scope = &identity.scope;
        for _ in 0..TRIES {
            let seen = schedule::get(scope, &self.db, id).await?;
            precondition.check(id, seen.revision)?;
            let mut draft = self.schedule_draft(scope, &seen.settings, change).await?;
            // A schedule whose graph is gone can be paused.
            let changes_work = WORK.iter().any(|member| change.sets(member));
            draft.names_work &= draft.settings.enabled || changes_work;
            let settings = self.schedule_checked(identity, draft).await?;
            if let Some(changed) = self.schedule_replace(scope, &seen, &settings).await? {
                return Ok(changed);
            }
        }
        Err(AppError::Unavailable("other requests change the schedule; try again".to_owned()))
    }

    /// Stores the settings of a schedule, unless another request has changed it since it was `seen`: then `None`.
    async fn schedule_replace(
        &self,
        scope: &Scope,
        seen: &ScheduleRow,
        settings: &ScheduleColumns,
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

    /// From now on this process fires schedules.
    pub fn fire_schedules(&self) {
        self.fires_schedules.store(true, Ordering::Relaxed);
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
fn next_time(settings: &ScheduleColumns, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
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
