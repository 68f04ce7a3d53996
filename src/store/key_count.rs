//! What is counted of keys with limits, exchanged between servers, and what keys have spent. May not know
//! what a limit is.

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

/// What all other servers have counted, and the jobs of the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromRow)]
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
         )
         select clock_timestamp() as now,
                coalesce(sum(requests) filter (where minute = $4), 0)::int8 as requests,
                coalesce(sum(runs) filter (where minute = $4), 0)::int8 as runs,
                coalesce(sum(running) filter (
                    where updated_at > clock_timestamp() - $9 * interval '1 second'), 0)::int8 as running,
                (select count(*) from jobs
                 where jobs.workspace_id = $3 and jobs.created_by = $8 and not jobs.waiting) as jobs
         from key_counts where key_id = $1 and replica <> $2",
    );
    let exchanged = exchanged.bind(key).bind(replica).bind(scope.workspace).bind(own.minute);
    let exchanged = exchanged.bind(own.requests).bind(own.runs).bind(own.running);
    let exchanged = exchanged.bind(&*scope.actor).bind(RUNNING.as_secs_f64());
    Ok(exchanged.fetch_one(&mut *db.scoped(scope).await?).await?)
}

/// What a key has spent in the current day (UTC) of the database's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromRow)]
pub struct Spending {
    /// Tokens, of inputs and outputs.
    pub tokens: i64,
    /// Money.
    pub cost: f64,
}

/// Sums the usage that is recorded for the actor of the scope: of runs, those of batches and evaluations among
/// them, of metrics, and of optimizations. A run or job counts on the day on which it was created.
pub async fn spent(scope: &Scope, db: &Db) -> Result<Spending, StoreError> {
    let spent = sqlx::query_as(
        "with today as (
             select date_trunc('day', clock_timestamp() at time zone 'UTC') at time zone 'UTC' as start
         ), used as (
             select (usage->>'input_tokens')::int8 + (usage->>'output_tokens')::int8 as tokens,
                    (usage->>'cost')::float8 as cost
             from runs, today
             where workspace_id = $1 and created_by = $2 and created_at >= today.start
             union all
             select judging_input_tokens + judging_output_tokens
                        + case when record then 0 else input_tokens + output_tokens end,
                    coalesce(judging_cost, 0) + case when record then 0 else coalesce(cost, 0) end
             from evaluations, today
             where workspace_id = $1 and created_by = $2 and created_at >= today.start
             union all
             select input_tokens + output_tokens, cost
             from optimizations, today
             where workspace_id = $1 and created_by = $2 and created_at >= today.start
         )
         select coalesce(sum(tokens), 0)::int8 as tokens, coalesce(sum(cost), 0)::float8 as cost
         from used",
    );
    let spent = spent.bind(scope.workspace).bind(&*scope.actor);
    Ok(spent.fetch_one(&mut *db.scoped(scope).await?).await?)
}

/// Removes the counts of servers that have ended. For all workspaces, as upkeep is.
pub async fn purge(db: &Db) -> Result<u64, StoreError> {
    let purged = sqlx::query(
        "delete from key_counts where updated_at < clock_timestamp() - $1 * interval '1 second'",
    );
    let purged = purged.bind(OLD.as_secs_f64());
    Ok(purged.execute(&mut *db.all_workspaces().await?).await?.rows_affected())
}
