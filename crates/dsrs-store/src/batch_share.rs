//! Shared work of the runs of a batch: outputs of nodes by the key of the work, so that identical work is
//! done once. Removed when the batch ends. May not know what a key means.

use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// The outputs of some work, as JSON text.
pub async fn get(
    scope: &Scope,
    db: &Db,
    batch: Uuid,
    key: &[u8],
) -> Result<Option<String>, StoreError> {
    let outputs = sqlx::query_scalar!(
        r#"select outputs::text as "outputs!" from batch_shares
           where batch_id = $1 and workspace_id = $2 and key = $3"#,
        batch,
        scope.workspace,
        key
    );
    Ok(outputs.fetch_optional(&mut *db.scoped(scope).await?).await?)
}

/// Stores the outputs of some work, unless there are some already.
pub async fn put(
    scope: &Scope,
    db: &Db,
    batch: Uuid,
    key: &[u8],
    outputs: &str,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into batch_shares (batch_id, key, workspace_id, outputs)
         values ($1, $2, $3, $4::text::json) on conflict (batch_id, key) do nothing",
        batch,
        key,
        scope.workspace,
        outputs
    )
    .execute(&mut *db.scoped(scope).await?)
    .await?;
    Ok(())
}

/// Removes at most `most` outputs of a batch; returns how many.
pub async fn clear(scope: &Scope, db: &Db, batch: Uuid, most: i64) -> Result<u64, StoreError> {
    let cleared = sqlx::query!(
        "delete from batch_shares where (batch_id, key) in (
             select batch_id, key from batch_shares
             where batch_id = $1 and workspace_id = $2 limit $3)",
        batch,
        scope.workspace,
        most
    )
    .execute(&mut *db.scoped(scope).await?)
    .await?;
    Ok(cleared.rows_affected())
}
