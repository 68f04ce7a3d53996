//! The migrations: applied by one server at a time, with bounded waits for the locks of tables and a log of
//! what blocks them. May not know what a migration changes.
//!
//! A statement that waits for a table blocks all later users of the table. So it waits for a short time
//! only, and is repeated after a pause in which they get their turn.

use std::collections::HashMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use sqlx::migrate::{Migrate, MigrateError, Migration, Migrator};
use sqlx::{Connection, FromRow, PgConnection};
use tokio::time::sleep;

use super::{Db, StoreError, former_migrations, isolation, run_form};

/// How long a statement waits for a lock, and what follows if it does not get it.
const LOCK_TIMEOUT: &str = "set lock_timeout = '3s'";

/// The pause before a migration is repeated.
const PAUSE: Duration = Duration::from_secs(1);

/// How often a migration that waits is checked.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A database migrated further by a newer release is fine: steps only ever expand what this one
/// uses, and it must be able to start again beside that release or after it.
fn migrator() -> Migrator {
    let mut migrator = sqlx::migrate!("../../migrations");
    migrator.set_ignore_missing(true);
    migrator
}

impl Db {
    /// Whether [`Db::migrate`] has nothing to do. It waits for no other server.
    pub async fn is_prepared(&self) -> Result<bool, StoreError> {
        let mut own = self.owner_connection().await?;
        let is_prepared = self.is_prepared_for(&mut own).await;
        own.close().await?;
        is_prepared
    }

    async fn is_prepared_for(&self, own: &mut PgConnection) -> Result<bool, StoreError> {
        // not checked at compile time: the migrator's own table is not among the migrations
        let applied: Result<Vec<(i64, Vec<u8>)>, sqlx::Error> =
            sqlx::query_as("select version, checksum from _sqlx_migrations where success")
                .fetch_all(&mut *own)
                .await;
        let applied: HashMap<i64, Vec<u8>> = match applied {
            Ok(applied) => applied.into_iter().collect(),
            Err(sqlx::Error::Database(error)) if is_missing(error.code().as_deref()) => {
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        };
        let is_applied =
            |one: &Migration| applied.get(&one.version).map(Vec::as_slice) == Some(&*one.checksum);
        Ok(migrator().iter().all(is_applied)
            && (!self.changes_role || isolation::has_rights(own).await?))
    }

    /// Applies the migrations that are missing. Servers that start together take turns: an advisory lock
    /// on the database is held meanwhile. Fails, with the names of those that hold a lock, if a table stays
    /// locked for longer than `migration_patience`.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        // A connection of its own: waiting for another server must not reach the statement time-out.
        let mut own = self.owner_connection().await?;
        let outcome = self.migrate_on(&mut own).await;
        // This releases the lock.
        own.close().await?;
        if outcome.is_ok() {
            run_form::refresh_form(self).await?;
        }
        outcome
    }

    async fn migrate_on(&self, own: &mut PgConnection) -> Result<(), StoreError> {
        let process = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut *own).await?;
        let mut watch = BlockerWatch { db: self.clone(), process, blockers: String::new() };
        watch.during(own.lock()).await?;
        sqlx::raw_sql(LOCK_TIMEOUT).execute(&mut *own).await?;
        let mut migrator = migrator();
        migrator.set_locking(false);
        former_migrations::adopt(own, &migrator).await?;
        let begun = Instant::now();
        loop {
            match watch.during(apply(&migrator, own)).await {
                Err(error) if is_blocked(&error) => {
                    if begun.elapsed() >= self.migration_patience {
                        let blockers = watch.blockers;
                        let reason = format!("a migration waits for locks of {blockers}: {error}");
                        return Err(StoreError::internal(reason));
                    }
                    sleep(PAUSE).await;
                }
                outcome => {
                    outcome?;
                    break;
                }
            }
        }
        match self.changes_role {
            true => isolation::grant_rights(own).await,
            false => Ok(()),
        }
    }

    /// Whether every migration of this binary has been applied.
    pub async fn is_migrated(&self) -> Result<bool, StoreError> {
        let newest = migrator().iter().map(|migration| migration.version).max();
        // not checked at compile time: the migrator's own table is not among the migrations
        let applied: Result<Option<i64>, sqlx::Error> =
            sqlx::query_scalar("select max(version) from _sqlx_migrations where success")
                .fetch_one(&mut *self.unscoped().await?)
                .await;
        match applied {
            Ok(applied) => Ok(applied >= newest),
            Err(sqlx::Error::Database(error)) if is_missing(error.code().as_deref()) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Applies the migrations that are missing. Those of a new database are one transaction, which waits for the disk once,
/// or later: a database that a power cut takes back is as new as before.
async fn apply(migrator: &Migrator, own: &mut PgConnection) -> Result<(), MigrateError> {
    own.ensure_migrations_table(&migrator.table_name).await?;
    let is_new = own.list_applied_migrations(&migrator.table_name).await?.is_empty();
    if is_new && !migrator.iter().any(|migration| migration.no_tx) {
        match apply_together(migrator, own).await {
            Err(error) if !is_blocked(&error) => {
                tracing::info!(%error, "the migrations are applied one by one: not in one transaction");
            }
            outcome => return outcome,
        }
    }
    migrator.run_direct(None, own, false).await
}

async fn apply_together(migrator: &Migrator, own: &mut PgConnection) -> Result<(), MigrateError> {
    let mut transaction = own.begin().await?;
    sqlx::raw_sql("set local synchronous_commit = off").execute(&mut *transaction).await?;
    migrator.run_direct(None, &mut *transaction, false).await?;
    Ok(transaction.commit().await?)
}

/// Whether a table does not exist, or a migration has yet to grant rights on it.
fn is_missing(state: Option<&str>) -> bool {
    matches!(state, Some("42P01" | "42501"))
}

/// Looks from outside at a connection that may wait for locks.
struct BlockerWatch {
    db: Db,
    /// The server process of the connection.
    process: i32,
    /// The holders of the locks, as they were last seen.
    blockers: String,
}

/// The holder of a lock. Its statement stays unknown: it may contain data.
#[derive(FromRow)]
struct Blocker {
    pid: i32,
    application: Option<String>,
    username: Option<String>,
    state: Option<String>,
    seconds: Option<f64>,
}

impl BlockerWatch {
    /// Awaits a step, and logs who blocks it as long as it waits.
    async fn during<T>(&mut self, step: impl Future<Output = T>) -> T {
        let mut step = pin!(step);
        loop {
            tokio::select! {
                done = &mut step => return done,
                () = sleep(POLL_INTERVAL) => {}
            }
            let found = tokio::select! {
                done = &mut step => return done,
                found = self.find_blockers() => found,
            };
            if let Some(found) = found {
                tracing::warn!(blockers = found, "a migration waits for locks");
                self.blockers = found;
            }
        }
    }

    async fn find_blockers(&self) -> Option<String> {
        let blockers = sqlx::query_as::<_, Blocker>(
            "select pid, application_name as application, usename::text as username, state,
                    extract(epoch from clock_timestamp() - xact_start)::float8 as seconds
             from pg_stat_activity where pid = any(pg_blocking_pids($1)) order by xact_start",
        );
        // Only the role of the URL sees what other sessions do.
        let mut own = self.db.owner_connection().await.ok()?;
        let found = blockers.bind(self.process).fetch_all(&mut own).await.ok()?;
        own.close().await.ok()?;
        let found: Vec<String> = found.iter().map(describe).collect();
        (!found.is_empty()).then(|| found.join(", "))
    }
}

fn describe(blocker: &Blocker) -> String {
    let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let application = text(&blocker.application).unwrap_or_else(|| "unnamed".to_owned());
    let username = text(&blocker.username).unwrap_or_else(|| "unknown".to_owned());
    let state = text(&blocker.state).unwrap_or_else(|| "state unknown".to_owned());
    let seconds = blocker.seconds.unwrap_or_default();
    format!(
        "process {} ({application}, user {username}, {state}, transaction of {seconds:.0} s)",
        blocker.pid
    )
}

/// Whether a lock was not granted in time, or only by ending another transaction that waits for ours.
fn is_blocked(error: &MigrateError) -> bool {
    let (MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) = error else {
        return false;
    };
    let state = error.as_database_error().and_then(|error| error.code());
    matches!(state.as_deref(), Some("55P03" | "40P01"))
}
