//! The audit log: who did what to which thing, and when. Entries are written in the transaction of the change,
//! so that there is none without a change and no change without one. Never with contents.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::{Db, ListQuery, Page, Scope, StoreError};

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuditAction {
    Create,
    Change,
    Activate,
    Delete,
    Revoke,
    Cancel,
}

impl AuditAction {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Activate => "activate",
            Self::Delete => "delete",
            Self::Revoke => "revoke",
            Self::Cancel => "cancel",
        }
    }
}

/// The thing that it was done to.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuditThing<'a> {
    pub(super) kind: &'static str,
    pub(super) id: Uuid,
    pub(super) name: Option<&'a str>,
    pub(super) version: Option<i32>,
}

impl<'a> AuditThing<'a> {
    /// A thing with a name.
    pub(super) const fn named(kind: &'static str, id: Uuid, name: &'a str) -> Self {
        Self { kind, id, name: Some(name), version: None }
    }

    pub(super) const fn version(self, version: i32) -> Self {
        Self { version: Some(version), ..self }
    }
}

/// Adds an entry, within the transaction of the change.
pub(super) async fn add(
    scope: &Scope,
    connection: &mut PgConnection,
    action: AuditAction,
    thing: AuditThing<'_>,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let entry = sqlx::query(
        "insert into audit (workspace_id, actor, action, kind, thing_id, name, version, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
    );
    let entry = entry.bind(scope.workspace).bind(&*scope.actor).bind(action.as_str());
    let entry = entry.bind(thing.kind).bind(thing.id).bind(thing.name).bind(thing.version);
    entry.bind(at).execute(connection).await?;
    Ok(())
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct AuditRow {
    /// Its number; later entries have greater ones.
    pub id: i64,
    /// Who did it.
    pub actor: String,
    /// What was done.
    pub action: String,
    /// The kind of thing.
    pub kind: String,
    /// Its id. A state has the id of its graph.
    pub thing_id: Uuid,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The version that was created or activated.
    pub version: Option<i32>,
    /// When.
    pub created_at: DateTime<Utc>,
}

/// Which entries are listed.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Only those of this actor.
    pub actor: Option<String>,
    /// Only those about this kind of thing.
    pub kind: Option<String>,
    /// Only those of this time or later.
    pub since: Option<DateTime<Utc>>,
    /// Only those before this time.
    pub until: Option<DateTime<Utc>>,
}

/// One page of the entries of the workspace, newest first.
pub async fn list(
    scope: &Scope,
    db: &Db,
    filter: &AuditFilter,
    list: ListQuery<i64>,
) -> Result<Page<AuditRow, i64>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(
        "select id, actor, action, kind, thing_id, name, version, created_at from audit
         where workspace_id = ",
    );
    sql.push_bind(scope.workspace);
    if let Some(actor) = &filter.actor {
        sql.push(" and actor = ").push_bind(actor);
    }
    if let Some(kind) = &filter.kind {
        sql.push(" and kind = ").push_bind(kind);
    }
    if let Some(since) = filter.since {
        sql.push(" and created_at >= ").push_bind(since);
    }
    if let Some(until) = filter.until {
        sql.push(" and created_at < ").push_bind(until);
    }
    if let Some(after) = list.after {
        sql.push(" and id < ").push_bind(after);
    }
    sql.push(" order by id desc limit ").push_bind(list.fetch_count());
    let rows = sql.build_query_as::<AuditRow>().fetch_all(&mut *db.scoped(scope).await?).await?;
    Ok(list.page(rows, |row| row.id))
}
