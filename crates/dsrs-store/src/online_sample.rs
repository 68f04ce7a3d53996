//! Runs that wait for the scores of an online evaluation: chosen in the transactions that end runs, claimed by servers,
//! and removed in the transaction that stores their scores. May not know metrics.

use std::time::Duration;

use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::feedback::{self, FeedbackRow};
use super::online_evaluation::{self, DaySpending};
use super::{Db, Scope, StoreError, usage_judging};

/// Chooses some of these runs, whose rows are written. A run is chosen by a hash of its id, so that a repeat chooses
/// the same; ids of one millisecond differ in few bits.
pub(super) async fn choose(connection: &mut PgConnection, runs: &[Uuid]) -> Result<(), StoreError> {
    let chosen = sqlx::query(
        "insert into online_samples (run_id, workspace_id, graph_id, attempts, next_attempt_at, created_at)
         select ended.id, ended.workspace_id, ended.graph_id, 0, clock_timestamp(), clock_timestamp()
         from runs as ended
         join online_evaluations online on online.graph_id = ended.graph_id and online.enabled
         where ended.id = any($1) and ended.status = 'succeeded'
           and (hashtextextended(ended.id::text, 0) & 4294967295) < online.sample * 4294967296
         on conflict (run_id) do nothing",
    );
    chosen.bind(runs).execute(connection).await?;
    Ok(())
}

/// A run that this server scores.
#[derive(Clone, Debug, FromRow)]
pub struct ClaimedSample {
    pub run_id: Uuid,
    pub workspace_id: Uuid,
    pub graph_id: Uuid,
    /// The number of this attempt, from 1.
    pub attempts: i32,
}

/// Claims runs, of each graph the oldest first. Graphs take turns by chance, so that none waits for the runs of
/// another. If the server is killed, another one claims them after `lease`.
pub async fn claim(db: &Db, most: i64, lease: Duration) -> Result<Vec<ClaimedSample>, StoreError> {
    let claimed = sqlx::query_as(
        "with due as materialized (
             select sample.run_id
             from (select graph_id from online_evaluations order by random()) online
             cross join lateral (
                 select run_id from online_samples
                 where graph_id = online.graph_id and next_attempt_at <= clock_timestamp()
                 order by next_attempt_at limit 1 for update skip locked) sample
             limit $1
         )
         update online_samples sample
         set attempts = attempts + 1, next_attempt_at = clock_timestamp() + $2 * interval '1 second'
         from due where sample.run_id = due.run_id
         returning sample.run_id, sample.workspace_id, sample.graph_id, sample.attempts",
    );
    let claimed = claimed.bind(most).bind(lease.as_secs_f64());
    Ok(claimed.fetch_all(&mut *db.all_workspaces().await?).await?)
}

/// What an attempt at a run spent.
#[derive(Clone, Debug)]
pub struct JudgingSpent {
    /// As JSON text.
    pub usage: String,
    /// Requests to models.
    pub calls: i64,
    /// The cost, if prices are known.
    pub cost: Option<f64>,
    /// Whether the run stays without a score that a metric could not give.
    pub leaves_unmeasured: bool,
}

/// Stores the scores of a claimed run, and what they cost. False if another attempt has it.
pub async fn finish(
    scope: &Scope,
    db: &Db,
    claimed: &ClaimedSample,
    scores: Vec<FeedbackRow>,
    spent: &JudgingSpent,
) -> Result<bool, StoreError> {
    let mut tx = db.begin(scope).await?;
    let removed = sqlx::query("delete from online_samples where run_id = $1 and attempts = $2");
    let removed = removed.bind(claimed.run_id).bind(claimed.attempts).execute(&mut *tx).await?;
    if removed.rows_affected() == 0 {
        return Ok(false);
    }
    for score in scores {
        feedback::put_within(scope, &mut tx, score, i64::MAX).await?;
    }
    add_spent(scope, &mut tx, claimed, spent).await?;
    tx.commit().await?;
    Ok(true)
}

/// Stores what an attempt at a claimed run spent that another attempt follows, once its lease is over.
pub async fn postpone(
    scope: &Scope,
    db: &Db,
    claimed: &ClaimedSample,
    spent: &JudgingSpent,
) -> Result<(), StoreError> {
    let mut tx = db.begin(scope).await?;
    add_spent(scope, &mut tx, claimed, spent).await?;
    Ok(tx.commit().await?)
}

async fn add_spent(
    scope: &Scope,
    connection: &mut PgConnection,
    claimed: &ClaimedSample,
    spent: &JudgingSpent,
) -> Result<(), StoreError> {
    if spent.calls > 0 || spent.leaves_unmeasured {
        let spending = DaySpending {
            calls: spent.calls,
            cost: spent.cost.unwrap_or_default(),
            unmeasured: spent.leaves_unmeasured.into(),
        };
        online_evaluation::spend(scope, connection, claimed.graph_id, spending).await?;
    }
    if spent.calls > 0 {
        usage_judging::count(scope, connection, claimed.run_id, &spent.usage).await?;
    }
    Ok(())
}

/// Removes runs that wait for longer than an age: metrics are slower than the runs of their graph, or the graph has no
/// online evaluation any more.
pub async fn remove_old(db: &Db, age: Duration) -> Result<u64, StoreError> {
    let removed = sqlx::query(
        "delete from online_samples where created_at < clock_timestamp() - $1 * interval '1 second'",
    );
    let removed = removed.bind(age.as_secs_f64());
    Ok(removed.execute(&mut *db.all_workspaces().await?).await?.rows_affected())
}

/// Removes a claimed run that is not scored.
pub async fn give_up(scope: &Scope, db: &Db, claimed: &ClaimedSample) -> Result<(), StoreError> {
    let removed = sqlx::query("delete from online_samples where run_id = $1 and attempts = $2");
    let removed = removed.bind(claimed.run_id).bind(claimed.attempts);
    removed.execute(&mut *db.scoped(scope).await?).await?;
    Ok(())
}
