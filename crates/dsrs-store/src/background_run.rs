//! Background runs: added to the queue, their completed nodes stored as checkpoints, finished and
//! resumed. Only the holder of the job's lease changes a run that a worker has claimed.
//!
//! May not know graphs: documents are JSON text.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::counted_row::CountedRow;
use super::group_writer::{CommitOutcome, NodeCheckpoints, Write, write_checkpoints};
use super::idempotency::{KeyedAnswer, store_answer};
use super::job::{self, Ending, Job, JobRow, JobType, Lease, NewJob};
use super::packed_checkpoint::{self, CHECKPOINT_COLUMNS, CheckpointRow, PackedCheckpoint};
use super::packed_run::PackedRun;
use super::run::{RunRow, RunStatus};
use super::run_label::RunLabels;
use super::run_progress::{NodeRow, RecordedCheckpoints, RunGraph};
use super::run_storage::{self, COLUMNS};
use super::run_usage::SpentUsage;
use super::usage_count::{CountedRun, SumSign, UsageSums};
use super::{Db, Scope, StoreError, partition, run_event, run_label_index, usage_insertion};

/// Background runs as jobs.
pub const JOB: JobType = JobType::new("run", "runs");

impl JobRow for RunRow {
    const JOB: JobType = JOB;

    fn select() -> String {
        format!("select {COLUMNS} from runs where workspace_id = ")
    }

    fn status(&self) -> RunStatus {
        self.status
    }

    async fn complete(self, db: &Db, connection: &mut PgConnection) -> Result<Self, StoreError> {
        let missing = || StoreError::not_found(JOB.as_str(), "");
        run_storage::complete(&db.bodies, connection, vec![self]).await?.pop().ok_or_else(missing)
    }
}

/// Stores a queued run and its job.
pub async fn accept(
    scope: &Scope,
    db: &Db,
    run: &RunRow,
    request: &str,
    ending: &Ending,
) -> Result<(), StoreError> {
    if *ending == Ending::Commit(None) {
        let (scope, run) = (scope.clone(), Arc::new(run.clone()));
        db.write(Write::Queue { scope, run, kind: JOB, request: request.into() }).await?;
        return Ok(());
    }
    let mut tx = db.begin(scope).await?;
    insert(scope, &mut tx, run).await?;
    job::commit_queued(scope, db, tx, run, request, ending).await
}

/// Stores a run that has not ended.
pub(super) async fn insert(
    scope: &Scope,
    connection: &mut PgConnection,
    run: &RunRow,
) -> Result<(), StoreError> {
    let inserted = sqlx::query(
        "insert into runs (id, workspace_id, graph_id, graph_name, graph_version, state_version,
                           status, created_at, started_at, inputs, usage, nodes, trace,
                           created_by, tags, session_id, user_id, metadata, model_usage)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::json, $11::text::json,
                 $12::text::json, $13::text::json, $14, $15::text::json, $16, $17, $18::text::json,
                 $19::text::json)",
    );
    let RunLabels { tags, session_id, user_id, metadata } = &run.labels;
    let inserted = inserted.bind(run.id).bind(scope.workspace).bind(run.graph_id);
    let inserted = inserted.bind(&run.graph_name).bind(run.graph_version).bind(run.state_version);
    let inserted = inserted.bind(run.status.as_str()).bind(run.created_at).bind(run.started_at);
    let inserted = inserted.bind(&run.inputs).bind(&run.usage).bind(&run.nodes).bind(&run.trace);
    let inserted = inserted.bind(&*scope.actor).bind(tags).bind(session_id);
    let inserted = inserted.bind(user_id).bind(metadata);
    let usage = SpentUsage::of(&run.usage, &run.trace);
    inserted.bind(usage.models_json()).execute(&mut *connection).await?;
    // Of one that waits for a value: it counts as a run when it ends.
    let mut sums = UsageSums::default();
    let counted = CountedRun::of(scope.workspace, &scope.actor, run);
    sums.add_usage(&counted, &usage, SumSign::Plus);
    usage_insertion::add(connection, &sums).await?;
    run_label_index::add(connection, std::iter::once((scope, run))).await
}

/// Stores the checkpoint of a node of a run of this graph, if it is known, and counts what it has spent. False if the
/// lease is lost. Safe to repeat.
pub async fn record_node(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    graph: Option<&RunGraph>,
    node: &Arc<NodeRow>,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let node = Arc::new(PackedCheckpoint::new(&db.bodies, scope.workspace, graph, node));
    let scope = scope.clone();
    Ok(db.write(Write::Checkpoint { scope, lease, node, at }).await?.is_stored())
}

/// Removes checkpoints of runs that have ended; returns how many. A server of the release before leaves them
/// behind.
pub async fn purge_checkpoints(db: &Db) -> Result<u64, StoreError> {
    let removed = sqlx::query!(
        "delete from run_nodes where not exists (select from jobs where jobs.id = run_nodes.run_id)"
    );
    Ok(removed.execute(&mut *db.all_workspaces().await?).await?.rows_affected())
}

/// A run with what its attempts have stored.
#[derive(Clone, Debug)]
pub struct StoredRun {
    pub run: RunRow,
    /// The checkpoints; none of a run that has ended.
    pub nodes: Vec<NodeRow>,
    /// The id of its newest event; 0 if it has none.
    pub newest_event: i64,
}

/// A run with its checkpoints; of the replica if it has succeeded there.
pub async fn get(scope: &Scope, db: &Db, id: Uuid) -> Result<StoredRun, StoreError> {
    match get_succeeded(scope, db, id).await {
        Ok(Some(run)) => return Ok(run),
        Ok(None) => {}
        Err(error) => db.give_up_replica(&error),
    }
    let mut connection = db.scoped(scope).await?;
    // In this order: a run that has ended by the last query has everything in its record.
    let nodes = nodes_of(scope, db, &mut connection, id).await?;
    let newest_event = run_event::newest_of(&mut connection, id).await?.unwrap_or(0);
    Ok(StoredRun { run: job::get_of(scope, db, &mut connection, id).await?, nodes, newest_event })
}

/// The runs of these jobs that no attempt has started, in any order: they have no checkpoint and no event. For all
/// workspaces, as the claim of jobs is.
pub async fn unstarted(db: &Db, jobs: &[Job]) -> Result<Vec<RunRow>, StoreError> {
    let runs = jobs.iter().filter(|job| job.kind == JOB.as_str());
    let (ids, workspaces): (Vec<Uuid>, Vec<Uuid>) =
        runs.map(|job| (job.lease.job, job.lease.workspace)).unzip();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut sql = QueryBuilder::<Postgres>::new(RunRow::select());
    sql.push("any(").push_bind(workspaces).push(") and started_at is null and id = any(");
    sql.push_bind(ids).push(")");
    Ok(sql.build_query_as().fetch_all(&mut *db.all_workspaces().await?).await?)
}

/// A run that the replica has as succeeded: it never changes again, so it does not matter how far the replica is
/// behind. A run that failed or was cancelled may be resumed.
async fn get_succeeded(scope: &Scope, db: &Db, id: Uuid) -> Result<Option<StoredRun>, StoreError> {
    let Some(mut replica) = db.replica_scoped(scope).await else { return Ok(None) };
    let run: RunRow = match job::get_of(scope, db, &mut replica, id).await {
        Ok(run) => run,
        Err(StoreError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    if run.status != RunStatus::Succeeded {
        return Ok(None);
    }
    let newest_event = run_event::newest_of(&mut replica, id).await?.unwrap_or(0);
    Ok(Some(StoredRun { run, nodes: Vec::new(), newest_event }))
}

/// The checkpoints of a run that has not ended; none of one that has.
async fn nodes_of(
    scope: &Scope,
    db: &Db,
    connection: &mut PgConnection,
    run: Uuid,
) -> Result<Vec<NodeRow>, StoreError> {
    let sql = format!(
        "select {CHECKPOINT_COLUMNS} from run_nodes
         where workspace_id = $1 and run_id = $2 order by created_at, node"
    );
    let rows = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(run);
    let rows: Vec<CheckpointRow> = rows.fetch_all(&mut *connection).await?;
    packed_checkpoint::read(&db.bodies, connection, rows).await
}

/// Writes the record of a run, which includes these checkpoints, and removes its job. What the run has spent since its
/// last checkpoint counts for the actor of the scope, who requested the job.
pub async fn finish(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    run: &Arc<RunRow>,
    checkpoints: RecordedCheckpoints,
) -> Result<CommitOutcome, StoreError> {
    let run = Arc::new(PackedRun::new(scope, &db.bodies, run));
    db.write(Write::End { lease, run, checkpoints }).await
}

/// Counts a run that has ended without an attempt. What it has spent is counted.
pub(super) async fn count_end(
    connection: &mut PgConnection,
    lease: Lease,
) -> Result<(), StoreError> {
    let Some(ended) = CountedRow::read(connection, lease.workspace, lease.job).await? else {
        return Ok(());
    };
    let mut sums = UsageSums::default();
    sums.add_run(&ended.counted(), &ended.usage()?, SumSign::Plus);
    usage_insertion::add(connection, &sums).await
}

/// A run that continues after it failed or was cancelled.
#[derive(Clone, Copy, Debug)]
pub struct ResumedRun<'a> {
    /// The new row.
    pub run: &'a RunRow,
    /// The checkpoints that are still valid.
    pub checkpoints: &'a [NodeRow],
    /// The options of the request, as JSON text for the worker.
    pub request: &'a str,
    /// The time at which the caller saw the run finished.
    pub seen: Option<DateTime<Utc>>,
    /// The time of the request.
    pub at: DateTime<Utc>,
}

/// Queues a run again that failed or was cancelled, and stores the answer of a request with a key.
pub async fn resume(
    scope: &Scope,
    db: &Db,
    resumed: ResumedRun<'_>,
    answer: Option<&KeyedAnswer>,
) -> Result<(), StoreError> {
    let ResumedRun { run, checkpoints, request, seen, at } = resumed;
    let mut tx = db.begin(scope).await?;
    partition::begin_resumption(&mut tx).await?;
    let ended = CountedRow::read(&mut tx, scope.workspace, run.id).await?;
    let (Some(ended), true) = (ended, reset(scope, &mut tx, run, seen).await?) else {
        return Err(StoreError::Superseded("another request has resumed the run"));
    };
    count_resumption(&mut tx, run, &ended).await?;
    run_label_index::remove_error_codes(&mut tx, run.id).await?;
    let new = NewJob { id: run.id, kind: JOB, request, at };
    job::add(scope, &mut tx, new).await?;
    // A server of the release before removes a job without its checkpoints.
    sqlx::query!("delete from run_nodes where run_id = $1", run.id).execute(&mut *tx).await?;
    add_checkpoints(scope, db, &mut tx, run, checkpoints, at).await?;
    store_answer(scope, &mut tx, answer).await?;
    db.commit_job(tx).await
}

/// A run that is resumed counts as a run when it ends again. What it has spent counts for the versions that it has now.
async fn count_resumption(
    connection: &mut PgConnection,
    run: &RunRow,
    ended: &CountedRow,
) -> Result<(), StoreError> {
    let usage = ended.usage()?;
    let before = ended.counted();
    let after = CountedRun::of(ended.workspace_id, &ended.created_by, run);
    let mut sums = UsageSums::default();
    sums.add_run(&before, &usage, SumSign::Minus);
    sums.add_usage(&before, &usage, SumSign::Minus);
    sums.add_usage(&after, &usage, SumSign::Plus);
    usage_insertion::add(connection, &sums).await
}

/// Makes a run that has ended one that is queued. Its documents have columns of their own until it ends. False if another
/// request has.
async fn reset(
    scope: &Scope,
    connection: &mut PgConnection,
    run: &RunRow,
    seen: Option<DateTime<Utc>>,
) -> Result<bool, StoreError> {
    let reset = sqlx::query(
        "update runs set status = $3, graph_version = $4, state_version = $5, finished_at = null,
                         duration_ms = null, inputs = $6::text::json, outputs = null, error = null,
                         nodes = $7::text::json, usage = $9::text::json, trace = $10::text::json,
                         model_usage = $11::text::json, body = null, counts = null, total_cost = null
         where id = $1 and workspace_id = $2 and status in ('failed', 'cancelled')
           and finished_at is not distinct from $8",
    );
    let reset = reset.bind(run.id).bind(scope.workspace).bind(RunStatus::Queued.as_str());
    let reset = reset.bind(run.graph_version).bind(run.state_version).bind(&run.inputs);
    let reset = reset.bind(&run.nodes).bind(seen).bind(&run.usage).bind(&run.trace);
    let reset = reset.bind(SpentUsage::of(&run.usage, &run.trace).models_json());
    Ok(reset.execute(connection).await?.rows_affected() == 1)
}

/// Stores checkpoints whose usage is counted already.
pub(super) async fn add_checkpoints(
    scope: &Scope,
    db: &Db,
    connection: &mut PgConnection,
    run: &RunRow,
    nodes: &[NodeRow],
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let graph = Some(&run.graph());
    let completed = NodeCheckpoints { scope, run: run.id, graph, nodes, at };
    write_checkpoints(connection, &db.bodies, completed).await.map(drop)
}
