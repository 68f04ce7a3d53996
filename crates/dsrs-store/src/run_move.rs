//! Moves runs that have ended from the columns with JSON to bodies, in steps, while traffic flows: runs of the release
//! before, and runs that a server of that release still writes. May not know when it is called.
//!
//! A run that is moved leaves the index of those that are not, so the next step goes on from there, whatever is killed.
//! Two servers pass over each other's runs.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, FromRow, PgConnection};
use uuid::Uuid;

use super::packed_run::PackedRun;
use super::run::{COLUMNS, JsonRow, RunRow, RunStorage};
use super::{Db, Scope, StoreError};

/// Runs that a step looks at, and the bytes of documents after which it moves what it has.
const STEP_RUNS: i64 = 200;
const STEP_BYTES: usize = 8 << 20;

/// What a step has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveStep {
    /// The runs that were moved.
    pub moved: u64,
    /// Whether none could be moved now.
    pub is_complete: bool,
}

#[derive(FromRow)]
struct UnmovedRow {
    workspace_id: Uuid,
    #[sqlx(flatten)]
    json: JsonRow,
}

/// Moves some runs that ended before a time: a resumption of a younger one may be under way.
pub async fn step(db: &Db, before: DateTime<Utc>) -> Result<MoveStep, StoreError> {
    let mut tx = db.begin_everywhere().await?;
    let found = next_runs(&mut tx, before).await?;
    let packed: Vec<PackedRun> = found.iter().map(|found| pack(db, found)).collect();
    let moved = if packed.is_empty() { 0 } else { write(&mut tx, &packed).await? };
    tx.commit().await?;
    Ok(MoveStep { moved, is_complete: packed.is_empty() })
}

/// The next runs to move, up to a size.
async fn next_runs(
    connection: &mut PgConnection,
    before: DateTime<Utc>,
) -> Result<Vec<UnmovedRow>, StoreError> {
    let sql = format!(
        "select workspace_id, model_usage::text, {COLUMNS} from runs
         where body is null and finished_at is not null and finished_at < $1
         order by id limit $2 for update skip locked"
    );
    let found = sqlx::query_as(AssertSqlSafe(sql)).bind(before).bind(STEP_RUNS);
    let mut found: Vec<UnmovedRow> = found.fetch_all(connection).await?;
    let mut bytes = 0;
    let fits = found.iter().take_while(|found| {
        let fits = bytes < STEP_BYTES;
        bytes += found.json.run.size();
        fits
    });
    let count = fits.count();
    found.truncate(count);
    Ok(found)
}

/// Its usage was counted by what is stored, when it ended.
fn pack(db: &Db, UnmovedRow { workspace_id, json }: &UnmovedRow) -> PackedRun {
    let scope = Scope { workspace: *workspace_id, actor: json.run.created_by.as_str().into() };
    let storage = RunStorage::default().with_usage(json.usage());
    PackedRun::new(&scope, &db.bodies, &RunRow { storage, ..json.run.clone() })
}

async fn write(connection: &mut PgConnection, packed: &[PackedRun]) -> Result<u64, StoreError> {
    let ids: Vec<Uuid> = packed.iter().map(|run| run.row.id).collect();
    let costs: Vec<Option<f64>> = packed.iter().map(|run| run.usage.whole.cost).collect();
    let counts: Vec<&[u8]> = packed.iter().map(|run| run.counts.as_slice()).collect();
    let bodies: Vec<&[u8]> = packed.iter().map(|run| run.body.as_slice()).collect();
    // The ids are also a parameter, so that the planner leaves out partitions.
    let moved = sqlx::query(
        "update runs
         set body = moved.body, counts = moved.counts, total_cost = moved.cost, inputs = default, outputs = null,
             usage = default, nodes = default, trace = default, model_usage = null
         from unnest($1::uuid[], $2::float8[], $3::bytea[], $4::bytea[]) as moved (id, cost, counts, body)
         where runs.id = moved.id and runs.id = any($1) and runs.body is null",
    );
    let moved = moved.bind(ids).bind(costs).bind(counts).bind(bodies);
    Ok(moved.execute(connection).await?.rows_affected())
}
