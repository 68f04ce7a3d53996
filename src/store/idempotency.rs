//! Idempotency keys: the first response is stored for each caller, route and key, and a repeated request
//! receives it again. May not know what a route or a response means.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// The times of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTimes {
    /// Now.
    pub now: DateTime<Utc>,
    /// The end of the claim: a request whose server was killed must not block its repeats for ever.
    pub lease_until: DateTime<Utc>,
    /// When the key is removed.
    pub expires_at: DateTime<Utc>,
}

/// An idempotency key. The caller is the actor of the scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRef<'a> {
    /// The method and path of the request.
    pub route: &'a str,
    /// The key of the client.
    pub key: &'a str,
}

/// How to handle a request with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyLookup {
    /// It is the first, or the server of the first was killed: process it, then [`complete`] or
    /// [`abandon`] it.
    New(KeyLease),
    /// The first request is in progress.
    InProgress,
    /// The first request has ended with this response.
    Replay(StoredResponse),
    /// The key was used with another body.
    Reused,
}

/// The right to write the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLease(Uuid);

/// A stored response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResponse {
    /// The status.
    pub status: u16,
    /// The headers to repeat.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

/// Claims a key for a request. `holder` is a fresh id.
pub async fn begin(
    scope: &Scope,
    db: &Db,
    key: &KeyRef<'_>,
    body_hash: &[u8],
    holder: Uuid,
    times: KeyTimes,
) -> Result<KeyLookup, StoreError> {
    // The holder may abandon the key between the claim and the look-up. Then it is free: try again.
    for _ in 0..3 {
        if claim(scope, db, key, body_hash, holder, times).await? {
            return Ok(KeyLookup::New(KeyLease(holder)));
        }
        if let Some(begun) = find(scope, db, key, body_hash).await? {
            return Ok(begun);
        }
    }
    Ok(KeyLookup::InProgress)
}

/// Claims the key if it is free, expired, or held by an expired claim of the same body.
async fn claim(
    scope: &Scope,
    db: &Db,
    key: &KeyRef<'_>,
    body_hash: &[u8],
    holder: Uuid,
    times: KeyTimes,
) -> Result<bool, StoreError> {
    let claimed = sqlx::query!(
        "insert into idempotency_keys as held (workspace_id, created_by, route, key, body_hash,
                                               holder, lease_until, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (workspace_id, created_by, route, key) do update
         set body_hash = excluded.body_hash, holder = excluded.holder,
             lease_until = excluded.lease_until, created_at = excluded.created_at,
             expires_at = excluded.expires_at, status = null, headers = null, body = null
         where held.expires_at <= $8
            or (held.status is null and held.lease_until <= $8
                and held.body_hash = excluded.body_hash)",
        scope.workspace,
        &*scope.actor,
        key.route,
        key.key,
        body_hash,
        holder,
        times.lease_until,
        times.now,
        times.expires_at
    )
    .execute(db.pool())
    .await?;
    Ok(claimed.rows_affected() == 1)
}

async fn find(
    scope: &Scope,
    db: &Db,
    key: &KeyRef<'_>,
    body_hash: &[u8],
) -> Result<Option<KeyLookup>, StoreError> {
    let held = sqlx::query!(
        r#"select body_hash, status, headers::text, body from idempotency_keys
           where workspace_id = $1 and created_by = $2 and route = $3 and key = $4"#,
        scope.workspace,
        &*scope.actor,
        key.route,
        key.key
    )
    .fetch_optional(db.pool())
    .await?;
    let Some(held) = held else { return Ok(None) };
    if held.body_hash != body_hash {
        return Ok(Some(KeyLookup::Reused));
    }
    match (held.status, held.headers, held.body) {
        (Some(status), Some(headers), Some(body)) => {
            let status = u16::try_from(status).map_err(|e| StoreError::Internal(e.into()))?;
            let headers =
                serde_json::from_str(&headers).map_err(|e| StoreError::Internal(e.into()))?;
            Ok(Some(KeyLookup::Replay(StoredResponse { status, headers, body })))
        }
        _ => Ok(Some(KeyLookup::InProgress)),
    }
}

/// Stores the response. False, storing nothing, if another request has claimed the key meanwhile.
pub async fn complete(
    scope: &Scope,
    db: &Db,
    key: &KeyRef<'_>,
    lease: KeyLease,
    answer: &StoredResponse,
) -> Result<bool, StoreError> {
    let headers =
        serde_json::to_string(&answer.headers).map_err(|e| StoreError::Internal(e.into()))?;
    let kept = sqlx::query!(
        "update idempotency_keys set status = $6, headers = $7::text::json, body = $8
         where workspace_id = $1 and created_by = $2 and route = $3 and key = $4
           and holder = $5 and status is null",
        scope.workspace,
        &*scope.actor,
        key.route,
        key.key,
        lease.0,
        i32::from(answer.status),
        headers,
        &answer.body
    )
    .execute(db.pool())
    .await?;
    Ok(kept.rows_affected() == 1)
}

/// Releases the key without a response.
pub async fn abandon(
    scope: &Scope,
    db: &Db,
    key: &KeyRef<'_>,
    lease: KeyLease,
) -> Result<(), StoreError> {
    sqlx::query!(
        "delete from idempotency_keys
         where workspace_id = $1 and created_by = $2 and route = $3 and key = $4
           and holder = $5 and status is null",
        scope.workspace,
        &*scope.actor,
        key.route,
        key.key,
        lease.0
    )
    .execute(db.pool())
    .await?;
    Ok(())
}

/// Removes the expired keys of the workspace.
pub async fn purge(scope: &Scope, db: &Db, now: DateTime<Utc>) -> Result<u64, StoreError> {
    let purged = sqlx::query!(
        "delete from idempotency_keys where workspace_id = $1 and expires_at <= $2",
        scope.workspace,
        now
    )
    .execute(db.pool())
    .await?;
    Ok(purged.rows_affected())
}
