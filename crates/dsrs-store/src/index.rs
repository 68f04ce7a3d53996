//! Indexes of passages: created, listed, deleted. Builds are `index_build`, searches `index_search`.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, FromRow, Postgres, QueryBuilder, Transaction};
use uuid::Uuid;

use super::audit::{self, AuditAction, AuditThing};
use super::error::violated_index;
use super::index_build::{self, IndexBuildRow};
use super::job::{Ending, commit_queued};
use super::page::ListedRow;
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

/// The most indexes of a workspace.
pub const MOST_INDEXES: i64 = 200;

/// An index of passages.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct IndexRow {
    pub id: Uuid,
    pub name: String,
    pub dataset_id: Uuid,
    /// The name of the dataset at the time of the request.
    pub dataset: String,
    /// The input that is the passage; `None`: the only one.
    pub field: Option<String>,
    /// The language of the words.
    pub language: String,
    /// The alias of an embedding model, if passages have vectors.
    pub model: Option<String>,
    /// The build that answers searches.
    pub build_id: Option<Uuid>,
    /// The model that made its vectors.
    pub embedder: Option<String>,
    pub created_at: DateTime<Utc>,
    pub created_by: String,
}

impl ListedRow for IndexRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

const COLUMNS: &str = "id, name, dataset_id, dataset, field, language, model, build_id, \
     (select embedder from index_builds where index_builds.id = indexes.build_id) as embedder, created_at, created_by";

/// Creates an index with its first build. `None` if the workspace has as many indexes as it may.
pub async fn create(
    scope: &Scope,
    db: &Db,
    new: &IndexRow,
    build: &IndexBuildRow,
    request: &str,
    ending: &Ending,
) -> Result<Option<()>, StoreError> {
    let mut tx = db.begin(scope).await?;
    if !insert(scope, &mut tx, new).await? {
        return Ok(None);
    }
    let thing = AuditThing::named("index", new.id, &new.name);
    audit::add(scope, &mut tx, AuditAction::Create, thing, new.created_at).await?;
    index_build::insert(scope, &mut tx, build).await?;
    commit_queued(scope, db, tx, build, request, ending).await.map(Some)
}

async fn insert(
    scope: &Scope,
    tx: &mut Transaction<'static, Postgres>,
    new: &IndexRow,
) -> Result<bool, StoreError> {
    let turn = "select pg_advisory_xact_lock(hashtextextended('indexes of ' || $1::uuid::text, 0))";
    sqlx::query(turn).bind(scope.workspace).execute(&mut **tx).await?;
    let sql = format!(
        "insert into indexes (id, workspace_id, name, dataset_id, dataset, field, language, model, created_at, created_by)
         select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
         where (select count(*) from indexes where workspace_id = $2) < {MOST_INDEXES}"
    );
    let inserted = sqlx::query(AssertSqlSafe(sql))
        .bind(new.id)
        .bind(scope.workspace)
        .bind(&new.name)
        .bind(new.dataset_id)
        .bind(&new.dataset)
        .bind(&new.field)
        .bind(&new.language)
        .bind(&new.model)
        .bind(new.created_at)
        .bind(&*scope.actor)
        .execute(&mut **tx)
        .await;
    match inserted {
        Ok(inserted) => Ok(inserted.rows_affected() == 1),
        Err(error) if violated_index(&error) == Some("indexes_name") => {
            Err(StoreError::AlreadyExists { what: "index", name: new.name.clone() })
        }
        Err(error) => Err(error.into()),
    }
}

/// Starts another build of an index.
pub async fn rebuild(
    scope: &Scope,
    db: &Db,
    index: &IndexRow,
    build: &IndexBuildRow,
    request: &str,
    ending: &Ending,
) -> Result<(), StoreError> {
    let mut tx = db.begin(scope).await?;
    // A deletion waits: no build is left without its index.
    let sql = "select id from indexes where workspace_id = $1 and id = $2 for share";
    let found = sqlx::query(sql).bind(scope.workspace).bind(index.id);
    if found.fetch_optional(&mut *tx).await?.is_none() {
        return Err(StoreError::not_found("index", &index.name));
    }
    index_build::insert(scope, &mut tx, build).await?;
    let thing = AuditThing::named("index", index.id, &index.name).version(build.dataset_version);
    audit::add(scope, &mut tx, AuditAction::Change, thing, build.created_at).await?;
    commit_queued(scope, db, tx, build, request, ending).await
}

/// An index by its name.
pub async fn get(scope: &Scope, db: &Db, name: &str) -> Result<IndexRow, StoreError> {
    let sql = format!("select {COLUMNS} from indexes where workspace_id = $1 and name = $2");
    let found = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace);
    // No name has U+0000, and no text of the database.
    let found = match name.contains('\0') {
        true => None,
        false => found.bind(name).fetch_optional(&mut *db.scoped(scope).await?).await?,
    };
    found.ok_or_else(|| StoreError::not_found("index", name))
}

/// The index that a build belongs to.
pub async fn of_build(scope: &Scope, db: &Db, build: Uuid) -> Result<IndexRow, StoreError> {
    let sql = format!(
        "select {COLUMNS} from indexes
         where workspace_id = $1 and id = (select index_id from index_builds where index_builds.id = $2)"
    );
    let found = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(build);
    let found = found.fetch_optional(&mut *db.scoped(scope).await?).await?;
    found.ok_or_else(|| StoreError::not_found("index of the build", build))
}

/// The names of all indexes of a workspace, and whether their passages have vectors.
pub async fn names(scope: &Scope, db: &Db) -> Result<Vec<(String, bool)>, StoreError> {
    let sql = "select name, model is not null from indexes where workspace_id = $1 order by name";
    let names = sqlx::query_as(sql).bind(scope.workspace);
    Ok(names.fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// One page of indexes, newest first.
pub async fn list(scope: &Scope, db: &Db, list: ListQuery) -> Result<Page<IndexRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(format!(
        "select {COLUMNS} from indexes where workspace_id = "
    ));
    sql.push_bind(scope.workspace);
    list.newest_first(&mut *db.scoped(scope).await?, sql, "").await
}

/// Deletes an index with its passages. A build in progress ends with it.
pub async fn delete(
    scope: &Scope,
    db: &Db,
    index: &IndexRow,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut tx = db.begin(scope).await?;
    // In the order in which a worker that ends a build locks them.
    let jobs = "select jobs.id from jobs join index_builds on index_builds.id = jobs.id
                where index_builds.index_id = $2 and jobs.workspace_id = $1 for update of jobs";
    sqlx::query(jobs).bind(scope.workspace).bind(index.id).execute(&mut *tx).await?;
    let sql = "delete from indexes where workspace_id = $1 and id = $2";
    let deleted = sqlx::query(sql).bind(scope.workspace).bind(index.id).execute(&mut *tx).await?;
    if deleted.rows_affected() == 0 {
        return Err(StoreError::not_found("index", &index.name));
    }
    index_build::remove_all(scope, &mut tx, index.id).await?;
    let thing = AuditThing::named("index", index.id, &index.name);
    audit::add(scope, &mut tx, AuditAction::Delete, thing, at).await?;
    Ok(tx.commit().await?)
}
