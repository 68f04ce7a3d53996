//! How long the queue is, for the metrics of the whole server. Knows no workspace.

use crate::{Db, StoreError};

/// The most jobs that are counted.
const MOST_COUNTED: i64 = 100_000;

/// The queue of one kind of job.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueFigures {
    pub kind: String,
    /// How many jobs wait for a worker, counted up to 100,000 of all kinds together.
    pub jobs: i64,
    /// How long the oldest of them has waited since it was added, in seconds, by the clock of the database.
    pub oldest_age: f64,
}

/// The jobs of all workspaces that no worker has claimed and that no signal is awaited for, by kind. Kinds without
/// such jobs are missing.
pub async fn queue_figures(db: &Db) -> Result<Vec<QueueFigures>, StoreError> {
    let rows: Vec<(String, i64, f64)> = sqlx::query_as(
        "select kind, count(*),
                greatest(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8
         from (select kind, created_at from jobs
               where (holder is null or dispatched) and not waiting limit $1) queued
         group by kind",
    )
    .bind(MOST_COUNTED)
    .fetch_all(&mut *db.all_workspaces().await?)
    .await?;
    let figures = rows.into_iter();
    Ok(figures.map(|(kind, jobs, oldest_age)| QueueFigures { kind, jobs, oldest_age }).collect())
}
