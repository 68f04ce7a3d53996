//! The examples of a dataset version, page by page, in order. Written through `dataset_edit`.

use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// An example of a version. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ExampleRow {
    /// The position, counted from 0.
    pub position: i32,
    /// Its id in the dataset.
    pub id: String,
    /// Its split, if it names one.
    pub split: Option<String>,
    pub inputs: String,
    /// The expected outputs.
    pub expected: String,
    /// Whether the values are texts of table cells.
    pub cells: bool,
}

/// An example without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleKey {
    /// The position, counted from 0.
    pub position: i32,
    /// Its id in the dataset.
    pub id: String,
    /// Its split, if it names one.
    pub split: Option<String>,
}

/// The size of a page of examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimits {
    /// The number of examples.
    pub count: i64,
    /// The bytes of their texts; at least one example is read, whatever its size.
    pub bytes: i64,
}

/// The examples after a position; of one split, if named.
pub async fn page(
    scope: &Scope,
    db: &Db,
    version: (Uuid, i32),
    split: Option<&str>,
    after: i32,
    limits: PageLimits,
) -> Result<Vec<ExampleRow>, StoreError> {
    let mut connection = db.scoped(scope).await?;
    page_on(scope, &mut connection, version, split, after, limits).await
}

pub(super) async fn page_on(
    scope: &Scope,
    connection: &mut PgConnection,
    (dataset, version): (Uuid, i32),
    split: Option<&str>,
    after: i32,
    limits: PageLimits,
) -> Result<Vec<ExampleRow>, StoreError> {
    let rows = sqlx::query_as!(
        ExampleRow,
        r#"select page.position as "position!", page.example_id as "id!", page.split,
                  said.inputs::text as "inputs!", said.expected::text as "expected!", said.cells
           from (select position, example_id, split, hash, size,
                        sum(size) over (order by position) as upto
                 from (select position, example_id, split, hash, size from dataset_examples
                       where dataset_id = $1 and version = $2 and workspace_id = $3
                         and position > $4 and ($5::text is null or split = $5)
                       order by position limit $6) found) page
           join dataset_contents said on said.dataset_id = $1 and said.hash = page.hash
           where page.upto - page.size < $7
           order by page.position"#,
        dataset,
        version,
        scope.workspace,
        after,
        split,
        limits.count,
        limits.bytes
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The examples after a position, without their content.
pub async fn keys(
    scope: &Scope,
    db: &Db,
    (dataset, version): (Uuid, i32),
    after: i32,
    count: i64,
) -> Result<Vec<ExampleKey>, StoreError> {
    let rows = sqlx::query_as!(
        ExampleKey,
        "select position, example_id as id, split from dataset_examples
         where dataset_id = $1 and version = $2 and workspace_id = $3 and position > $4
         order by position limit $5",
        dataset,
        version,
        scope.workspace,
        after,
        count
    )
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    Ok(rows)
}

/// The examples at these positions, in their order.
pub async fn at(
    scope: &Scope,
    db: &Db,
    (dataset, version): (Uuid, i32),
    positions: &[i32],
) -> Result<Vec<ExampleRow>, StoreError> {
    let rows = sqlx::query_as(
        "select e.position, e.example_id as id, e.split, said.inputs::text as inputs,
                said.expected::text as expected, said.cells
         from dataset_examples e
         join dataset_contents said on said.dataset_id = e.dataset_id and said.hash = e.hash
         where e.dataset_id = $1 and e.version = $2 and e.workspace_id = $3
           and e.position = any($4)
         order by e.position",
    )
    .bind(dataset)
    .bind(version)
    .bind(scope.workspace)
    .bind(positions)
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    Ok(rows)
}
