//! The work on an optimization: what an attempt records, candidates, and the result. They are written only
//! by the holder of the lease.
//!
//! May not know optimizers: documents are JSON text.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::batch::UsageTotals;
use super::job::{self, JobEnd, Lease};
use super::optimization;
use super::optimization_candidate::{self, CandidateRow};
use super::optimization_offer;
use super::optimization_record::{self, RecordKey};
use super::run::RunStatus;
use super::{Db, Scope, StoreError};

/// The records of an attempt that are written together.
#[derive(Clone, Debug, Default)]
pub struct OptimizationRecords {
    /// Replies, as JSON text.
    pub purchases: Vec<(RecordKey, String)>,
    /// Rollouts, as JSON text.
    pub rollouts: Vec<(RecordKey, String)>,
    /// Candidates that are new or have changed.
    pub candidates: Vec<CandidateRow>,
    /// Rollouts of other workers whose spending is in `spent`.
    pub counted: Vec<RecordKey>,
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

/// Writes records. False, writing nothing, if the lease is lost. Safe to repeat.
pub async fn record(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    records: &OptimizationRecords,
) -> Result<bool, StoreError> {
    let mut tx = db.begin(scope).await?;
    // An attempt that only finds records of earlier ones makes no progress.
    let has_progress = !records.purchases.is_empty()
        || !records.rollouts.is_empty()
        || !records.counted.is_empty();
    let held = match has_progress {
        true => job::progress(&mut tx, lease).await?,
        false => job::lock(&mut tx, lease).await?,
    };
    if !held {
        return Ok(false);
    }
    optimization_record::add(scope, &mut tx, lease.job, &records.purchases, &records.rollouts)
        .await?;
    optimization_offer::remove_counted(&mut tx, lease, &records.counted).await?;
    optimization_candidate::write(scope, &mut tx, lease, &records.candidates).await?;
    count_spending(scope, &mut tx, lease, records.spent).await?;
    set_spent(&mut tx, lease, records.spent, records.seconds).await?;
    tx.commit().await?;
    Ok(true)
}

/// Counts what an optimization has spent since its last records.
async fn count_spending(
    scope: &Scope,
    connection: &mut PgConnection,
    lease: Lease,
    spent: UsageTotals,
) -> Result<(), StoreError> {
    let counted = sqlx::query(
        "select add_spending($2, $3, $4 - input_tokens - output_tokens, $5 - coalesce(cost, 0))
         from optimizations where id = $1",
    );
    let counted = counted.bind(lease.job).bind(scope.workspace).bind(&*scope.actor);
    let counted = counted.bind(spent.input_tokens + spent.output_tokens);
    counted.bind(spent.cost.unwrap_or_default()).execute(connection).await?;
    Ok(())
}

async fn set_spent(
    connection: &mut PgConnection,
    lease: Lease,
    spent: UsageTotals,
    seconds: f64,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update optimizations set lm_calls = $2, input_tokens = $3, output_tokens = $4,
                                  cached_tokens = $5, cost = $6, seconds = $7,
                                  reasoning_tokens = $8, cache_write_tokens = $9
         where id = $1",
        lease.job,
        spent.lm_calls,
        spent.input_tokens,
        spent.output_tokens,
        spent.cached_tokens,
        spent.cost,
        seconds,
        spent.reasoning_tokens,
        spent.cache_write_tokens
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Ends an optimization: removes its job with its parts and offers, and writes its result. False, writing
/// nothing, if the lease is lost.
pub async fn finish(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    end: &OptimizationEnd<'_>,
) -> Result<bool, StoreError> {
    let mut tx = db.begin(scope).await?;
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
    let parts = optimization_offer::clear_within(scope, &mut tx, lease).await?;
    tx.commit().await?;
    optimization_offer::announce(db, lease, parts);
    Ok(true)
}
