//! Keys of clients: created, listed, revoked, and all of them at once for a cache. May not know the text of
//! a key, only its digest.

use chrono::{DateTime, Utc};
use dsrs_api::key::KeyLimits;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, FromRow, PgConnection, Postgres, QueryBuilder, Row};
use uuid::Uuid;

use super::audit::{self, AuditAction, AuditThing};
use super::error::violated_index;
use super::key_scope::KeyScopes;
use super::page::ListedRow;
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

/// The limits of a key, as the table has them.
struct LimitColumns(KeyLimits);

impl<'r> FromRow<'r, PgRow> for LimitColumns {
    fn from_row(row: &'r PgRow) -> sqlx::Result<Self> {
        Ok(Self(KeyLimits {
            requests_per_minute: row.try_get("requests_per_minute")?,
            runs_per_minute: row.try_get("runs_per_minute")?,
            concurrent_runs: row.try_get("concurrent_runs")?,
            tokens_per_day: row.try_get("tokens_per_day")?,
            cost_per_day: row.try_get("cost_per_day")?,
        }))
    }
}

impl From<LimitColumns> for KeyLimits {
    fn from(LimitColumns(limits): LimitColumns) -> Self {
        limits
    }
}

/// A key, without its text.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct KeyRow {
    pub id: Uuid,
    pub workspace_id: Uuid,
    pub name: String,
    /// How other rows name it: their `created_by`.
    pub label: String,
    /// The first characters of its text.
    pub prefix: String,
    /// What it may do.
    #[sqlx(try_from = "Vec<String>")]
    pub scopes: KeyScopes,
    #[sqlx(flatten, try_from = "LimitColumns")]
    pub limits: KeyLimits,
    /// When it ends.
    pub expires_at: Option<DateTime<Utc>>,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// By whom.
    pub created_by: String,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
    /// By whom.
    pub revoked_by: Option<String>,
    /// When it was last used, within about a minute.
    pub last_used_at: Option<DateTime<Utc>>,
}

impl ListedRow for KeyRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

/// A key to be created.
#[derive(Clone, Debug)]
pub struct NewKey<'a> {
    pub id: Uuid,
    pub name: &'a str,
    /// How other rows will name it.
    pub label: &'a str,
    /// The first characters of its text.
    pub prefix: &'a str,
    /// The SHA-256 of its text.
    pub digest: &'a [u8],
    /// What it may do.
    pub scopes: KeyScopes,
    pub limits: KeyLimits,
    /// When it ends.
    pub expires_at: Option<DateTime<Utc>>,
    /// Now.
    pub at: DateTime<Utc>,
}

const COLUMNS: &str = "id, workspace_id, name, label, prefix, scopes, requests_per_minute, runs_per_minute,
     concurrent_runs, tokens_per_day, cost_per_day, expires_at, created_at, created_by, revoked_at, revoked_by,
     last_used_at";

/// Creates a key. A name that a key of the workspace has is [`StoreError::AlreadyExists`].
pub async fn create(scope: &Scope, db: &Db, new: NewKey<'_>) -> Result<KeyRow, StoreError> {
    let mut tx = db.begin(scope).await?;
    let sql = format!(
        "insert into keys (id, workspace_id, name, label, prefix, digest, scopes, requests_per_minute,
             runs_per_minute, concurrent_runs, tokens_per_day, cost_per_day, expires_at, created_at,
             created_by)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
         returning {COLUMNS}"
    );
    let limits = new.limits;
    let inserted = sqlx::query_as(AssertSqlSafe(sql))
        .bind(new.id)
        .bind(scope.workspace)
        .bind(new.name)
        .bind(new.label)
        .bind(new.prefix)
        .bind(new.digest)
        .bind(new.scopes.words())
        .bind(limits.requests_per_minute)
        .bind(limits.runs_per_minute)
        .bind(limits.concurrent_runs)
        .bind(limits.tokens_per_day)
        .bind(limits.cost_per_day)
        .bind(new.expires_at)
        .bind(new.at)
        .bind(&*scope.actor)
        .fetch_one(&mut *tx)
        .await;
    let row: KeyRow = match inserted {
        Err(error) if violated_index(&error) == Some("keys_name") => {
            let name = new.name.to_owned();
            return Err(StoreError::AlreadyExists { what: "key", name });
        }
        other => other?,
    };
    let thing = AuditThing::named("key", row.id, &row.label);
    audit::add(scope, &mut tx, AuditAction::Create, thing, new.at).await?;
    db.commit_key_change(tx).await?;
    Ok(row)
}

/// One key of the workspace.
pub async fn get(scope: &Scope, db: &Db, id: Uuid) -> Result<KeyRow, StoreError> {
    let sql = format!("select {COLUMNS} from keys where workspace_id = $1 and id = $2");
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(id);
    let row = row.fetch_optional(&mut *db.scoped(scope).await?).await?;
    row.ok_or_else(|| StoreError::not_found("key", id))
}

/// The key of the workspace that has this name and is not revoked.
pub async fn named(scope: &Scope, db: &Db, name: &str) -> Result<KeyRow, StoreError> {
    let sql = format!(
        "select {COLUMNS} from keys where workspace_id = $1 and name = $2 and revoked_at is null"
    );
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(name);
    let row = row.fetch_optional(&mut *db.scoped(scope).await?).await?;
    row.ok_or_else(|| StoreError::not_found("key", name))
}

/// One page of the keys of the workspace, newest first.
pub async fn list(scope: &Scope, db: &Db, list: ListQuery) -> Result<Page<KeyRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new("select ");
    sql.push(COLUMNS).push(" from keys where workspace_id = ").push_bind(scope.workspace);
    list.newest_first(&mut *db.scoped(scope).await?, sql, "").await
}

/// Revokes a key: no server admits it once it knows. A key that is revoked stays as it is.
pub async fn revoke(
    scope: &Scope,
    db: &Db,
    id: Uuid,
    at: DateTime<Utc>,
) -> Result<KeyRow, StoreError> {
    let mut tx = db.begin(scope).await?;
    let sql = format!(
        "update keys set revoked_at = coalesce(revoked_at, $3), revoked_by = coalesce(revoked_by, $4)
         where workspace_id = $1 and id = $2 returning {COLUMNS}"
    );
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(id);
    let row = row.bind(at).bind(&*scope.actor).fetch_optional(&mut *tx).await?;
    let row: KeyRow = row.ok_or_else(|| StoreError::not_found("key", id))?;
    let thing = AuditThing::named("key", row.id, &row.label);
    audit::add(scope, &mut tx, AuditAction::Revoke, thing, at).await?;
    db.commit_key_change(tx).await?;
    Ok(row)
}

/// Writes that these keys have been used.
pub async fn mark_used(db: &Db, keys: &[Uuid]) -> Result<(), StoreError> {
    let marked = sqlx::query("update keys set last_used_at = clock_timestamp() where id = any($1)");
    marked.bind(keys).execute(&mut *db.all_workspaces().await?).await?;
    Ok(())
}

/// A key as a server needs it to admit a caller.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct AdmittedKey {
    pub id: Uuid,
    /// The SHA-256 of its text.
    pub digest: Vec<u8>,
    pub workspace_id: Uuid,
    /// How rows name it.
    pub label: String,
    /// What it may do.
    #[sqlx(try_from = "Vec<String>")]
    pub scopes: KeyScopes,
    #[sqlx(flatten, try_from = "LimitColumns")]
    pub limits: KeyLimits,
    /// When it ends.
    pub expires_at: Option<DateTime<Utc>>,
}

/// All keys at one moment.
#[derive(Clone, Debug)]
pub struct AllKeys {
    /// The time of the database's clock.
    pub now: DateTime<Utc>,
    /// Whether there is any, revoked and expired ones included.
    pub exist: bool,
    /// Those that are neither revoked nor expired.
    pub admitted: Vec<AdmittedKey>,
}

/// The keys of all workspaces. It has no scope: the key of a caller decides the scope.
pub async fn all(db: &Db) -> Result<AllKeys, StoreError> {
    let mut connection = db.all_workspaces().await?;
    let about: (DateTime<Utc>, bool) =
        sqlx::query_as("select clock_timestamp(), exists (select from keys)")
            .fetch_one(&mut *connection)
            .await?;
    let (now, exist) = about;
    let admitted = match exist {
        false => Vec::new(),
        true => admitted(&mut connection).await?,
    };
    Ok(AllKeys { now, exist, admitted })
}

async fn admitted(connection: &mut PgConnection) -> Result<Vec<AdmittedKey>, StoreError> {
    let keys = sqlx::query_as(
        "select id, digest, workspace_id, label, scopes, requests_per_minute, runs_per_minute,
                concurrent_runs, tokens_per_day, cost_per_day, expires_at
         from keys
         where revoked_at is null and (expires_at is null or expires_at > clock_timestamp())",
    );
    Ok(keys.fetch_all(connection).await?)
}
