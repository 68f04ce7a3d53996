//! The sessions that change partitions: with the role of the URL, which owns the tables, and one at a time over
//! all servers. May not know what they change.

use std::future::Future;
use std::time::Duration;

use sqlx::{Connection, PgConnection};
use tokio::time::{sleep, timeout};

use crate::{Db, StoreError};

/// What a change waits for: locks of tables, for a moment. Others wait behind it meanwhile.
const BEGIN: &str = "begin; set local lock_timeout = '2s'; set local statement_timeout = '10min';
    set local dsrs.workspace = '*'";

/// One server at a time changes partitions.
const CHANGES: i64 = 0x6473_7273_0001;

/// Runs are resumed beside each other, but not while a partition of theirs is removed: whether they outlive it is
/// decided before it is locked.
const RESUMPTIONS: i64 = 0x6473_7273_0002;

/// How often the connection is used while the session waits for other work, and how long it may take to answer.
const USED_EVERY: Duration = Duration::from_secs(15);
const ANSWER: Duration = Duration::from_secs(10);

/// A connection that changes partitions. It ends with its value, and so do its locks.
pub(super) struct PartitionSession {
    pub(super) connection: PgConnection,
}

impl PartitionSession {
    /// Opens a session. `None` if another server changes partitions now.
    pub(super) async fn open(db: &Db) -> Result<Option<Self>, StoreError> {
        let mut connection = db.owner_connection().await?;
        let is_alone: bool = sqlx::query_scalar("select pg_try_advisory_lock($1)")
            .bind(CHANGES)
            .fetch_one(&mut connection)
            .await?;
        Ok(is_alone.then_some(Self { connection }))
    }

    /// From now until the session ends no run is resumed.
    pub(super) async fn stop_resumptions(&mut self) -> Result<(), StoreError> {
        sqlx::query("select pg_advisory_lock($1)")
            .bind(RESUMPTIONS)
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    /// Waits for work outside of the database. The work ends when the session is lost, because another server may
    /// begin the same then; and a connection that is used is not closed on the way.
    pub(super) async fn alive_during<T>(
        &mut self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = sleep(USED_EVERY) => {}
            }
            let answer = timeout(ANSWER, self.connection.ping()).await;
            answer.map_err(|_| StoreError::unavailable("no answer of a session"))??;
        }
    }

    /// Begins a transaction that sees all workspaces.
    pub(super) async fn begin(&mut self) -> Result<(), StoreError> {
        sqlx::raw_sql(BEGIN).execute(&mut self.connection).await?;
        Ok(())
    }

    pub(super) async fn commit(&mut self) -> Result<(), StoreError> {
        sqlx::raw_sql("commit").execute(&mut self.connection).await?;
        Ok(())
    }

    /// Ends the session, and what it has not committed.
    pub(super) async fn close(mut self) -> Result<(), StoreError> {
        // Postgres releases the locks of a connection some time after it is closed.
        sqlx::raw_sql("rollback; select pg_advisory_unlock_all()")
            .execute(&mut self.connection)
            .await?;
        Ok(self.connection.close().await?)
    }
}

/// Lets no partition of runs be removed until the transaction ends, which resumes a run.
pub(crate) async fn begin_resumption(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query("select pg_advisory_xact_lock_shared($1)")
        .bind(RESUMPTIONS)
        .execute(connection)
        .await?;
    Ok(())
}
