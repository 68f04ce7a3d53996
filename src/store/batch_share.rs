//! What nodes of a batch's runs gave, kept under what their work is, so that the same work is done
//! once. It goes when the batch ends.

use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// What some work gave, as JSON text.
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
    Ok(outputs.fetch_optional(db.pool()).await?)
}

/// Keeps what some work gave. What is there already stays.
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
    .execute(db.pool())
    .await?;
    Ok(())
}

/// Removes at most so much of what is kept for a batch; says how much.
pub async fn clear(scope: &Scope, db: &Db, batch: Uuid, most: i64) -> Result<u64, StoreError> {
    let cleared = sqlx::query!(
        "delete from batch_shares where (batch_id, key) in (
             select batch_id, key from batch_shares
             where batch_id = $1 and workspace_id = $2 limit $3)",
        batch,
        scope.workspace,
        most
    )
    .execute(db.pool())
    .await?;
    Ok(cleared.rows_affected())
}
