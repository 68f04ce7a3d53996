//! The checkpoints of nodes. May not know graphs: documents are JSON text.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::key_spending::SpendingSum;
use crate::run_progress::NodeRow;
use crate::{Scope, StoreError};

/// The checkpoint of a node of a run.
pub(super) struct Checkpoint<'w> {
    pub(super) scope: &'w Scope,
    pub(super) run: Uuid,
    pub(super) node: &'w NodeRow,
    pub(super) at: DateTime<Utc>,
}

/// Stores the checkpoints of one run, and returns what they have spent.
pub(crate) async fn write_checkpoints(
    scope: &Scope,
    connection: &mut PgConnection,
    run: Uuid,
    nodes: &[NodeRow],
    at: DateTime<Utc>,
) -> Result<Vec<SpendingSum>, StoreError> {
    let checkpoints = nodes.iter().map(|node| Checkpoint { scope, run, node, at });
    write(connection, &checkpoints.collect::<Vec<_>>()).await
}

/// Stores the checkpoints, and returns what they have spent. One that is stored already is left alone: a
/// commit whose answer was lost is sent again.
pub(super) async fn write(
    connection: &mut PgConnection,
    checkpoints: &[Checkpoint<'_>],
) -> Result<Vec<SpendingSum>, StoreError> {
    if checkpoints.is_empty() {
        return Ok(Vec::new());
    }
    let column = |text: fn(&NodeRow) -> &str| -> Vec<&str> {
        checkpoints.iter().map(|checkpoint| text(checkpoint.node)).collect()
    };
    let runs: Vec<Uuid> = checkpoints.iter().map(|checkpoint| checkpoint.run).collect();
    let workspaces: Vec<Uuid> =
        checkpoints.iter().map(|checkpoint| checkpoint.scope.workspace).collect();
    let times: Vec<DateTime<Utc>> = checkpoints.iter().map(|checkpoint| checkpoint.at).collect();
    let stored = sqlx::query!(
        r#"insert into run_nodes (run_id, node, workspace_id, outcome, usage, trace, created_at)
           select run_id, node, workspace_id, outcome::json, usage::json, trace::json, created_at
           from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[],
                       $7::timestamptz[])
                as new (run_id, node, workspace_id, outcome, usage, trace, created_at)
           on conflict (run_id, node) do nothing
           returning run_id, tokens_of(usage) as "tokens!", cost_of(usage) as "cost!""#,
        &runs,
        &column(|node| &node.node) as &[&str],
        &workspaces,
        &column(|node| &node.outcome) as &[&str],
        &column(|node| &node.usage) as &[&str],
        &column(|node| &node.trace) as &[&str],
        &times
    );
    let scopes: HashMap<Uuid, &Scope> =
        checkpoints.iter().map(|checkpoint| (checkpoint.run, checkpoint.scope)).collect();
    let spent = stored.fetch_all(connection).await?.into_iter().filter_map(|row| {
        let scope = scopes.get(&row.run_id)?;
        Some(SpendingSum::of(scope, row.tokens, row.cost))
    });
    Ok(spent.collect())
}
