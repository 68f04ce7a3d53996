//! The checkpoints of nodes: one statement, whichever form they have. May not know graphs.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use crate::key_spending::SpendingSum;
use crate::packed_checkpoint::PackedCheckpoint;
use crate::run_bodies::RunBodies;
use crate::run_progress::{NodeRow, RunGraph};
use crate::{Scope, StoreError};

/// The checkpoint of a node of a run.
#[derive(Clone, Copy)]
pub(crate) struct Checkpoint<'w> {
    /// The caller who requested the run.
    pub(crate) scope: &'w Scope,
    pub(crate) run: Uuid,
    pub(crate) node: &'w PackedCheckpoint,
    pub(crate) at: DateTime<Utc>,
}

/// The nodes of one run whose checkpoints are stored together.
#[derive(Clone, Copy)]
pub(crate) struct NodeCheckpoints<'w> {
    /// The caller who requested the run.
    pub(crate) scope: &'w Scope,
    pub(crate) run: Uuid,
    /// Its graph, if it is known.
    pub(crate) graph: Option<&'w RunGraph>,
    pub(crate) nodes: &'w [NodeRow],
    pub(crate) at: DateTime<Utc>,
}

/// What the checkpoints that were stored have spent.
pub(crate) struct StoredCheckpoints {
    pub(crate) count: usize,
    /// None without keys with a budget.
    pub(crate) spent: Vec<SpendingSum>,
}

/// Stores the checkpoints of one run.
pub(crate) async fn write_checkpoints(
    connection: &mut PgConnection,
    bodies: &RunBodies,
    completed: NodeCheckpoints<'_>,
) -> Result<StoredCheckpoints, StoreError> {
    let NodeCheckpoints { scope, run, graph, nodes, at } = completed;
    let packed = nodes
        .iter()
        .map(|node| PackedCheckpoint::new(bodies, scope.workspace, graph, &Arc::new(node.clone())));
    let packed: Vec<PackedCheckpoint> = packed.collect();
    let checkpoints = packed.iter().map(|node| Checkpoint { scope, run, node, at });
    write(connection, &checkpoints.collect::<Vec<_>>()).await
}

const ADD: &str = "
    insert into run_nodes (run_id, node, workspace_id, body, outcome, usage, trace, created_at)
    select run_id, node, workspace_id, body, outcome::json, usage::json, trace::json, created_at
    from unnest($1::uuid[], $2::text[], $3::uuid[], $4::bytea[], $5::text[], $6::text[], $7::text[],
                $8::timestamptz[])
         as new (run_id, node, workspace_id, body, outcome, usage, trace, created_at)
    on conflict (run_id, node) do nothing
    returning run_id, node,
        exists (select from keys where workspace_id = any($3)
                  and (tokens_per_day is not null or cost_per_day is not null)) as has_budgets";

#[derive(FromRow)]
struct AddedCheckpoint {
    run_id: Uuid,
    node: String,
    has_budgets: bool,
}

/// Stores the checkpoints. One that is stored already is left alone: a commit whose answer was lost is sent again.
pub(super) async fn write(
    connection: &mut PgConnection,
    checkpoints: &[Checkpoint<'_>],
) -> Result<StoredCheckpoints, StoreError> {
    if checkpoints.is_empty() {
        return Ok(StoredCheckpoints { count: 0, spent: Vec::new() });
    }
    let added = insert(connection, checkpoints).await?;
    let count = added.len();
    if !added.iter().any(|added| added.has_budgets) {
        return Ok(StoredCheckpoints { count, spent: Vec::new() });
    }
    let by_node: HashMap<(Uuid, &str), &Checkpoint<'_>> =
        checkpoints.iter().map(|one| ((one.run, one.node.node.as_str()), one)).collect();
    let spent = added.iter().filter_map(|added| {
        let Checkpoint { scope, node, .. } = by_node.get(&(added.run_id, added.node.as_str()))?;
        Some(SpendingSum::of_usage(scope, &node.usage))
    });
    Ok(StoredCheckpoints { count, spent: spent.collect() })
}

async fn insert(
    connection: &mut PgConnection,
    checkpoints: &[Checkpoint<'_>],
) -> Result<Vec<AddedCheckpoint>, StoreError> {
    let runs: Vec<Uuid> = checkpoints.iter().map(|one| one.run).collect();
    let nodes: Vec<&str> = checkpoints.iter().map(|one| one.node.node.as_str()).collect();
    let workspaces: Vec<Uuid> = checkpoints.iter().map(|one| one.scope.workspace).collect();
    let bodies: Vec<Option<&[u8]>> =
        checkpoints.iter().map(|one| one.node.body.as_deref()).collect();
    let texts = |text: fn(&NodeRow) -> &str| -> Vec<Option<&str>> {
        checkpoints.iter().map(|one| one.node.json.as_deref().map(text)).collect()
    };
    let times: Vec<DateTime<Utc>> = checkpoints.iter().map(|one| one.at).collect();
    let added = sqlx::query_as(ADD).bind(runs).bind(nodes).bind(workspaces).bind(bodies);
    let added = added.bind(texts(|node| &node.outcome)).bind(texts(|node| &node.usage));
    let added = added.bind(texts(|node| &node.trace)).bind(times);
    Ok(added.fetch_all(connection).await?)
}
