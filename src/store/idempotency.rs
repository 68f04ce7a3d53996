//! First answers kept under an idempotency key, per caller and route, so that a repeat gets the
//! same answer and does nothing. What a route or an answer is, is not known here.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// When a claim is made, and how long it and its answer count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Now.
    pub now: DateTime<Utc>,
    /// The claim lapses then, so that a request whose server died does not block its repeats for
    /// good.
    pub lease_until: DateTime<Utc>,
    /// The key is forgotten then.
    pub expires_at: DateTime<Utc>,
}

/// What a client's key stands for. The caller is the scope's actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRef<'a> {
    /// The method and path that was called.
    pub route: &'a str,
    /// The client's key.
    pub key: &'a str,
}

/// What to do with a request that carries a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is the first, or the first crashed: do it, then [`complete`] or [`abandon`] it.
    New(Lease),
    /// The first is still being worked on.
    InProgress,
    /// It was done: give this answer again.
    Replay(Answer),
    /// The key belongs to another body.
    Reused,
}

/// The right to write the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease(Uuid);

/// An answer, as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers worth repeating.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

/// Claims a key for one request. `holder` is a fresh id.
pub async fn begin(
    scope: &Scope,
    db: &Db,
    key: &KeyRef<'_>,
    body_hash: &[u8],
    holder: Uuid,
    times: Times,
) -> Result<Begun, StoreError> {
    // the holder may give up between our claim and our look: then the key is free, so once more
    for _ in 0..3 {
        if claim(scope, db, key, body_hash, holder, times).await? {
            return Ok(Begun::New(Lease(holder)));
        }
        if let Some(begun) = look(scope, db, key, body_hash).await? {
            return Ok(begun);
        }
    }
    Ok(Begun::InProgress)
}

/// Takes the key if it is free, expired, or held by a lapsed lease of the same body.
async fn claim(
    scope: &Scope,
    db: &Db,
    key: &KeyRef<'_>,
    body_hash: &[u8],
    holder: Uuid,
    times: Times,
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

async fn look(
    scope: &Scope,
    db: &Db,
    key: &KeyRef<'_>,
    body_hash: &[u8],
) -> Result<Option<Begun>, StoreError> {
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
        return Ok(Some(Begun::Reused));
    }
    match (held.status, held.headers, held.body) {
        (Some(status), Some(headers), Some(body)) => {
            let status = u16::try_from(status).map_err(|e| StoreError::Internal(e.into()))?;
            let headers =
                serde_json::from_str(&headers).map_err(|e| StoreError::Internal(e.into()))?;
            Ok(Some(Begun::Replay(Answer { status, headers, body })))
        }
        _ => Ok(Some(Begun::InProgress)),
    }
}

/// Keeps the answer. Returns false, keeping nothing, if the lease lapsed and another took over.
pub async fn complete(
    scope: &Scope,
    db: &Db,
    key: &KeyRef<'_>,
    lease: Lease,
    answer: &Answer,
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

/// Frees the key: the answer is not one to keep.
pub async fn abandon(
    scope: &Scope,
    db: &Db,
    key: &KeyRef<'_>,
    lease: Lease,
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

/// Removes the workspace's expired keys; worth doing now and then.
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
