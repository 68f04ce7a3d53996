//! Removes old rows in steps: jobs of all kinds that have ended, datasets that were deleted. Several
//! servers may do so at once: each skips rows that another has locked. May not know when a row is old.

use chrono::{DateTime, Utc};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// The kinds of old rows. A batch, an evaluation or an optimization is hidden before its rows are removed, so
/// that no client reads half of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiredRows {
    /// Runs.
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
    /// Optimizations that are visible.
    Optimizations,
    /// Candidates of hidden optimizations.
    Candidates,
    /// Hidden optimizations without candidates.
    EmptyOptimizations,
    /// Entries of the audit log.
    Audit,
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
        &[Self::Evaluations, Self::EvaluationResults, Self::EmptyEvaluations];

    /// Optimizations, in the order of removal.
    pub const OF_OPTIMIZATIONS: &[Self] =
        &[Self::Optimizations, Self::Candidates, Self::EmptyOptimizations];

    /// The audit log.
    pub const OF_AUDIT: &[Self] = &[Self::Audit];
}

/// Datasets that are considered in one step.
const DATASETS: i64 = 1000;

/// Removes at most `most` rows that ended or were deleted before a time; returns how many. If there are
/// fewer than `most`, no more are left.
pub async fn remove(
    scope: &Scope,
    db: &Db,
    old: ExpiredRows,
    before: DateTime<Utc>,
    most: i64,
) -> Result<u64, StoreError> {
    let workspace = scope.workspace;
    let removal = match old {
        ExpiredRows::Runs => sqlx::query!(
            "delete from runs where id in (
                 select id from runs
                 where workspace_id = $1 and created_at < $2 and finished_at < $2
                 order by created_at limit $3 for update skip locked)",
            workspace,
            before,
            most
        ),
        ExpiredRows::Batches => sqlx::query!(
            "update batches set expired = true where id in (
                 select id from batches
                 where workspace_id = $1 and finished_at < $2 and not expired
                 limit $3 for update skip locked)",
            workspace,
            before,
            most
        ),
        ExpiredRows::BatchResults => sqlx::query!(
            "delete from batch_results where (batch_id, position) in (
                 select result.batch_id, result.position from batches
                 join batch_results result on result.batch_id = batches.id
                 where batches.workspace_id = $1 and batches.expired
                 limit $2 for update of result skip locked)",
            workspace,
            most
        ),
        ExpiredRows::BatchItems => sqlx::query!(
            "delete from batch_items where (batch_id, position) in (
                 select item.batch_id, item.position from batches
                 join batch_items item on item.batch_id = batches.id
                 where batches.workspace_id = $1 and batches.expired
                 limit $2 for update of item skip locked)",
            workspace,
            most
        ),
        ExpiredRows::EmptyBatches => sqlx::query!(
            "delete from batches where id in (
                 select id from batches
                 where workspace_id = $1 and expired
                   and not exists (select from batch_items where batch_id = batches.id)
                   and not exists (select from batch_results where batch_id = batches.id)
                 limit $2 for update skip locked)",
            workspace,
            most
        ),
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
        ExpiredRows::EvaluationResults => return EVALUATIONS.remove_parts(scope, db, most).await,
        ExpiredRows::EmptyEvaluations => return EVALUATIONS.remove_empty(scope, db, most).await,
        ExpiredRows::Optimizations => return OPTIMIZATIONS.hide(scope, db, before, most).await,
        ExpiredRows::Candidates => return OPTIMIZATIONS.remove_parts(scope, db, most).await,
        ExpiredRows::EmptyOptimizations => {
            return OPTIMIZATIONS.remove_empty(scope, db, most).await;
        }
        ExpiredRows::Audit => return remove_audit(scope, db, before, most).await,
    };
    Ok(removal.execute(&mut *db.scoped(scope).await?).await?.rows_affected())
}

async fn remove_audit(
    scope: &Scope,
    db: &Db,
    before: DateTime<Utc>,
    most: i64,
) -> Result<u64, StoreError> {
    let removed = sqlx::query(
        "delete from audit where id in (
             select id from audit where workspace_id = $1 and created_at < $2
             limit $3 for update skip locked)",
    );
    let removed = removed.bind(scope.workspace).bind(before).bind(most);
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
                             and jobs.kind in ('evaluation', 'optimization')
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
struct PartedTable {
    table: &'static str,
    parts: &'static str,
    /// The column of a part that names its job.
    job: &'static str,
    /// The column that numbers the parts of a job.
    number: &'static str,
}

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

    async fn remove_parts(&self, scope: &Scope, db: &Db, most: i64) -> Result<u64, StoreError> {
        let Self { table, parts, job, number } = self;
        let sql = format!(
            "delete from {parts} where ({job}, {number}) in (
                 select part.{job}, part.{number} from {table}
                 join {parts} part on part.{job} = {table}.id
                 where {table}.workspace_id = $1 and {table}.expired
                 limit $2 for update of part skip locked)"
        );
        let removed = sqlx::query(AssertSqlSafe(sql)).bind(scope.workspace).bind(most);
        Ok(removed.execute(&mut *db.scoped(scope).await?).await?.rows_affected())
    }

    async fn remove_empty(&self, scope: &Scope, db: &Db, most: i64) -> Result<u64, StoreError> {
        let Self { table, parts, job, .. } = self;
        let sql = format!(
            "delete from {table} where id in (
                 select id from {table}
                 where workspace_id = $1 and expired
                   and not exists (select from {parts} where {job} = {table}.id)
                 limit $2 for update skip locked)"
        );
        let removed = sqlx::query(AssertSqlSafe(sql)).bind(scope.workspace).bind(most);
        Ok(removed.execute(&mut *db.scoped(scope).await?).await?.rows_affected())
    }
}
