//! Removes old rows in steps: runs and batches that have ended, datasets that were deleted. Several
//! servers may do so at once: each skips rows that another has locked. May not know when a row is old.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// The kinds of old rows, in the order of removal. A batch is hidden before its rows are removed, so that
/// no client reads half of it.
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
}

impl ExpiredRows {
    /// All kinds.
    pub const ALL: [Self; 9] = [
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
    };
    Ok(removal.execute(db.pool()).await?.rows_affected())
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
    .fetch_all(db.pool())
    .await?;
    Ok(found)
}
