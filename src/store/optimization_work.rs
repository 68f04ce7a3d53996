//! The work on an optimization: recorded replies and rollouts, candidates, and the result. They are
//! written only by the holder of the lease.
//!
//! May not know optimizers: documents are JSON text.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::batch::UsageTotals;
use super::job::{self, JobEnd, Lease};
use super::optimization;
use super::optimization_candidate::{self, CandidateRow};
use super::run::RunStatus;
use super::{Db, Scope, StoreError};

/// Rows that are removed at a time.
const STEP: i64 = 500;

/// The key of a recorded reply or rollout.
pub type RecordKey = [u8; 32];

/// The records of an attempt that are written together.
#[derive(Clone, Debug, Default)]
pub struct OptimizationRecords {
    /// Replies, as JSON text.
    pub purchases: Vec<(RecordKey, String)>,
    /// Rollouts, as JSON text.
    pub rollouts: Vec<(RecordKey, String)>,
    /// Candidates that are new or have changed.
    pub candidates: Vec<CandidateRow>,
    /// The usage of this and all earlier attempts.
    pub spent: UsageTotals,
    /// The time that these attempts took.
    pub seconds: f64,
}

/// How an optimization ended.
#[derive(Clone, Debug)]
pub struct OptimizationEnd<'e> {
    /// Succeeded, failed or cancelled.
    pub status: RunStatus,
    /// The result, as JSON text.
    pub result: Option<&'e str>,
    /// The chosen candidate, unless it is the program that the optimization started with.
    pub best: Option<i32>,
    /// The state version of that candidate.
    pub found_state: Option<i32>,
    /// Whether it was activated, and why.
    pub activated: Option<&'e str>,
    /// The problem that it failed with.
    pub error: Option<&'e str>,
    /// When.
    pub at: DateTime<Utc>,
}

impl<'e> OptimizationEnd<'e> {
    /// The end of an optimization that failed.
    #[must_use]
    pub const fn failed(error: &'e str, at: DateTime<Utc>) -> Self {
        Self { error: Some(error), ..Self::without_result(RunStatus::Failed, at) }
    }

    /// The end of an optimization without a result other than its candidates.
    #[must_use]
    pub const fn without_result(status: RunStatus, at: DateTime<Utc>) -> Self {
        let (result, best, found_state, activated) = (None, None, None, None);
        Self { status, result, best, found_state, activated, error: None, at }
    }
}

/// The keys of recorded replies and of recorded rollouts.
pub async fn keys(
    scope: &Scope,
    db: &Db,
    optimization: Uuid,
) -> Result<(Vec<Vec<u8>>, Vec<Vec<u8>>), StoreError> {
    let purchases = sqlx::query_scalar!(
        "select key from optimization_purchases where optimization_id = $1 and workspace_id = $2",
        optimization,
        scope.workspace
    )
    .fetch_all(db.pool())
    .await?;
    let rollouts = sqlx::query_scalar!(
        "select key from optimization_rollouts where optimization_id = $1 and workspace_id = $2",
        optimization,
        scope.workspace
    )
    .fetch_all(db.pool())
    .await?;
    Ok((purchases, rollouts))
}

/// A recorded reply.
pub async fn purchase(
    scope: &Scope,
    db: &Db,
    optimization: Uuid,
    key: &RecordKey,
) -> Result<Option<String>, StoreError> {
    let found = sqlx::query_scalar!(
        r#"select reply::text as "reply!" from optimization_purchases
           where optimization_id = $1 and key = $2 and workspace_id = $3"#,
        optimization,
        key,
        scope.workspace
    )
    .fetch_optional(db.pool())
    .await?;
    Ok(found)
}

/// A recorded rollout.
pub async fn rollout(
    scope: &Scope,
    db: &Db,
    optimization: Uuid,
    key: &RecordKey,
) -> Result<Option<String>, StoreError> {
    let found = sqlx::query_scalar!(
        r#"select rollout::text as "rollout!" from optimization_rollouts
           where optimization_id = $1 and key = $2 and workspace_id = $3"#,
        optimization,
        key,
        scope.workspace
    )
    .fetch_optional(db.pool())
    .await?;
    Ok(found)
}

/// Writes records. False, writing nothing, if the lease is lost. Safe to repeat.
pub async fn record(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    records: &OptimizationRecords,
) -> Result<bool, StoreError> {
    let mut tx = db.pool().begin().await?;
    // An attempt that only finds records of earlier ones makes no progress.
    let has_progress = !records.purchases.is_empty() || !records.rollouts.is_empty();
    let held = match has_progress {
        true => job::progress(&mut tx, lease).await?,
        false => job::lock(&mut tx, lease).await?,
    };
    if !held {
        return Ok(false);
    }
    add_records(scope, &mut tx, lease, records).await?;
    optimization_candidate::write(scope, &mut tx, lease, &records.candidates).await?;
    set_spent(&mut tx, lease, records.spent, records.seconds).await?;
    tx.commit().await?;
    Ok(true)
}

async fn add_records(
    scope: &Scope,
    connection: &mut PgConnection,
    lease: Lease,
    records: &OptimizationRecords,
) -> Result<(), StoreError> {
    let (keys, replies) = columns(&records.purchases);
    if !keys.is_empty() {
        sqlx::query!(
            "insert into optimization_purchases (optimization_id, key, workspace_id, reply)
             select $1, key, $2, reply::json from unnest($3::bytea[], $4::text[]) as new (key, reply)
             on conflict do nothing",
            lease.job,
            scope.workspace,
            &keys as &[&[u8]],
            &replies as &[&str]
        )
        .execute(&mut *connection)
        .await?;
    }
    let (keys, rollouts) = columns(&records.rollouts);
    if !keys.is_empty() {
        sqlx::query!(
            "insert into optimization_rollouts (optimization_id, key, workspace_id, rollout)
             select $1, key, $2, rollout::json
             from unnest($3::bytea[], $4::text[]) as new (key, rollout)
             on conflict do nothing",
            lease.job,
            scope.workspace,
            &keys as &[&[u8]],
            &rollouts as &[&str]
        )
        .execute(connection)
        .await?;
    }
    Ok(())
}

fn columns(rows: &[(RecordKey, String)]) -> (Vec<&[u8]>, Vec<&str>) {
    rows.iter().map(|(key, text)| (key.as_slice(), text.as_str())).unzip()
}

async fn set_spent(
    connection: &mut PgConnection,
    lease: Lease,
    spent: UsageTotals,
    seconds: f64,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update optimizations set lm_calls = $2, input_tokens = $3, output_tokens = $4,
                                  cached_tokens = $5, cost = $6, seconds = $7
         where id = $1",
        lease.job,
        spent.lm_calls,
        spent.input_tokens,
        spent.output_tokens,
        spent.cached_tokens,
        spent.cost,
        seconds
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Ends an optimization: removes its job and writes its result. False, writing nothing, if the lease is
/// lost.
pub async fn finish(db: &Db, lease: Lease, end: &OptimizationEnd<'_>) -> Result<bool, StoreError> {
    let mut tx = db.pool().begin().await?;
    let status = JobEnd { status: end.status, error: end.error, at: end.at };
    if !job::finish_within(&mut tx, optimization::JOB, lease, status).await? {
        return Ok(false);
    }
    sqlx::query!(
        "update optimizations set result = $2::text::json, best = $3, found_state = $4,
                                  activated = $5::text::json
         where id = $1",
        lease.job,
        end.result,
        end.best,
        end.found_state,
        end.activated
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(true)
}

/// Removes some replies and rollouts that no attempt needs any more: of one optimization, or of all
/// that have ended. Returns the number of rows, which is 0 once none is left.
pub async fn purge(db: &Db, of: Option<Uuid>) -> Result<u64, StoreError> {
    let purchases = sqlx::query!(
        "delete from optimization_purchases where (optimization_id, key) in (
             select kept.optimization_id, kept.key from optimization_purchases kept
             where ($2::uuid is null or kept.optimization_id = $2)
               and not exists (select from jobs where id = kept.optimization_id)
             limit $1 for update skip locked)",
        STEP,
        of
    )
    .execute(db.pool())
    .await?;
    let rollouts = sqlx::query!(
        "delete from optimization_rollouts where (optimization_id, key) in (
             select kept.optimization_id, kept.key from optimization_rollouts kept
             where ($2::uuid is null or kept.optimization_id = $2)
               and not exists (select from jobs where id = kept.optimization_id)
             limit $1 for update skip locked)",
        STEP,
        of
    )
    .execute(db.pool())
    .await?;
    Ok(purchases.rows_affected() + rollouts.rows_affected())
}
