//! Status rows: what clients read of a job, alike for all kinds. May not know the columns of a kind.

use sqlx::{AssertSqlSafe, PgConnection, Postgres, QueryBuilder, Transaction};
use uuid::Uuid;

use super::queue::add;
use super::{JobType, NewJob};
use crate::idempotency::{KeyedAnswer, store_answer};
use crate::page::ListedRow;
use crate::run::RunStatus;
use crate::{Db, ListQuery, Page, Scope, StoreError};

/// The status row of a job.
pub trait JobRow: ListedRow + Sync + 'static {
    const JOB: JobType;

    /// The query of all columns, up to the value that `workspace_id` is compared with.
    fn select() -> String;

    fn status(&self) -> RunStatus;

    /// Reads what the row only refers to, on a connection that sees its workspace.
    fn complete(
        self,
        _db: &Db,
        _connection: &mut PgConnection,
    ) -> impl Future<Output = Result<Self, StoreError>> + Send {
        std::future::ready(Ok(self))
    }

    /// The id of the row and of the job.
    fn id(&self) -> Uuid {
        self.cursor().id
    }
}

/// A status row by id.
pub async fn get<R: JobRow>(scope: &Scope, db: &Db, id: Uuid) -> Result<R, StoreError> {
    get_of(scope, db, &mut *db.scoped(scope).await?, id).await
}

/// The same on a connection that sees the workspace.
pub(crate) async fn get_of<R: JobRow>(
    scope: &Scope,
    db: &Db,
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<R, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(R::select());
    sql.push_bind(scope.workspace).push(" and id = ").push_bind(id);
    let found = sql.build_query_as::<R>().fetch_optional(&mut *connection).await?;
    let found = found.ok_or_else(|| StoreError::not_found(R::JOB.as_str(), id))?;
    found.complete(db, connection).await
}

/// The status by id; `None` if there is no such row.
pub async fn status_of<R: JobRow>(
    scope: &Scope,
    db: &Db,
    id: Uuid,
) -> Result<Option<RunStatus>, StoreError> {
    let table = R::JOB.table;
    let sql = format!("select status from {table} where workspace_id = $1 and id = $2");
    let found = sqlx::query_scalar::<_, String>(AssertSqlSafe(sql));
    let found =
        found.bind(scope.workspace).bind(id).fetch_optional(&mut *db.scoped(scope).await?).await?;
    found.map(RunStatus::try_from).transpose()
}

/// One page of status rows, newest first. `filter` adds conditions.
pub(crate) async fn list<R: JobRow>(
    scope: &Scope,
    db: &Db,
    list: ListQuery,
    filter: impl FnOnce(&mut QueryBuilder<Postgres>) + Send,
) -> Result<Page<R>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(R::select());
    sql.push_bind(scope.workspace);
    filter(&mut sql);
    list.newest_first(&mut *db.scoped(scope).await?, sql, "").await
}

/// How the transaction that stores work ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It commits, with the answer of a request that has a key.
    Commit(Option<KeyedAnswer>),
    /// It is rolled back: the request was only to be checked.
    Rollback,
}

/// Adds the job of a new status row, and ends the transaction that stored the row.
pub(crate) async fn commit_queued<R: JobRow>(
    scope: &Scope,
    db: &Db,
    mut tx: Transaction<'static, Postgres>,
    row: &R,
    request: &str,
    ending: &Ending,
) -> Result<(), StoreError> {
    let new = row.cursor();
    add(scope, &mut tx, NewJob { id: new.id, kind: R::JOB, request, at: new.created_at }).await?;
    match ending {
        Ending::Commit(answer) => {
            store_answer(scope, &mut tx, answer.as_ref()).await?;
            db.commit_job(tx).await
        }
        Ending::Rollback => Ok(tx.rollback().await?),
    }
}
