//! Recorded replies and rollouts of an optimization, by their keys. May not know leases.

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// Rows that are removed at a time.
const STEP: i64 = 500;

/// The key of a recorded reply or rollout.
pub type RecordKey = [u8; 32];

/// A table of what an optimization has recorded by key: replies, or rollouts.
#[derive(Clone, Copy)]
struct RecordTable {
    table: &'static str,
    /// The column of the document.
    document: &'static str,
}

const REPLIES: RecordTable = RecordTable { table: "optimization_purchases", document: "reply" };

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
        // In one order, so that workers who add the same keys do not wait for each other in a circle.
        let sql = format!(
            "insert into {table} (optimization_id, key, workspace_id, {document})
             select $1, key, $2, document::json
             from unnest($3::bytea[], $4::text[]) as new (key, document) order by key
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

/// Stores replies and rollouts, as JSON text.
pub(super) async fn add(
    scope: &Scope,
    connection: &mut PgConnection,
    optimization: Uuid,
    purchases: &[(RecordKey, String)],
    rollouts: &[(RecordKey, String)],
) -> Result<(), StoreError> {
    REPLIES.add(scope, connection, optimization, purchases).await?;
    ROLLOUTS.add(scope, connection, optimization, rollouts).await
}

/// Removes some replies and rollouts that no attempt needs any more: of one optimization, or of all
/// that have ended. Returns the number of rows, which is 0 once none is left.
pub async fn purge(db: &Db, of: Option<Uuid>) -> Result<u64, StoreError> {
    Ok(REPLIES.purge(db, of).await? + ROLLOUTS.purge(db, of).await?)
}
