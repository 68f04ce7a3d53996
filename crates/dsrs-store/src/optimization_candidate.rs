//! The candidates of an optimization, in order. Attempts write them through `optimization_work`.

use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::job::Lease;
use super::{Db, ListQuery, Page, Scope, StoreError};

/// A candidate. Documents are JSON text.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateRow {
    /// The number, counted from 0, which is the original program.
    pub number: i32,
    /// The candidates that it was made from.
    pub parents: Vec<i32>,
    /// How it was made, as a JSON string.
    pub origin: String,
    /// Its scores: `{full, partial}`.
    pub scores: String,
    /// The value by which the best is chosen; `None` if it was not tried on all examples.
    pub objective: Option<f64>,
    pub state: String,
    /// Its graph; `None` if that is the original one.
    pub definition: Option<String>,
}

/// One page of candidates, in order. The key is the number.
pub async fn list(
    scope: &Scope,
    db: &Db,
    optimization: Uuid,
    list: ListQuery<i32>,
) -> Result<Page<CandidateRow, i32>, StoreError> {
    let rows = sqlx::query_as!(
        CandidateRow,
        r#"select number, parents, origin::text as "origin!", scores::text as "scores!", objective,
                  state::text as "state!", definition::text as definition
           from optimization_candidates
           where optimization_id = $1 and workspace_id = $2 and number > $3
           order by number limit $4"#,
        optimization,
        scope.workspace,
        list.after.unwrap_or(-1),
        list.fetch_count()
    )
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    Ok(list.page(rows, |row| row.number))
}

pub async fn get(
    scope: &Scope,
    db: &Db,
    optimization: Uuid,
    number: i32,
) -> Result<CandidateRow, StoreError> {
    let found = sqlx::query_as!(
        CandidateRow,
        r#"select number, parents, origin::text as "origin!", scores::text as "scores!", objective,
                  state::text as "state!", definition::text as definition
           from optimization_candidates
           where optimization_id = $1 and workspace_id = $2 and number = $3"#,
        optimization,
        scope.workspace,
        number
    )
    .fetch_optional(&mut *db.scoped(scope).await?)
    .await?;
    found.ok_or_else(|| StoreError::not_found("candidate", number))
}

/// The candidate with the best value on all examples; of equals the first.
pub async fn best(scope: &Scope, db: &Db, optimization: Uuid) -> Result<Option<i32>, StoreError> {
    let found = sqlx::query_scalar!(
        "select number from optimization_candidates
         where optimization_id = $1 and workspace_id = $2 and objective is not null
         order by objective desc, number limit 1",
        optimization,
        scope.workspace
    )
    .fetch_optional(&mut *db.scoped(scope).await?)
    .await?;
    Ok(found)
}

/// Inserts or updates candidates.
pub(super) async fn write(
    scope: &Scope,
    connection: &mut PgConnection,
    lease: Lease,
    rows: &[CandidateRow],
) -> Result<(), StoreError> {
    for row in rows {
        sqlx::query!(
            "insert into optimization_candidates (optimization_id, number, workspace_id, parents,
                                                  origin, scores, objective, state, definition)
             values ($1, $2, $3, $4, $5::text::json, $6::text::json, $7, $8::text::json,
                     $9::text::json)
             on conflict (optimization_id, number) do update
             set parents = excluded.parents, origin = excluded.origin, scores = excluded.scores,
                 objective = excluded.objective, state = excluded.state,
                 definition = excluded.definition",
            lease.job,
            row.number,
            scope.workspace,
            &row.parents,
            row.origin,
            row.scores,
            row.objective,
            row.state,
            row.definition
        )
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// A candidate without its state and its graph.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct CandidateOutlineRow {
    /// The number, counted from 0, which is the original program.
    pub number: i32,
    /// The candidates that it was made from.
    pub parents: Vec<i32>,
    /// How it was made, as a JSON string.
    pub origin: String,
    /// Its scores: `{full, partial}`.
    pub scores: String,
    /// Whether it changes the graph.
    pub changes_graph: bool,
}

/// The first candidates of an optimization, `most` at most, in order.
pub async fn outlines(
    scope: &Scope,
    db: &Db,
    optimization: Uuid,
    most: i64,
) -> Result<Vec<CandidateOutlineRow>, StoreError> {
    let rows = sqlx::query_as(
        "select number, parents, origin::text as origin, scores::text as scores,
                definition is not null as changes_graph
         from optimization_candidates
         where optimization_id = $1 and workspace_id = $2
         order by number limit $3",
    )
    .bind(optimization)
    .bind(scope.workspace)
    .bind(most)
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    Ok(rows)
}
