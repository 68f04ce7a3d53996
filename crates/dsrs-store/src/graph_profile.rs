//! The newest runs of a graph whose nodes and traces a profile reads, bounded by number and by size. Documents are JSON
//! text. May not know what is in them.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, Postgres, QueryBuilder};
use uuid::Uuid;

use super::id_time::{before_rows_since, behind_rows_until};
use super::run::RunRow;
use super::run_storage::{self, COLUMNS};
use super::{Db, Scope, StoreError};

/// The most runs that are in memory at once, and the most bytes of their documents, compressed as JSON is stored,
/// unless one run has more. A body counts four times: it is about so much smaller.
const PORTION_RUNS: usize = 50;
const PORTION_BYTES: i64 = 256 << 10;

/// Which runs are read.
#[derive(Clone, Copy, Debug)]
pub struct ProfileQuery {
    pub graph: Uuid,
    /// Only runs of this version.
    pub version: Option<i32>,
    /// Created at this time or later.
    pub since: DateTime<Utc>,
    /// Created before this time.
    pub until: DateTime<Utc>,
    /// The most runs.
    pub most_runs: i64,
    /// The most bytes of their documents, as they are stored.
    pub most_bytes: i64,
}

/// The runs that a profile reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfiledRuns {
    /// Their ids, newest first, in portions of few bytes.
    pub portions: Vec<Vec<Uuid>>,
    /// Whether there are others.
    pub is_sample: bool,
}

/// The newest ended runs within the bounds.
pub async fn choose(
    scope: &Scope,
    db: &Db,
    graph_name: &str,
    query: ProfileQuery,
) -> Result<ProfiledRuns, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(
        "select id, coalesce(sum(coalesce(4 * octet_length(body), pg_column_size(trace) + pg_column_size(nodes)))
                                 over (order by created_at desc, id desc), 0)
         from runs where workspace_id = ",
    );
    sql.push_bind(scope.workspace);
    sql.push(" and graph_name = ").push_bind(graph_name.to_owned());
    sql.push(" and graph_id = ").push_bind(query.graph);
    sql.push(" and finished_at is not null and created_at >= ").push_bind(query.since);
    sql.push(" and created_at < ").push_bind(query.until);
    sql.push(" and id >= ").push_bind(before_rows_since(query.since));
    sql.push(" and id <= ").push_bind(behind_rows_until(query.until));
    if let Some(version) = query.version {
        sql.push(" and graph_version = ").push_bind(version);
    }
    sql.push(" order by created_at desc, id desc limit ").push_bind(query.most_runs + 1);
    let found = sql.build_query_as().fetch_all(&mut *db.scoped(scope).await?).await?;
    Ok(within_bounds(&found, query))
}

fn within_bounds(found: &[(Uuid, i64)], query: ProfileQuery) -> ProfiledRuns {
    let most = usize::try_from(query.most_runs).unwrap_or(usize::MAX);
    let small = found.iter().take(most).take_while(|(_, bytes)| *bytes <= query.most_bytes);
    let mut portions: Vec<Vec<Uuid>> = Vec::new();
    let (mut begins_at, mut last, mut count) = (0, 0, 0);
    for (id, bytes) in small {
        match portions
            .last_mut()
            .filter(|portion| portion.len() < PORTION_RUNS && bytes - begins_at <= PORTION_BYTES)
        {
            Some(portion) => portion.push(*id),
            None => {
                portions.push(vec![*id]);
                begins_at = last;
            }
        }
        (last, count) = (*bytes, count + 1);
    }
    ProfiledRuns { is_sample: count < found.len(), portions }
}

/// The documents of a run.
#[derive(Clone, Debug)]
pub struct ProfiledRun {
    /// The outcomes of its nodes.
    pub nodes: String,
    pub trace: String,
}

pub async fn documents(
    scope: &Scope,
    db: &Db,
    ids: &[Uuid],
) -> Result<Vec<ProfiledRun>, StoreError> {
    let sql = format!("select {COLUMNS} from runs where workspace_id = $1 and id = any($2)");
    let found = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(ids);
    let mut connection = db.scoped(scope).await?;
    let found = found.fetch_all(&mut *connection).await?;
    let found = run_storage::complete(&db.bodies, &mut connection, found).await?.into_iter();
    Ok(found.map(|RunRow { nodes, trace, .. }| ProfiledRun { nodes, trace }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(most_runs: i64, most_bytes: i64) -> ProfileQuery {
        let (since, until) = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
        ProfileQuery { graph: Uuid::nil(), version: None, since, until, most_runs, most_bytes }
    }

    /// Runs of these sizes: their sums, as the database makes them.
    fn runs(sizes: &[i64]) -> Vec<(Uuid, i64)> {
        let sums = sizes.iter().scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        });
        sums.enumerate().map(|(number, sum)| (Uuid::from_u128(number as u128), sum)).collect()
    }

    #[test]
    fn runs_are_read_in_portions_within_the_bounds() {
        let lengths =
            |found: &ProfiledRuns| -> Vec<usize> { found.portions.iter().map(Vec::len).collect() };
        let small = within_bounds(&runs(&[1; 120]), query(1000, 1 << 30));
        assert_eq!((lengths(&small), small.is_sample), (vec![50, 50, 20], false));
        let large = within_bounds(&runs(&[PORTION_BYTES; 3]), query(1000, 1 << 30));
        assert_eq!(lengths(&large), [1, 1, 1]);
        let many = within_bounds(&runs(&[1; 11]), query(10, 1 << 30));
        assert_eq!((lengths(&many), many.is_sample), (vec![10], true));
        let heavy = within_bounds(&runs(&[10, 10, 10]), query(10, 25));
        assert_eq!((lengths(&heavy), heavy.is_sample), (vec![2], true));
        assert_eq!(
            within_bounds(&[], query(10, 25)),
            ProfiledRuns { portions: vec![], is_sample: false }
        );
    }
}
