//! Schedules: created, listed, changed, deleted, and advanced past the times that are over. May not know what an
//! expression means: times come from the caller.

use chrono::{DateTime, Utc};
use dsrs::document::{parse_word, word_of};
use dsrs::value::Payload;
use dsrs_api::schedule::ScheduleSettings;
use sqlx::postgres::PgArguments;
use sqlx::query::QueryAs;
use sqlx::{AssertSqlSafe, FromRow, PgConnection, Postgres, QueryBuilder, Transaction};
use uuid::Uuid;

use super::audit::{self, AuditAction, AuditThing};
use super::error::violated_index;
use super::page::ListedRow;
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

/// The most schedules of a workspace.
pub const MOST_SCHEDULES: i64 = 100;

/// Schedules that are advanced in one transaction.
const ADVANCED_AT_ONCE: i64 = 20;

/// What clients set of a schedule, as the table has it.
#[derive(Clone, Debug, Default, PartialEq, FromRow)]
pub struct ScheduleColumns {
    /// Its name, unique within the workspace.
    pub name: String,
    /// A text for people.
    pub description: String,
    /// The cron expression.
    pub cron: String,
    /// The name of the time zone.
    pub time_zone: String,
    /// What happens while earlier work is in progress.
    pub overlap: String,
    /// What happens with times that were missed.
    pub catch_up: String,
    pub graph_id: Uuid,
    pub graph_name: String,
    /// The kind of work.
    pub target: String,
    /// The body of the request that starts the work, as JSON text.
    pub request: String,
    /// Whether it starts anything.
    pub enabled: bool,
}

impl ScheduleColumns {
    /// The columns of a document whose graph is known.
    #[must_use]
    pub fn of(settings: ScheduleSettings, graph_id: Uuid) -> Self {
        Self {
            name: settings.name,
            description: settings.description,
            cron: settings.cron,
            time_zone: settings.time_zone,
            overlap: word_of(&settings.overlap).to_owned(),
            catch_up: word_of(&settings.catch_up).to_owned(),
            graph_id,
            graph_name: settings.graph,
            target: word_of(&settings.target).to_owned(),
            request: settings.request.to_json(),
            enabled: settings.enabled,
        }
    }

    /// The document. Words of a newer release are the defaults.
    #[must_use]
    pub fn document(&self) -> ScheduleSettings {
        ScheduleSettings {
            name: self.name.clone(),
            description: self.description.clone(),
            cron: self.cron.clone(),
            time_zone: self.time_zone.clone(),
            overlap: parse_word(&self.overlap).unwrap_or_default(),
            catch_up: parse_word(&self.catch_up).unwrap_or_default(),
            graph: self.graph_name.clone(),
            target: parse_word(&self.target).unwrap_or_default(),
            request: Payload::from_json(&self.request).unwrap_or_default(),
            enabled: self.enabled,
        }
    }
}

#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct ScheduleRow {
    pub id: Uuid,
    /// What clients set.
    #[sqlx(flatten)]
    pub settings: ScheduleColumns,
    /// Why the server disabled it: `key` or `never`.
    pub disabled_because: Option<String>,
    /// The actor whose key starts the work.
    pub runs_as: String,
    /// The next time that is not a firing yet.
    pub next_at: Option<DateTime<Utc>>,
    /// Counts the changes of clients, from 1.
    pub revision: i32,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When a client changed it.
    pub updated_at: DateTime<Utc>,
    /// By whom.
    pub created_by: String,
}

impl ListedRow for ScheduleRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

/// Waits until no other transaction creates a schedule of the workspace: otherwise two could both be the last.
const CREATION_TURN: &str =
    "select pg_advisory_xact_lock(hashtextextended('schedules of ' || $1::uuid::text, 0))";

const COLUMNS: &str =
    "id, name, description, cron, time_zone, overlap, catch_up, graph_id, graph_name, target,
     request::text, enabled, disabled_because, runs_as, next_at, revision,
     created_at, updated_at, created_by";

fn name_taken(error: sqlx::Error, name: &str) -> StoreError {
    match violated_index(&error) {
        Some("schedules_name") => {
            StoreError::AlreadyExists { what: "schedule", name: name.to_owned() }
        }
        _ => error.into(),
    }
}

/// Creates a schedule. A name that a schedule of the workspace has is [`StoreError::AlreadyExists`]; `None` if the
/// workspace has as many as it may.
pub async fn create(
    scope: &Scope,
    db: &Db,
    id: Uuid,
    new: &ScheduleColumns,
    next_at: Option<DateTime<Utc>>,
    at: DateTime<Utc>,
) -> Result<Option<ScheduleRow>, StoreError> {
    let mut tx = db.begin(scope).await?;
    sqlx::query(CREATION_TURN).bind(scope.workspace).execute(&mut *tx).await?;
    let sql = format!(
        "insert into schedules (name, description, cron, time_zone, overlap, catch_up, graph_id, graph_name, target,
                                request, enabled, runs_as, next_at, updated_at, workspace_id, id, created_by,
                                created_at, revision)
         select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::json, $11, $12, $13, $14, $15, $16, $12, $14, 1
         where (select count(*) from schedules where workspace_id = $15) < {MOST_SCHEDULES}
         returning {COLUMNS}"
    );
    let inserted = bind_settings(sqlx::query_as(AssertSqlSafe(sql)), new)
        .bind(&*scope.actor)
        .bind(next_at)
        .bind(at)
        .bind(scope.workspace)
        .bind(id)
        .fetch_optional(&mut *tx)
        .await;
    let row: Option<ScheduleRow> = inserted.map_err(|error| name_taken(error, &new.name))?;
    commit_changed(scope, tx, AuditAction::Create, row, at).await
}

/// Binds the parameters 1 to 11: what clients set.
fn bind_settings<'q, O>(
    query: QueryAs<'q, Postgres, O, PgArguments>,
    new: &'q ScheduleColumns,
) -> QueryAs<'q, Postgres, O, PgArguments> {
    query
        .bind(&new.name)
        .bind(&new.description)
        .bind(&new.cron)
        .bind(&new.time_zone)
        .bind(&new.overlap)
        .bind(&new.catch_up)
        .bind(new.graph_id)
        .bind(&new.graph_name)
        .bind(&new.target)
        .bind(&new.request)
        .bind(new.enabled)
}

/// Commits a change of a schedule with its entry in the audit log. Without a row nothing has changed.
async fn commit_changed(
    scope: &Scope,
    mut tx: Transaction<'static, Postgres>,
    action: AuditAction,
    changed: Option<ScheduleRow>,
    at: DateTime<Utc>,
) -> Result<Option<ScheduleRow>, StoreError> {
    let Some(row) = changed else { return Ok(None) };
    let thing = AuditThing::named("schedule", row.id, &row.settings.name);
    audit::add(scope, &mut tx, action, thing, at).await?;
    tx.commit().await?;
    Ok(Some(row))
}

pub async fn get(scope: &Scope, db: &Db, id: Uuid) -> Result<ScheduleRow, StoreError> {
    let sql = format!("select {COLUMNS} from schedules where workspace_id = $1 and id = $2");
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(id);
    let row = row.fetch_optional(&mut *db.scoped(scope).await?).await?;
    row.ok_or_else(|| StoreError::not_found("schedule", id))
}

/// One page of the schedules of the workspace, newest first.
pub async fn list(
    scope: &Scope,
    db: &Db,
    list: ListQuery,
) -> Result<Page<ScheduleRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new("select ");
    sql.push(COLUMNS).push(" from schedules where workspace_id = ").push_bind(scope.workspace);
    list.newest_first(&mut *db.scoped(scope).await?, sql, "").await
}

/// Replaces what clients set, unless another change was made after `seen`: then `None`. From now on the work is
/// started for the actor of the scope. Times that wait for earlier work are left out if the schedule is disabled.
pub async fn update(
    scope: &Scope,
    db: &Db,
    seen: &ScheduleRow,
    new: &ScheduleColumns,
    next_at: Option<DateTime<Utc>>,
    at: DateTime<Utc>,
) -> Result<Option<ScheduleRow>, StoreError> {
    let mut tx = db.begin(scope).await?;
    let sql = format!(
        "update schedules
         set name = $1, description = $2, cron = $3, time_zone = $4, overlap = $5, catch_up = $6, graph_id = $7,
             graph_name = $8, target = $9, request = $10::text::json, enabled = $11, runs_as = $12, next_at = $13,
             updated_at = $14, revision = revision + 1,
             disabled_because = case when $11 then null else disabled_because end
         where workspace_id = $15 and id = $16 and revision = $17
         returning {COLUMNS}"
    );
    let updated = bind_settings(sqlx::query_as(AssertSqlSafe(sql)), new)
        .bind(&*scope.actor)
        .bind(next_at)
        .bind(at)
        .bind(scope.workspace)
        .bind(seen.id)
        .bind(seen.revision)
        .fetch_optional(&mut *tx)
        .await;
    let row: Option<ScheduleRow> = updated.map_err(|error| name_taken(error, &new.name))?;
    if !new.enabled && row.is_some() {
        skip_waiting(seen.id, &mut tx).await?;
    }
    commit_changed(scope, tx, AuditAction::Change, row, at).await
}

/// Leaves out the times whose work nothing has tried to start.
async fn skip_waiting(id: Uuid, connection: &mut PgConnection) -> Result<(), StoreError> {
    let skipped = sqlx::query(
        "update schedule_firings set status = 'skipped', finished_at = clock_timestamp()
         where schedule_id = $1 and status = 'pending' and attempts = 0 and not by_hand",
    );
    skipped.bind(id).execute(connection).await?;
    Ok(())
}

/// Deletes a schedule that was seen in this revision, with the firings that wait. Work that it has started continues.
/// False if there is none in this revision any more.
pub async fn delete(
    scope: &Scope,
    db: &Db,
    (id, revision): (Uuid, i32),
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let mut tx = db.begin(scope).await?;
    let name: Option<String> = sqlx::query_scalar(
        "delete from schedules where workspace_id = $1 and id = $2 and revision = $3 returning name",
    )
    .bind(scope.workspace)
    .bind(id)
    .bind(revision)
    .fetch_optional(&mut *tx)
    .await?;
    let Some(name) = name else { return Ok(false) };
    let waiting = "delete from schedule_firings where schedule_id = $1 and status = 'pending'";
    sqlx::query(waiting).bind(id).execute(&mut *tx).await?;
    let thing = AuditThing::named("schedule", id, &name);
    audit::add(scope, &mut tx, AuditAction::Delete, thing, at).await?;
    tx.commit().await?;
    Ok(true)
}

/// Disables a schedule whose key has ended, unless another key has changed it meanwhile.
pub async fn disable_for_key(db: &Db, id: Uuid, runs_as: &str) -> Result<(), StoreError> {
    let disabled = sqlx::query(
        "update schedules set enabled = false, disabled_because = 'key', next_at = null
         where id = $1 and enabled and runs_as = $2",
    );
    let disabled = disabled.bind(id).bind(runs_as);
    disabled.execute(&mut *db.all_workspaces().await?).await?;
    Ok(())
}

/// A schedule whose next time is over.
#[derive(Clone, Debug, FromRow)]
pub struct DueSchedule {
    pub id: Uuid,
    pub workspace_id: Uuid,
    /// The expression.
    pub cron: String,
    pub time_zone: String,
    /// What happens while earlier work is in progress.
    pub overlap: String,
    /// What happens with times that were missed.
    pub catch_up: String,
    /// The time that is over.
    pub next_at: DateTime<Utc>,
    /// The time of the database's clock.
    pub now: DateTime<Utc>,
    /// The firings that wait.
    pub pending: i64,
}

/// What follows from the times that are over.
#[derive(Clone, Debug, Default)]
pub struct Advance {
    /// The firings, oldest first.
    pub firings: Vec<NewFiring>,
    /// The next time; `None`: there is none.
    pub next_at: Option<DateTime<Utc>>,
}

/// A firing to be written.
#[derive(Clone, Debug)]
pub struct NewFiring {
    pub scheduled_at: DateTime<Utc>,
    /// `pending`, `skipped` or `missed`.
    pub status: &'static str,
    /// Earlier times that are left out for it.
    pub missed: i32,
}

/// Writes the firings of schedules whose next time is over, each once over all servers: a schedule is locked while
/// it is advanced. Returns how many schedules there were. For all workspaces.
pub async fn advance(db: &Db, plan: impl Fn(&DueSchedule) -> Advance) -> Result<usize, StoreError> {
    let mut connection = db.all_workspaces().await?;
    // Most of the time there is none, and then no transaction is needed.
    let any = sqlx::query_scalar(
        "select exists (select from schedules where enabled and next_at <= now())",
    );
    if !any.fetch_one(&mut *connection).await? {
        return Ok(0);
    }
    let mut tx = sqlx::Connection::begin(&mut *connection).await?;
    let due: Vec<DueSchedule> = sqlx::query_as(
        "select id, workspace_id, cron, time_zone, overlap, catch_up, next_at, now(),
                (select count(*) from schedule_firings
                 where schedule_id = schedules.id and status = 'pending' and not by_hand) as pending
         from schedules where enabled and next_at <= now()
         order by next_at limit $1 for update skip locked",
    )
    .bind(ADVANCED_AT_ONCE)
    .fetch_all(&mut *tx)
    .await?;
    for schedule in &due {
        write(&mut tx, schedule, plan(schedule)).await?;
    }
    tx.commit().await?;
    Ok(due.len())
}

async fn write(
    connection: &mut PgConnection,
    schedule: &DueSchedule,
    advance: Advance,
) -> Result<(), StoreError> {
    for firing in advance.firings {
        // Each time fires once, even if it comes again after a change of the schedule or of the clock.
        let added = sqlx::query(
            "insert into schedule_firings (id, schedule_id, workspace_id, scheduled_at, by_hand, status, missed,
                                           attempts, next_attempt_at, created_at, finished_at)
             values ($1, $2, $3, $4, false, $5, $6, 0, case when $5 = 'pending' then $7 end, $7,
                     case when $5 <> 'pending' then $7 end)
             on conflict (schedule_id, scheduled_at) where not by_hand do nothing",
        );
        let added = added.bind(Uuid::now_v7()).bind(schedule.id).bind(schedule.workspace_id);
        let added = added.bind(firing.scheduled_at).bind(firing.status).bind(firing.missed);
        added.bind(schedule.now).execute(&mut *connection).await?;
    }
    let advanced = sqlx::query(
        "update schedules
         set next_at = $2, enabled = $2 is not null, disabled_because = case when $2 is null then 'never' end
         where id = $1",
    );
    advanced.bind(schedule.id).bind(advance.next_at).execute(connection).await?;
    Ok(())
}
