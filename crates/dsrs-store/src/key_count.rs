//! What is counted of keys with limits, exchanged between servers. May not know what a limit is.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::FromRow;
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// Counts that are older than this are of a server that has ended.
const OLD: Duration = Duration::from_secs(3600);

/// The runs in progress of a server count for this long without news of it.
const RUNNING: Duration = Duration::from_secs(10);

/// What one server has counted of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnCounts {
    /// The minute of the first two counts, since 1970.
    pub minute: i64,
    /// Requests in that minute.
    pub requests: i64,
    /// Runs that started in that minute.
    pub runs: i64,
    /// Runs in progress.
    pub running: i64,
}

/// What all other servers have counted, the jobs of the key, and what it has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromRow)]
pub struct OtherCounts {
    /// The time of the database's clock.
    pub now: DateTime<Utc>,
    /// Requests in the minute.
    pub requests: i64,
    /// Runs that started in the minute.
    pub runs: i64,
    /// Runs in progress.
    pub running: i64,
    /// Jobs that have neither ended nor wait for a value.
    pub jobs: i64,
    /// What the key has spent today.
    #[sqlx(flatten)]
    pub spent: Spending,
}

/// What a key has spent in the current day (UTC) of the database's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromRow)]
pub struct Spending {
    /// Tokens, of inputs and outputs.
    pub tokens: i64,
    /// Money.
    pub cost: f64,
}

/// Writes the counts of a key and reads those of the other servers. `replica` is this process; the actor of
/// the scope is the label of the key.
pub async fn exchange(
    scope: &Scope,
    db: &Db,
    key: Uuid,
    replica: Uuid,
    own: OwnCounts,
) -> Result<OtherCounts, StoreError> {
    let exchanged = sqlx::query_as(
        "with written as (
             insert into key_counts (key_id, replica, workspace_id, minute, requests, runs, running,
                                     updated_at)
             values ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())
             on conflict (key_id, replica) do update
             set minute = excluded.minute, requests = excluded.requests, runs = excluded.runs,
                 running = excluded.running, updated_at = excluded.updated_at
         ), spent as (
             select tokens, cost from key_spending
             where workspace_id = $3 and actor = $8
               and day = (clock_timestamp() at time zone 'UTC')::date
         )
         select clock_timestamp() as now,
                coalesce(sum(requests) filter (where minute = $4), 0)::int8 as requests,
                coalesce(sum(runs) filter (where minute = $4), 0)::int8 as runs,
                coalesce(sum(running) filter (
                    where updated_at > clock_timestamp() - $9 * interval '1 second'), 0)::int8 as running,
                (select count(*) from jobs
                 where jobs.workspace_id = $3 and jobs.created_by = $8 and not jobs.waiting
                   and jobs.parent is null)
                + (select count(*) from runs
                   where runs.workspace_id = $3 and runs.created_by = $8
                     and runs.status in ('queued', 'running')
                     and not exists (select from jobs where jobs.id = runs.id)) as jobs,
                coalesce((select tokens from spent), 0) as tokens,
                coalesce((select cost from spent), 0) as cost
         from key_counts where key_id = $1 and replica <> $2",
    );
    let exchanged = exchanged.bind(key).bind(replica).bind(scope.workspace).bind(own.minute);
    let exchanged = exchanged.bind(own.requests).bind(own.runs).bind(own.running);
    let exchanged = exchanged.bind(&*scope.actor).bind(RUNNING.as_secs_f64());
    Ok(exchanged.fetch_one(&mut *db.scoped(scope).await?).await?)
}

/// Removes the counts of servers that have ended. For all workspaces, as upkeep is.
pub async fn purge(db: &Db) -> Result<u64, StoreError> {
    let purged = sqlx::query(
        "delete from key_counts where updated_at < clock_timestamp() - $1 * interval '1 second'",
    );
    let purged = purged.bind(OLD.as_secs_f64());
    Ok(purged.execute(&mut *db.all_workspaces().await?).await?.rows_affected())
}
