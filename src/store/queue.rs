//! The queue: which work is next. It carries ids and nothing else; what the work is and who is at
//! it, `job` knows. The only file that knows the queue's library.
//!
//! The library's own runner is not used: one failed query stops all that it runs, and what it has
//! taken is locked by a worker who may be dead. Here taking from the queue and taking on the work
//! are one transaction, so that work is in the queue or has a holder, and never neither.

use graphile_worker::sql::add_job::single::add_job;
use graphile_worker::sql::complete_job::complete_job;
use graphile_worker::sql::get_job::get_job;
use graphile_worker::sql::task_identifiers::{TaskDetails, get_tasks_details};
use graphile_worker::{Database, JobSpec, Schema, WorkerUtils};
use serde_json::json;
use sqlx::PgConnection;
use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::StoreError;

/// Where the library keeps its tables.
const SCHEMA: &str = "dsrs_queue";

/// The one kind of entry that there is.
const TASK: &str = "work";

/// The channel on which the library tells of new entries.
pub(super) const CHANNEL: &str = "jobs:insert";

/// The queue, as one who takes from it holds it.
#[derive(Debug)]
pub struct Queue {
    tasks: TaskDetails,
}

impl Queue {
    pub(super) async fn open(pool: &PgPool) -> Result<Self, StoreError> {
        let mut connection = pool.acquire().await?;
        let tasks = get_tasks_details(&mut *connection, schema(), vec![TASK.to_owned()]).await;
        Ok(Self { tasks: tasks.map_err(from_queue)? })
    }

    /// Takes the next entry out; it is back when the transaction is not committed.
    pub(super) async fn take(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Option<Uuid>, StoreError> {
        let taken = get_job(&mut *connection, &self.tasks, schema(), "dsrs-server", &[], None);
        let Some(taken) = taken.await.map_err(from_queue)? else { return Ok(None) };
        complete_job(&mut *connection, &taken, "dsrs-server", schema())
            .await
            .map_err(from_queue)?;
        let id = taken.payload().get("id").and_then(|id| id.as_str()).unwrap_or_default();
        Uuid::try_parse(id).map(Some).map_err(|error| StoreError::Internal(error.into()))
    }
}

/// Puts work into the queue, once however often it is put there.
pub(super) async fn add(connection: &mut PgConnection, id: Uuid) -> Result<(), StoreError> {
    let spec = JobSpec::builder().job_key(id.to_string()).build();
    let added = add_job(connection, schema(), TASK, json!({"id": id}), spec, false).await;
    added.map(drop).map_err(from_queue)
}

/// Brings the library's tables up to date; several servers may do so at once.
pub(super) async fn migrate(pool: &PgPool) -> Result<(), StoreError> {
    let utils = WorkerUtils::new(Database::from(pool), schema());
    utils.migrate().await.map_err(|error| StoreError::Internal(Box::new(error)))
}

fn schema() -> Schema {
    Schema::from(SCHEMA)
}

/// Errors of the driver reach us as text with, at best, a code.
fn from_queue(error: graphile_worker::errors::GraphileWorkerError) -> StoreError {
    use graphile_worker::errors::GraphileWorkerError as Queue;
    match error {
        Queue::SqlError(error) if error.code().is_none_or(super::error::is_passing_state) => {
            StoreError::unavailable(error.to_string())
        }
        other => StoreError::Internal(Box::new(other)),
    }
}
