//! Idempotency keys: the first response is stored for each caller, route and key, and a repeated request
//! receives it again. The response of a request that starts work is stored in the transaction of the
//! work. May not know what a route or a response means.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// The longest route that is stored as text. An index row has room for about 2,700 bytes.
const LONGEST_ROUTE: usize = 1024;

/// The times of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTimes {
    pub now: DateTime<Utc>,
    /// The end of the claim: a request whose server was killed must not block its repeats for ever.
    pub lease_until: DateTime<Utc>,
    /// When the key is removed.
    pub expires_at: DateTime<Utc>,
}

impl KeyTimes {
    /// The times of a claim that counts for `lease`, of a key that is stored for `window`; both a year at most.
    #[must_use]
    pub fn new(now: DateTime<Utc>, lease: Duration, window: Duration) -> Self {
        let year = TimeDelta::days(365);
        let delta =
            |time| TimeDelta::from_std(time).map_or(year, |delta: TimeDelta| delta.min(year));
        Self { now, lease_until: now + delta(lease), expires_at: now + delta(window) }
    }
}

/// An idempotency key. The caller is the actor of the scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRef<'a> {
    /// The method and path of the request.
    pub route: &'a str,
    /// The key of the client.
    pub key: &'a str,
}

impl KeyRef<'_> {
    /// The route as it is stored: a long one as its hash, which no route looks like.
    fn stored_route(&self) -> Cow<'_, str> {
        if self.route.len() <= LONGEST_ROUTE {
            return Cow::Borrowed(self.route);
        }
        Cow::Owned(format!("sha256:{:x}", Sha256::digest(self.route)))
    }
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
    pub status: u16,
    /// The headers to repeat.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

/// The response of a request with a key, to be stored in the transaction of its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedAnswer {
    /// The method and path of the request.
    pub route: String,
    /// The key of the client.
    pub key: Arc<str>,
    /// The id with which the request claimed the key.
    pub holder: Uuid,
    pub response: StoredResponse,
}

impl KeyedAnswer {
    /// Stores the response, or refuses the work if another request has claimed the key meanwhile.
    async fn store(&self, scope: &Scope, connection: &mut PgConnection) -> Result<(), StoreError> {
        let key = KeyRef { route: &self.route, key: &self.key };
        let lease = KeyLease(self.holder);
        match complete_on(scope, connection, &key, lease, &self.response).await? {
            true => Ok(()),
            false => Err(StoreError::KeyTaken),
        }
    }
}

/// Stores the response of a request with a key, if it has one, within the transaction of its work. The
/// last statement before the commit: repeats wait for this row.
pub(super) async fn store_answer(
    scope: &Scope,
    connection: &mut PgConnection,
    answer: Option<&KeyedAnswer>,
) -> Result<(), StoreError> {
    match answer {
        Some(answer) => answer.store(scope, connection).await,
        None => Ok(()),
    }
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
    let route = key.stored_route();
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
        &*route,
        key.key,
        body_hash,
        holder,
        times.lease_until,
        times.now,
        times.expires_at
    )
    .execute(&mut *db.scoped(scope).await?)
    .await?;
    Ok(claimed.rows_affected() == 1)
}

/// How to handle a request whose key is claimed; `None` if the key is free.
pub async fn find(
    scope: &Scope,
    db: &Db,
    key: &KeyRef<'_>,
    body_hash: &[u8],
) -> Result<Option<KeyLookup>, StoreError> {
    let route = key.stored_route();
    let held = sqlx::query!(
        r#"select body_hash, status, headers::text, body from idempotency_keys
           where workspace_id = $1 and created_by = $2 and route = $3 and key = $4"#,
        scope.workspace,
        &*scope.actor,
        &*route,
        key.key
    )
    .fetch_optional(&mut *db.scoped(scope).await?)
    .await?;
    let Some(held) = held else { return Ok(None) };
    // Before the state: another body under the same key is refused even while the first is in progress.
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
    let mut connection = db.scoped(scope).await?;
    complete_on(scope, &mut connection, key, lease, answer).await
}

async fn complete_on(
    scope: &Scope,
    connection: &mut PgConnection,
    key: &KeyRef<'_>,
    lease: KeyLease,
    answer: &StoredResponse,
) -> Result<bool, StoreError> {
    let route = key.stored_route();
    let headers =
        serde_json::to_string(&answer.headers).map_err(|e| StoreError::Internal(e.into()))?;
    let stored = sqlx::query!(
        "update idempotency_keys set status = $6, headers = $7::text::json, body = $8
         where workspace_id = $1 and created_by = $2 and route = $3 and key = $4
           and holder = $5 and status is null",
        scope.workspace,
        &*scope.actor,
        &*route,
        key.key,
        lease.0,
        i32::from(answer.status),
        headers,
        &answer.body
    )
    .execute(connection)
    .await?;
    Ok(stored.rows_affected() == 1)
}

/// Releases the key without a response. False, changing nothing, if a response is stored or another
/// request has claimed the key.
pub async fn abandon(
    scope: &Scope,
    db: &Db,
    key: &KeyRef<'_>,
    lease: KeyLease,
) -> Result<bool, StoreError> {
    let route = key.stored_route();
    let released = sqlx::query!(
        "delete from idempotency_keys
         where workspace_id = $1 and created_by = $2 and route = $3 and key = $4
           and holder = $5 and status is null",
        scope.workspace,
        &*scope.actor,
        &*route,
        key.key,
        lease.0
    )
    .execute(&mut *db.scoped(scope).await?)
    .await?;
    Ok(released.rows_affected() == 1)
}

/// Removes the expired keys of the workspace.
pub async fn purge(scope: &Scope, db: &Db, now: DateTime<Utc>) -> Result<u64, StoreError> {
    let purged = sqlx::query!(
        "delete from idempotency_keys where workspace_id = $1 and expires_at <= $2",
        scope.workspace,
        now
    )
    .execute(&mut *db.scoped(scope).await?)
    .await?;
    Ok(purged.rows_affected())
}
