//! Results of `call` nodes that evaluations recorded. May not know tools: a call is a key, a result is JSON text.

use chrono::{DateTime, Utc};

use super::{Db, Scope, StoreError};

/// The result of a call.
pub async fn find(scope: &Scope, db: &Db, key: &[u8]) -> Result<Option<String>, StoreError> {
    let found = sqlx::query_scalar!(
        r#"select result::text as "result!" from recorded_calls where workspace_id = $1 and key = $2"#,
        scope.workspace,
        key
    );
    Ok(found.fetch_optional(&mut *db.scoped(scope).await?).await?)
}

/// Records the result of a call. One that is recorded already stays.
pub async fn record(
    scope: &Scope,
    db: &Db,
    key: &[u8],
    result: &str,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let added = sqlx::query!(
        "insert into recorded_calls (workspace_id, key, result, created_at)
         values ($1, $2, $3::text::json, $4) on conflict do nothing",
        scope.workspace,
        key,
        result,
        at
    );
    added.execute(&mut *db.scoped(scope).await?).await?;
    Ok(())
}
