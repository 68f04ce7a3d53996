//! Moves runs that have ended from the columns with JSON to bodies, in steps, while traffic flows. May not know when it
//! is called.
//!
//! A run that is moved leaves the index of those that are not, so whatever is killed, the next pass has only the rest.
//! Two servers may move the same runs: the second one changes nothing.

use chrono::{DateTime, Utc};
use futures_util::stream::TryStreamExt;
use sqlx::{AssertSqlSafe, FromRow, PgConnection};
use uuid::Uuid;

use super::packed_run::PackedRun;
use super::run_storage::{COLUMNS, StoredRow};
use super::{Db, Scope, StoreError};

/// Runs that a step moves, and the bytes of documents after which it takes no more.
const STEP_RUNS: i64 = 200;
const STEP_BYTES: usize = 4 << 20;

/// What a step has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveStep {
    /// The runs that were moved.
    pub moved: u64,
    /// The last run that it looked at; `None` if none is left.
    pub last: Option<Uuid>,
}

#[derive(FromRow)]
struct UnmovedRow {
    workspace_id: Uuid,
    #[sqlx(flatten)]
    stored: StoredRow,
}

/// Whether runs may be moved: they are stored in the compact form, and those that are not have an index. Servers build
/// it for the partitions that there were.
pub async fn is_possible(db: &Db) -> Result<bool, StoreError> {
    if !db.bodies.is_compact() {
        return Ok(false);
    }
    let is_valid = "select indisvalid from pg_index where indexrelid = 'runs_unmoved'::regclass";
    Ok(sqlx::query_scalar(is_valid).fetch_one(&mut *db.all_workspaces().await?).await?)
}

/// Moves some runs below an id that ended before a time, the newest first: from them dictionaries are made for the others.
/// Nothing is locked while they are packed: a run that a client resumes meanwhile stays as it is.
pub async fn step(
    db: &Db,
    below: Option<Uuid>,
    before: DateTime<Utc>,
) -> Result<MoveStep, StoreError> {
    let mut connection = db.all_workspaces().await?;
    let found = next_runs(&mut connection, below, before).await?;
    let Some(last) = found.last().map(|found| found.stored.run.id) else {
        return Ok(MoveStep { moved: 0, last: None });
    };
    let mut packed = Vec::with_capacity(found.len());
    for found in found {
        packed.push(pack(db, found)?);
        // Packing takes long in sum: others get their turn.
        tokio::task::yield_now().await;
    }
    let moved = write(&mut connection, &packed).await?;
    Ok(MoveStep { moved, last: Some(last) })
}

/// The next runs, those with the largest ids first, up to a size.
async fn next_runs(
    connection: &mut PgConnection,
    below: Option<Uuid>,
    before: DateTime<Utc>,
) -> Result<Vec<UnmovedRow>, StoreError> {
    let sql = format!(
        "select workspace_id, model_usage::text, {COLUMNS} from runs
         where body is null and finished_at is not null and finished_at < $1 and id < $2 order by id desc limit $3"
    );
    let rows = sqlx::query_as(AssertSqlSafe(sql)).bind(before).bind(below.unwrap_or(Uuid::max()));
    let mut rows = rows.bind(STEP_RUNS).fetch(connection);
    let (mut found, mut bytes) = (Vec::new(), 0);
    while bytes < STEP_BYTES
        && let Some(row) = rows.try_next().await?
    {
        let row: UnmovedRow = row;
        bytes += row.stored.run.size();
        found.push(row);
    }
    Ok(found)
}

/// Its usage was counted by what is stored, when it ended.
fn pack(db: &Db, UnmovedRow { workspace_id, stored }: UnmovedRow) -> Result<PackedRun, StoreError> {
    let usage = stored.usage()?;
    let scope = Scope { workspace: workspace_id, actor: stored.run.created_by.as_str().into() };
    Ok(PackedRun::compact(&scope, &db.bodies, &stored.run, usage))
}

async fn write(connection: &mut PgConnection, packed: &[PackedRun]) -> Result<u64, StoreError> {
    let ids: Vec<Uuid> = packed.iter().map(|run| run.row.id).collect();
    let costs: Vec<Option<f64>> = packed.iter().map(|run| run.usage.whole.cost).collect();
    let counts: Vec<_> = packed.iter().map(|run| run.form.counts.as_deref()).collect();
    let bodies: Vec<_> = packed.iter().map(|run| run.form.body.as_deref()).collect();
    let ends: Vec<_> = packed.iter().map(|run| run.row.finished_at).collect();
    // The ids are also a parameter, so that the planner leaves out partitions.
    let moved = sqlx::query(
        "update runs
         set body = moved.body, counts = moved.counts, total_cost = moved.cost, inputs = default, outputs = null,
             usage = default, nodes = default, trace = default, model_usage = null
         from unnest($1::uuid[], $2::float8[], $3::bytea[], $4::bytea[], $5::timestamptz[])
              as moved (id, cost, counts, body, finished_at)
         where runs.id = moved.id and runs.id = any($1) and runs.body is null and runs.finished_at = moved.finished_at",
    );
    let moved = moved.bind(ids).bind(costs).bind(counts).bind(bodies).bind(ends);
    Ok(moved.execute(connection).await?.rows_affected())
}
