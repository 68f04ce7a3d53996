//! The firings of schedules: listed, claimed, and what they have started. A claim that is not recorded in time is made
//! again by any server; the id of the firing is the idempotency key of its work, so that it starts once. May not know
//! how work starts.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::page::ListedRow;
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

/// The newest firings whose work is checked for an overlap.
const CHECKED_FIRINGS: i64 = 20;

#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct FiringRow {
    pub id: Uuid,
    pub schedule_id: Uuid,
    pub scheduled_at: DateTime<Utc>,
    /// Whether a client fired it.
    pub by_hand: bool,
    /// `pending`, `succeeded` (its work is accepted), `failed`, `skipped` or `missed`.
    pub status: String,
    /// Earlier times that were left out for it.
    pub missed: i32,
    /// How often its work was tried to start.
    pub attempts: i32,
    /// The kind of its work, once it was tried to start.
    pub target: Option<String>,
    /// What it has started.
    pub work_id: Option<Uuid>,
    /// The problem with which its work was refused, as JSON text.
    pub error: Option<String>,
    /// When it was written.
    pub created_at: DateTime<Utc>,
    /// When its work was accepted, or it ended without work.
    pub finished_at: Option<DateTime<Utc>>,
}

impl ListedRow for FiringRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

const COLUMNS: &str = "id, schedule_id, scheduled_at, by_hand, status, missed, attempts, target, work_id, \
     error::text, created_at, finished_at";

/// One page of the firings of a schedule, newest first.
pub async fn list(
    scope: &Scope,
    db: &Db,
    schedule: Uuid,
    list: ListQuery,
) -> Result<Page<FiringRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new("select ");
    sql.push(COLUMNS).push(" from schedule_firings where workspace_id = ");
    sql.push_bind(scope.workspace).push(" and schedule_id = ").push_bind(schedule);
    list.newest_first(&mut *db.scoped(scope).await?, sql, "").await
}

/// The newest firing of each schedule that has one.
pub async fn newest(
    scope: &Scope,
    db: &Db,
    schedules: &[Uuid],
) -> Result<Vec<FiringRow>, StoreError> {
    let sql = format!(
        "select newest.* from unnest($2) asked (schedule)
         cross join lateral (
             select {COLUMNS} from schedule_firings
             where workspace_id = $1 and schedule_id = asked.schedule
             order by created_at desc, id desc limit 1) newest"
    );
    let rows = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(schedules);
    Ok(rows.fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// Fires a schedule now, whatever its times are.
pub async fn add_by_hand(scope: &Scope, db: &Db, schedule: Uuid) -> Result<FiringRow, StoreError> {
    let sql = format!(
        "insert into schedule_firings (id, schedule_id, workspace_id, scheduled_at, by_hand, status, missed, attempts,
                                       next_attempt_at, created_at)
         select $3, id, workspace_id, clock_timestamp(), true, 'pending', 0, 0, clock_timestamp(), clock_timestamp()
         from schedules where workspace_id = $1 and id = $2
         returning {COLUMNS}"
    );
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(schedule);
    let row = row.bind(Uuid::now_v7()).fetch_optional(&mut *db.scoped(scope).await?).await?;
    row.ok_or_else(|| StoreError::not_found("schedule", schedule))
}

/// A firing whose work is to be started now, with its schedule.
#[derive(Clone, Debug, FromRow)]
pub struct ClaimedFiring {
    pub id: Uuid,
    pub holder: Uuid,
    pub schedule_id: Uuid,
    pub workspace_id: Uuid,
    /// Whether a client fired it.
    pub by_hand: bool,
    /// The claims that count, with this one.
    pub attempts: i32,
    /// What happens while earlier work is in progress.
    pub overlap: String,
    pub graph_id: Uuid,
    /// The kind of work.
    pub target: String,
    /// The body of the request.
    pub request: String,
    /// The actor whose key starts the work.
    pub runs_as: String,
}

/// Claims up to `most` firings, for `lease`: of each schedule the oldest one that waits, and those by hand. The first
/// claim that counts decides what the work is. For all workspaces.
pub async fn claim(db: &Db, most: i64, lease: Duration) -> Result<Vec<ClaimedFiring>, StoreError> {
    let claimed = sqlx::query_as(
        "with due as materialized (
             select id from schedule_firings firing
             where status = 'pending' and next_attempt_at <= now()
               and (by_hand or not exists (
                    select from schedule_firings earlier
                    where earlier.schedule_id = firing.schedule_id and earlier.status = 'pending'
                      and not earlier.by_hand and earlier.scheduled_at < firing.scheduled_at))
             order by next_attempt_at limit $1 for update skip locked
         )
         update schedule_firings firing
         set holder = $2, attempts = firing.attempts + 1,
             next_attempt_at = clock_timestamp() + $3 * interval '1 second',
             graph_id = case when firing.attempts = 0 then schedule.graph_id else firing.graph_id end,
             target = case when firing.attempts = 0 then schedule.target else firing.target end,
             request = case when firing.attempts = 0 then schedule.request else firing.request end,
             runs_as = case when firing.attempts = 0 then schedule.runs_as else firing.runs_as end
         from due, schedules schedule
         where firing.id = due.id and schedule.id = firing.schedule_id
         returning firing.id, firing.holder, firing.schedule_id, firing.workspace_id, firing.by_hand,
                   firing.attempts, schedule.overlap, firing.graph_id, firing.target, firing.request::text,
                   firing.runs_as",
    );
    let claimed = claimed.bind(most).bind(Uuid::now_v7()).bind(lease.as_secs_f64());
    Ok(claimed.fetch_all(&mut *db.all_workspaces().await?).await?)
}

/// Whether work that earlier firings of a schedule have started is in progress. Never if the work of this one was
/// requested already: then its turn was decided, and the work may be its own.
pub async fn has_active_work(db: &Db, firing: &ClaimedFiring) -> Result<bool, StoreError> {
    let found = sqlx::query_scalar(
        "select not ($6 > 1 and exists (select from idempotency_keys
                                        where workspace_id = $3 and created_by = $4 and key = $5))
         and exists (
             select from (select work_id from schedule_firings
                          where schedule_id = $1 and work_id is not null
                          order by created_at desc, id desc limit $2) earlier
             where exists (select from runs where id = earlier.work_id and finished_at is null)
                or exists (select from batches where id = earlier.work_id and finished_at is null)
                or exists (select from evaluations where id = earlier.work_id and finished_at is null)
                or exists (select from optimizations where id = earlier.work_id and finished_at is null))",
    );
    let found = found.bind(firing.schedule_id).bind(CHECKED_FIRINGS).bind(firing.workspace_id);
    let found = found.bind(&firing.runs_as).bind(firing.id.to_string()).bind(firing.attempts);
    Ok(found.fetch_one(&mut *db.all_workspaces().await?).await?)
}

/// What became of a firing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FiringOutcome {
    /// Its work is accepted.
    Started(Uuid),
    /// Its work was refused with a problem, as JSON text.
    Refused(String),
    /// Earlier work is in progress.
    Skipped,
    /// It is tried again after a time.
    Later(Duration),
    /// The same, and this claim does not count.
    Waiting(Duration),
}

/// Records the outcome. False if another claim has the firing.
pub async fn record(
    db: &Db,
    firing: &ClaimedFiring,
    outcome: &FiringOutcome,
) -> Result<bool, StoreError> {
    let (status, work, error, wait) = match outcome {
        FiringOutcome::Started(work) => ("succeeded", Some(*work), None, None),
        FiringOutcome::Refused(problem) => ("failed", None, Some(&**problem), None),
        FiringOutcome::Skipped => ("skipped", None, None, None),
        FiringOutcome::Later(wait) | FiringOutcome::Waiting(wait) => {
            ("pending", None, None, Some(wait.as_secs_f64()))
        }
    };
    let recorded = sqlx::query(
        "update schedule_firings
         set status = $3, work_id = $4, error = $5::text::json, holder = null, attempts = attempts - $7,
             next_attempt_at = clock_timestamp() + $6 * interval '1 second',
             request = case when $6 is null then null else request end,
             finished_at = case when $6 is null then clock_timestamp() end
         where id = $1 and holder = $2",
    );
    let recorded = recorded.bind(firing.id).bind(firing.holder).bind(status).bind(work);
    // A firing that waits for earlier work or for the database has not failed: its attempts must not run out.
    let uncounted = i32::from(matches!(outcome, FiringOutcome::Waiting(_)));
    let recorded = recorded.bind(error).bind(wait).bind(uncounted);
    Ok(recorded.execute(&mut *db.all_workspaces().await?).await?.rows_affected() == 1)
}
