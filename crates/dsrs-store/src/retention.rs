//! Removes old rows in steps: jobs of all kinds that have ended, datasets that were deleted. Several
//! servers may do so at once: each skips rows that another has locked. May not know when a row is old.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::{Db, Scope, StoreError, feedback, run_label_index};

/// The kinds of old rows. A batch, an evaluation or an optimization is hidden before its rows are removed, so
/// that no client reads half of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiredRows {
    Runs,
    /// Batches that are visible.
    Batches,
    /// Results of hidden batches.
    BatchResults,
    /// Items of hidden batches.
    BatchItems,
    /// Hidden batches without results and items.
    EmptyBatches,
    /// Positions of examples in versions of deleted datasets.
    Examples,
    /// The content of such examples.
    ExampleTexts,
    /// Versions of deleted datasets.
    DatasetVersions,
    /// Deleted datasets without versions.
    EmptyDatasets,
    /// Evaluations that are visible.
    Evaluations,
    /// Results of hidden evaluations.
    EvaluationResults,
    /// Hidden evaluations without results.
    EmptyEvaluations,
    /// Results of calls that evaluations recorded.
    RecordedCalls,
    /// Optimizations that are visible.
    Optimizations,
    /// Candidates of hidden optimizations.
    Candidates,
    /// Hidden optimizations without candidates.
    EmptyOptimizations,
    /// Entries of the audit log.
    Audit,
    /// Messages of webhooks, and the log of their delivery.
    Deliveries,
    /// Firings of schedules.
    Firings,
}

impl ExpiredRows {
    /// Runs, batches and deleted datasets, in the order of removal.
    pub const OF_RUNS: &[Self] = &[
        Self::Runs,
        Self::Batches,
        Self::BatchResults,
        Self::BatchItems,
        Self::EmptyBatches,
        Self::Examples,
        Self::ExampleTexts,
        Self::DatasetVersions,
        Self::EmptyDatasets,
    ];

    /// Evaluations, in the order of removal.
    pub const OF_EVALUATIONS: &[Self] =
        &[Self::Evaluations, Self::EvaluationResults, Self::EmptyEvaluations, Self::RecordedCalls];

    /// Optimizations, in the order of removal.
    pub const OF_OPTIMIZATIONS: &[Self] =
        &[Self::Optimizations, Self::Candidates, Self::EmptyOptimizations];

    /// The audit log.
    pub const OF_AUDIT: &[Self] = &[Self::Audit];

    /// Messages of webhooks.
    pub const OF_WEBHOOKS: &[Self] = &[Self::Deliveries];

    pub const OF_SCHEDULES: &[Self] = &[Self::Firings];
}

/// Datasets that are considered in one step.
const DATASETS: i64 = 1000;

/// Which rows are old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// They ended or were deleted before this time.
    pub before: DateTime<Utc>,
    /// In tables with partitions: their ids are before this one. Others are removed with their partition.
    pub below: Uuid,
}

/// Hidden jobs whose rows are removed in one step.
const HIDDEN_JOBS: i64 = 100;

/// Removes at most `most` old rows; returns how many. If there are fewer than `most`, no more are left.
pub async fn remove(
    scope: &Scope,
    db: &Db,
    old: ExpiredRows,
    expiry: Expiry,
    most: i64,
) -> Result<u64, StoreError> {
    let before = expiry.before;
    let removal = match old {
        ExpiredRows::Runs => return remove_runs(scope, db, expiry, most).await,
        ExpiredRows::Batches => return BATCH_RESULTS.hide(scope, db, before, most).await,
        ExpiredRows::BatchResults => {
            return BATCH_RESULTS.remove_parts(scope, db, expiry, most).await;
        }
        ExpiredRows::BatchItems => return BATCH_ITEMS.remove_parts(scope, db, expiry, most).await,
        ExpiredRows::EmptyBatches => {
            return remove_empty(scope, db, &[BATCH_ITEMS, BATCH_RESULTS], expiry, most).await;
        }
        ExpiredRows::Examples => sqlx::query!(
            "delete from dataset_examples where (dataset_id, version, position) in (
                 select dataset_id, version, position from dataset_examples
                 where dataset_id = any($1) limit $2 for update skip locked)",
            &unused(scope, db, before).await?,
            most
        ),
        ExpiredRows::ExampleTexts => sqlx::query!(
            "delete from dataset_contents where (dataset_id, hash) in (
                 select dataset_id, hash from dataset_contents
                 where dataset_id = any($1) limit $2 for update skip locked)",
            &unused(scope, db, before).await?,
            most
        ),
        ExpiredRows::DatasetVersions => sqlx::query!(
            "delete from dataset_versions where (dataset_id, version) in (
                 select dataset_id, version from dataset_versions version
                 where dataset_id = any($1)
                   and not exists (select from dataset_examples e
                                   where e.dataset_id = version.dataset_id)
                   and not exists (select from dataset_contents c
                                   where c.dataset_id = version.dataset_id)
                 limit $2 for update skip locked)",
            &unused(scope, db, before).await?,
            most
        ),
        ExpiredRows::EmptyDatasets => sqlx::query!(
            "delete from datasets where id in (
                 select id from datasets
                 where id = any($1)
                   and not exists (select from dataset_versions where dataset_id = datasets.id)
                 limit $2 for update skip locked)",
            &unused(scope, db, before).await?,
            most
        ),
        ExpiredRows::Evaluations => return EVALUATIONS.hide(scope, db, before, most).await,
        ExpiredRows::EvaluationResults => {
            return EVALUATIONS.remove_parts(scope, db, expiry, most).await;
        }
        ExpiredRows::EmptyEvaluations => {
            return remove_empty(scope, db, &[EVALUATIONS], expiry, most).await;
        }
        ExpiredRows::RecordedCalls => {
            let table = ("recorded_calls", "workspace_id, key");
            return remove_by_age(scope, db, table, before, most).await;
        }
        ExpiredRows::Optimizations => return OPTIMIZATIONS.hide(scope, db, before, most).await,
        ExpiredRows::Candidates => {
            return OPTIMIZATIONS.remove_parts(scope, db, expiry, most).await;
        }
        ExpiredRows::EmptyOptimizations => {
            return remove_empty(scope, db, &[OPTIMIZATIONS], expiry, most).await;
        }
        ExpiredRows::Audit => {
            return remove_by_age(scope, db, ("audit", "id"), before, most).await;
        }
        ExpiredRows::Firings => {
            return remove_by_age(scope, db, ("schedule_firings", "id"), before, most).await;
        }
        ExpiredRows::Deliveries => {
            let table = ("webhook_deliveries", "webhook_id, id");
            return remove_by_age(scope, db, table, before, most).await;
        }
    };
    Ok(removal.execute(&mut *db.scoped(scope).await?).await?.rows_affected())
}

/// The ids are parameters of the deletion, so that the planner leaves out partitions.
async fn remove_runs(scope: &Scope, db: &Db, expiry: Expiry, most: i64) -> Result<u64, StoreError> {
    let mut tx = db.begin(scope).await?;
    let found = lock_old(scope, &mut tx, expiry, most).await?;
    feedback::remove_with_runs(&mut tx, &found).await?;
    let removed = sqlx::query("delete from runs where id = any($1)").bind(&found);
    let removed = removed.execute(&mut *tx).await?.rows_affected();
    run_label_index::remove(&mut tx, &found).await?;
    tx.commit().await?;
    Ok(removed)
}

/// Locks old runs of a workspace and returns their ids, in order.
pub(super) async fn lock_old(
    scope: &Scope,
    connection: &mut PgConnection,
    expiry: Expiry,
    most: i64,
) -> Result<Vec<Uuid>, StoreError> {
    let found = sqlx::query_scalar(
        "select id from runs
         where workspace_id = $1 and created_at < $2 and finished_at < $2 and id < $3
         order by created_at limit $4 for update skip locked",
    );
    let found = found.bind(scope.workspace).bind(expiry.before).bind(expiry.below).bind(most);
    let mut found: Vec<Uuid> = found.fetch_all(connection).await?;
    found.sort_unstable();
    Ok(found)
}

/// Removes rows of a table by their age; `key` are the columns of its primary key.
async fn remove_by_age(
    scope: &Scope,
    db: &Db,
    (table, key): (&'static str, &'static str),
    before: DateTime<Utc>,
    most: i64,
) -> Result<u64, StoreError> {
    let sql = format!(
        "delete from {table} where ({key}) in (
             select {key} from {table}
             where workspace_id = $1 and created_at < $2 limit $3 for update skip locked)"
    );
    let removed = sqlx::query(AssertSqlSafe(sql)).bind(scope.workspace).bind(before).bind(most);
    Ok(removed.execute(&mut *db.scoped(scope).await?).await?.rows_affected())
}

/// Datasets that were deleted before a time, except those that a job may still read: a job that was
/// requested before the deletion, or that resolved the dataset just before and was stored a little later.
async fn unused(scope: &Scope, db: &Db, before: DateTime<Utc>) -> Result<Vec<Uuid>, StoreError> {
    let found = sqlx::query_scalar!(
        "select id from datasets
         where workspace_id = $1 and deleted_at < $2
           and not exists (select from jobs
                           where jobs.workspace_id = $1
                             and jobs.kind in ('evaluation', 'optimization', 'index_build')
                             and jobs.created_at < datasets.deleted_at + interval '1 hour')
         order by deleted_at limit $3",
        scope.workspace,
        before,
        DATASETS
    )
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    Ok(found)
}

/// A table of jobs that have parts, and the table of the parts.
#[derive(Clone, Copy)]
struct PartedTable {
    table: &'static str,
    parts: &'static str,
    /// The column of a part that names its job.
    job: &'static str,
    /// The column that numbers the parts of a job.
    number: &'static str,
}

const BATCH_ITEMS: PartedTable =
    PartedTable { table: "batches", parts: "batch_items", job: "batch_id", number: "position" };

const BATCH_RESULTS: PartedTable = PartedTable { parts: "batch_results", ..BATCH_ITEMS };

const EVALUATIONS: PartedTable = PartedTable {
    table: "evaluations",
    parts: "evaluation_results",
    job: "evaluation_id",
    number: "position",
};

const OPTIMIZATIONS: PartedTable = PartedTable {
    table: "optimizations",
    parts: "optimization_candidates",
    job: "optimization_id",
    number: "number",
};

impl PartedTable {
    async fn hide(
        &self,
        scope: &Scope,
        db: &Db,
        before: DateTime<Utc>,
        most: i64,
    ) -> Result<u64, StoreError> {
        let Self { table, .. } = self;
        let sql = format!(
            "update {table} set expired = true where id in (
                 select id from {table}
                 where workspace_id = $1 and finished_at < $3 and not expired
                 limit $2 for update skip locked)"
        );
        let hidden = sqlx::query(AssertSqlSafe(sql)).bind(scope.workspace).bind(most).bind(before);
        Ok(hidden.execute(&mut *db.scoped(scope).await?).await?.rows_affected())
    }

    /// Hidden jobs that have parts, some of them.
    async fn hidden(
        &self,
        scope: &Scope,
        connection: &mut PgConnection,
        below: Uuid,
    ) -> Result<Vec<Uuid>, StoreError> {
        let Self { table, parts, job, .. } = self;
        let sql = format!(
            "select id from {table}
             where workspace_id = $1 and expired and id < $2
               and exists (select from {parts} where {job} = {table}.id and {job} < $2)
             limit $3"
        );
        let hidden = sqlx::query_scalar(AssertSqlSafe(sql)).bind(scope.workspace).bind(below);
        Ok(hidden.bind(HIDDEN_JOBS).fetch_all(connection).await?)
    }

    /// Removes parts of hidden jobs. The jobs are parameters, so that the planner leaves out partitions.
    async fn remove_parts(
        &self,
        scope: &Scope,
        db: &Db,
        expiry: Expiry,
        most: i64,
    ) -> Result<u64, StoreError> {
        let Self { parts, job, number, .. } = self;
        let mut connection = db.scoped(scope).await?;
        let mut removed = 0;
        loop {
            let hidden = self.hidden(scope, &mut connection, expiry.below).await?;
            let rest = most - i64::try_from(removed).unwrap_or(most);
            if hidden.is_empty() || rest <= 0 {
                return Ok(removed);
            }
            let sql = format!(
                "with old as materialized (
                     select {job}, {number} from {parts} where {job} = any($1)
                     limit $2 for update skip locked)
                 delete from {parts}
                 where {job} = any($1) and ({job}, {number}) in (select {job}, {number} from old)"
            );
            let delete = sqlx::query(AssertSqlSafe(sql)).bind(hidden).bind(rest);
            let step = delete.execute(&mut *connection).await?.rows_affected();
            if step == 0 {
                // Another server has locked them.
                return Ok(removed);
            }
            removed += step;
        }
    }
}

/// Removes hidden jobs without parts; all tables have the same jobs.
async fn remove_empty(
    scope: &Scope,
    db: &Db,
    tables: &[PartedTable],
    expiry: Expiry,
    most: i64,
) -> Result<u64, StoreError> {
    let Some(PartedTable { table, .. }) = tables.first() else { return Ok(0) };
    let empty = tables.iter().map(|PartedTable { parts, job, .. }| {
        format!("and not exists (select from {parts} where {job} = {table}.id and {job} < $3)")
    });
    let empty: String = empty.collect();
    let sql = format!(
        "delete from {table} where id in (
             select id from {table} where workspace_id = $1 and expired and id < $3 {empty}
             limit $2 for update skip locked)"
    );
    let removed = sqlx::query(AssertSqlSafe(sql)).bind(scope.workspace).bind(most);
    let removed = removed.bind(expiry.below);
    Ok(removed.execute(&mut *db.scoped(scope).await?).await?.rows_affected())
}
