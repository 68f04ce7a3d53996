//! Datasets and their versions: found, listed. Making versions is `dataset_edit`, their examples are
//! `dataset_example`.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::page::ListedRow;
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

/// One version of a dataset, without its examples.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct DatasetRow {
    /// The dataset's id.
    pub id: Uuid,
    pub name: String,
    /// When the dataset was made.
    pub made_at: DateTime<Utc>,
    /// The version that this row holds.
    #[sqlx(flatten)]
    pub version: DatasetVersionRow,
}

impl ListedRow for DatasetRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.made_at, id: self.id }
    }
}

/// What is known of a version.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct DatasetVersionRow {
    pub version: i32,
    /// What it says of itself: a JSON string, as JSON text.
    pub description: Option<String>,
    /// How many examples it has.
    pub count: i32,
    /// The length of their texts.
    pub bytes: i64,
    /// How many of them name which split: JSON text.
    pub splits: String,
    /// The hash of their texts.
    pub content_hash: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub created_by: String,
}

const VERSION: &str = "v.version, v.description::text, v.count, v.bytes, v.splits::text, \
     v.content_hash, v.created_at, v.created_by";

/// Datasets that are not deleted, each at a version.
fn select(scope: &Scope, version: Option<i32>) -> QueryBuilder<Postgres> {
    let mut sql = QueryBuilder::new("select d.id, d.name, d.created_at as made_at, ");
    sql.push(VERSION).push(" from datasets d join dataset_versions v on v.dataset_id = d.id");
    match version {
        Some(version) => sql.push(" and v.version = ").push_bind(version),
        None => sql.push(" and v.version = d.version"),
    };
    sql.push(" where d.deleted_at is null and d.workspace_id = ").push_bind(scope.workspace);
    sql
}

/// A dataset by name, at a version or the newest.
pub async fn get(
    scope: &Scope,
    db: &Db,
    name: &str,
    version: Option<i32>,
) -> Result<DatasetRow, StoreError> {
    let mut connection = db.scoped(scope).await?;
    if let Some(row) = find(scope, &mut connection, name, version).await? {
        return Ok(row);
    }
    match version {
        Some(version) if find(scope, &mut connection, name, None).await?.is_some() => {
            Err(StoreError::not_found("dataset version", version))
        }
        _ => Err(StoreError::not_found("dataset", name)),
    }
}

pub(super) async fn find(
    scope: &Scope,
    connection: &mut PgConnection,
    name: &str,
    version: Option<i32>,
) -> Result<Option<DatasetRow>, StoreError> {
    // No dataset's name has U+0000, and no text of the database.
    let Some(name) = Some(name).filter(|name| !name.contains('\0')) else { return Ok(None) };
    let mut sql = select(scope, version);
    sql.push(" and d.name = ").push_bind(name.to_owned());
    Ok(sql.build_query_as().fetch_optional(connection).await?)
}

/// One page of datasets at their newest versions, newest first.
pub async fn list(scope: &Scope, db: &Db, list: ListQuery) -> Result<Page<DatasetRow>, StoreError> {
    let sql = select(scope, None);
    list.newest_first(&mut *db.scoped(scope).await?, sql, "d.").await
}

/// One page of a dataset's versions, newest first; `before` is the last version of the page before.
pub async fn versions(
    scope: &Scope,
    db: &Db,
    dataset: Uuid,
    list: ListQuery<i32>,
) -> Result<Page<DatasetVersionRow, i32>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new("select ");
    sql.push(VERSION).push(" from dataset_versions v where v.dataset_id = ").push_bind(dataset);
    sql.push(" and v.workspace_id = ").push_bind(scope.workspace);
    sql.push(" and v.version < ").push_bind(list.after.unwrap_or(i32::MAX));
    sql.push(" order by v.version desc limit ").push_bind(list.fetch_count());
    let items =
        sql.build_query_as::<DatasetVersionRow>().fetch_all(&mut *db.scoped(scope).await?).await?;
    Ok(list.page(items, |item| item.version))
}
