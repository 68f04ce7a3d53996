//! The work on an optimization, by whoever holds its job: what earlier attempts bought and rolled
//! out, what this one does, and the end. Whatever is written is written under the lease, so that of
//! two who think they hold the job only one writes.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::batch::Spent;
use super::job::{self, Lease};
use super::optimization_candidate::{self, CandidateRow};
use super::run::RunStatus;
use super::{Db, Scope, StoreError};

/// Rows that are removed at a time.
const STEP: i64 = 500;

/// What stands for a purchase or a rollout.
pub type Key = [u8; 32];

/// What an attempt has to keep.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Replies, as JSON text.
    pub purchases: Vec<(Key, String)>,
    /// Rollouts, as JSON text.
    pub rollouts: Vec<(Key, String)>,
    /// Candidates that are new, or of which something is.
    pub candidates: Vec<CandidateRow>,
    /// What was paid for, by this and all earlier attempts.
    pub spent: Spent,
    /// How long they took.
    pub seconds: f64,
}

/// How an optimization ended.
#[derive(Clone, Debug)]
pub struct End<'e> {
    /// Succeeded, failed or cancelled.
    pub status: RunStatus,
    /// What was found.
    pub result: Option<&'e str>,
    /// The candidate that was chosen, if it is not what was there before.
    pub best: Option<i32>,
    /// The state version that it was stored as.
    pub found_state: Option<i32>,
    /// Whether it was put in force, and why.
    pub activated: Option<&'e str>,
    /// The problem that it failed with.
    pub error: Option<&'e str>,
    /// When.
    pub at: DateTime<Utc>,
}

impl<'e> End<'e> {
    /// The end of one that failed.
    #[must_use]
    pub const fn failed(error: &'e str, at: DateTime<Utc>) -> Self {
        Self { error: Some(error), ..Self::without_result(RunStatus::Failed, at) }
    }

    /// The end of one of which nothing is left but its candidates.
    #[must_use]
    pub const fn without_result(status: RunStatus, at: DateTime<Utc>) -> Self {
        let (result, best, found_state, activated) = (None, None, None, None);
        Self { status, result, best, found_state, activated, error: None, at }
    }
}

/// Notes that work on an optimization begins; false when the lease is lost.
pub async fn begin(db: &Db, lease: Lease, at: DateTime<Utc>) -> Result<bool, StoreError> {
    let begun = sqlx::query!(
        "with held as (select id from jobs where id = $1 and holder = $2 for update)
         update optimizations set status = 'running', started_at = coalesce(started_at, $3)
         from held where optimizations.id = held.id",
        lease.job,
        lease.holder,
        at
    )
    .execute(db.pool())
    .await?;
    Ok(begun.rows_affected() == 1)
}

/// The keys of what was bought and of what was rolled out before.
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

/// A reply that was bought.
pub async fn purchase(
    scope: &Scope,
    db: &Db,
    optimization: Uuid,
    key: &Key,
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

/// A rollout that was made.
pub async fn rollout(
    scope: &Scope,
    db: &Db,
    optimization: Uuid,
    key: &Key,
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

/// Keeps what was done; false, writing nothing, when the lease is lost. Doing it again changes
/// nothing.
pub async fn keep(scope: &Scope, db: &Db, lease: Lease, kept: &Kept) -> Result<bool, StoreError> {
    let mut tx = db.pool().begin().await?;
    // Attempts that only find what others did come no further.
    let further = !kept.purchases.is_empty() || !kept.rollouts.is_empty();
    let held = match further {
        true => job::progress(&mut tx, lease).await?,
        false => job::hold_still(&mut tx, lease).await?,
    };
    if !held {
        return Ok(false);
    }
    add_kept(scope, &mut tx, lease, kept).await?;
    optimization_candidate::write(scope, &mut tx, lease, &kept.candidates).await?;
    set_spent(&mut tx, lease, kept.spent, kept.seconds).await?;
    tx.commit().await?;
    Ok(true)
}

async fn add_kept(
    scope: &Scope,
    connection: &mut PgConnection,
    lease: Lease,
    kept: &Kept,
) -> Result<(), StoreError> {
    let (keys, replies) = columns(&kept.purchases);
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
    let (keys, rollouts) = columns(&kept.rollouts);
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

fn columns(rows: &[(Key, String)]) -> (Vec<&[u8]>, Vec<&str>) {
    rows.iter().map(|(key, text)| (key.as_slice(), text.as_str())).unzip()
}

async fn set_spent(
    connection: &mut PgConnection,
    lease: Lease,
    spent: Spent,
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

/// Writes how an optimization ended, and ends its job; false, writing nothing, when the lease is
/// lost.
pub async fn finish(db: &Db, lease: Lease, end: &End<'_>) -> Result<bool, StoreError> {
    let mut tx = db.pool().begin().await?;
    if !job::end(&mut tx, lease).await? {
        return Ok(false);
    }
    sqlx::query!(
        "update optimizations set status = $2, result = $3::text::json, best = $4, found_state = $5,
                                  activated = $6::text::json, error = $7::text::json,
                                  finished_at = $8, started_at = coalesce(started_at, $8)
         where id = $1",
        lease.job,
        end.status.as_str(),
        end.result,
        end.best,
        end.found_state,
        end.activated,
        end.error,
        end.at
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(true)
}

/// Removes some of what was kept for attempts that will not be, of one optimization or of all; says
/// how many rows. Nothing is left once it says 0.
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
