//! The work on an optimization: recorded replies and rollouts, candidates, and the result. They are
//! written only by the holder of the lease.
//!
//! May not know optimizers: documents are JSON text.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, PgConnection};
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

/// A table of what an optimization has recorded by key: replies, or rollouts.
#[derive(Clone, Copy)]
struct RecordTable {
    table: &'static str,
    /// The column of the document.
    document: &'static str,
}

/// Replies.
const REPLIES: RecordTable = RecordTable { table: "optimization_purchases", document: "reply" };

/// Rollouts.
const ROLLOUTS: RecordTable = RecordTable { table: "optimization_rollouts", document: "rollout" };

impl RecordTable {
    async fn keys(self, scope: &Scope, db: &Db, owner: Uuid) -> Result<Vec<Vec<u8>>, StoreError> {
        let table = self.table;
        let sql =
            format!("select key from {table} where optimization_id = $1 and workspace_id = $2");
        let keys = sqlx::query_scalar(AssertSqlSafe(sql)).bind(owner).bind(scope.workspace);
        Ok(keys.fetch_all(&mut *db.scoped(scope).await?).await?)
    }

    async fn find(
        self,
        scope: &Scope,
        db: &Db,
        owner: Uuid,
        key: &RecordKey,
    ) -> Result<Option<String>, StoreError> {
        let Self { table, document } = self;
        let sql = format!(
            "select {document}::text from {table}
             where optimization_id = $1 and key = $2 and workspace_id = $3"
        );
        let found = sqlx::query_scalar(AssertSqlSafe(sql)).bind(owner).bind(key.as_slice());
        Ok(found.bind(scope.workspace).fetch_optional(&mut *db.scoped(scope).await?).await?)
    }

    async fn add(
        self,
        scope: &Scope,
        connection: &mut PgConnection,
        owner: Uuid,
        rows: &[(RecordKey, String)],
    ) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let (keys, documents): (Vec<&[u8]>, Vec<&str>) =
            rows.iter().map(|(key, text)| (key.as_slice(), text.as_str())).unzip();
        let Self { table, document } = self;
        let sql = format!(
            "insert into {table} (optimization_id, key, workspace_id, {document})
             select $1, key, $2, document::json
             from unnest($3::bytea[], $4::text[]) as new (key, document)
             on conflict do nothing"
        );
        let added = sqlx::query(AssertSqlSafe(sql)).bind(owner).bind(scope.workspace);
        added.bind(keys).bind(documents).execute(connection).await?;
        Ok(())
    }

    /// Removes some rows whose optimization has ended; returns how many.
    async fn purge(self, db: &Db, owner: Option<Uuid>) -> Result<u64, StoreError> {
        let table = self.table;
        let sql = format!(
            "delete from {table} where (optimization_id, key) in (
                 select old.optimization_id, old.key from {table} old
                 where ($2::uuid is null or old.optimization_id = $2)
                   and not exists (select from jobs where id = old.optimization_id)
                 limit $1 for update skip locked)"
        );
        let purged = sqlx::query(AssertSqlSafe(sql)).bind(STEP).bind(owner);
        Ok(purged.execute(&mut *db.all_workspaces().await?).await?.rows_affected())
    }
}

/// The keys of recorded replies and of recorded rollouts.
pub async fn keys(
    scope: &Scope,
    db: &Db,
    optimization: Uuid,
) -> Result<(Vec<Vec<u8>>, Vec<Vec<u8>>), StoreError> {
    let replies = REPLIES.keys(scope, db, optimization).await?;
    Ok((replies, ROLLOUTS.keys(scope, db, optimization).await?))
}

/// A recorded reply.
pub async fn purchase(
    scope: &Scope,
    db: &Db,
    optimization: Uuid,
    key: &RecordKey,
) -> Result<Option<String>, StoreError> {
    REPLIES.find(scope, db, optimization, key).await
}

/// A recorded rollout.
pub async fn rollout(
    scope: &Scope,
    db: &Db,
    optimization: Uuid,
    key: &RecordKey,
) -> Result<Option<String>, StoreError> {
    ROLLOUTS.find(scope, db, optimization, key).await
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
    let has_progress = !records.purchases.is_empty() || !records.rollouts.is_empty();
    let held = match has_progress {
        true => job::progress(&mut tx, lease).await?,
        false => job::lock(&mut tx, lease).await?,
    };
    if !held {
        return Ok(false);
    }
    REPLIES.add(scope, &mut tx, lease.job, &records.purchases).await?;
    ROLLOUTS.add(scope, &mut tx, lease.job, &records.rollouts).await?;
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

/// Ends an optimization: removes its job and writes its result. False, writing nothing, if the lease is
/// lost.
pub async fn finish(db: &Db, lease: Lease, end: &OptimizationEnd<'_>) -> Result<bool, StoreError> {
    let mut tx = db.begin(&lease).await?;
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
    Ok(REPLIES.purge(db, of).await? + ROLLOUTS.purge(db, of).await?)
}
