//! What keys with a budget spend: added in the transactions that record usage. May not know what a budget is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::Usage;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// Sums that are older than this are of no day that counts.
const OLD: Duration = Duration::from_secs(7 * 86_400);

/// Adds usage, as JSON text, to what the actor of the scope has spent today.
pub(super) async fn add(
    scope: &Scope,
    connection: &mut PgConnection,
    usage: &str,
) -> Result<(), StoreError> {
    let added = sqlx::query("select add_spending($1, $2, tokens_of($3::json), cost_of($3::json))");
    added.bind(scope.workspace).bind(&*scope.actor).bind(usage).execute(connection).await?;
    Ok(())
}

/// What an actor has spent.
#[derive(Clone, Debug)]
pub(super) struct SpendingSum {
    /// The workspace of the actor.
    pub(super) workspace: Uuid,
    /// The label of the key.
    pub(super) actor: Arc<str>,
    /// Tokens, of inputs and outputs.
    pub(super) tokens: i64,
    /// The cost, in the currency of the prices.
    pub(super) cost: f64,
}

impl SpendingSum {
    /// What the actor of a scope has spent.
    pub(super) fn of_usage(scope: &Scope, usage: &Usage) -> Self {
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        Self {
            workspace: scope.workspace,
            actor: scope.actor.clone(),
            tokens: i64::try_from(tokens).unwrap_or(i64::MAX),
            cost: usage.cost.unwrap_or_default(),
        }
    }
}

/// Adds what many have spent, in the order in which every transaction locks the sums. Call it last in a
/// transaction.
pub(super) async fn add_all(
    connection: &mut PgConnection,
    spent: Vec<SpendingSum>,
) -> Result<(), StoreError> {
    let mut sums: BTreeMap<(Uuid, Arc<str>), (i64, f64)> = BTreeMap::new();
    for SpendingSum { workspace, actor, tokens, cost } in spent {
        let sum = sums.entry((workspace, actor)).or_default();
        *sum = (sum.0.saturating_add(tokens), sum.1 + cost);
    }
    for ((workspace, actor), (tokens, cost)) in sums {
        if tokens > 0 || cost > 0.0 {
            add_sum(&Scope { workspace, actor }, connection, tokens, cost).await?;
        }
    }
    Ok(())
}

/// Adds a sum to what the actor of the scope has spent today.
pub(super) async fn add_sum(
    scope: &Scope,
    connection: &mut PgConnection,
    tokens: i64,
    cost: f64,
) -> Result<(), StoreError> {
    let added = sqlx::query("select add_spending($1, $2, $3, $4)");
    let added = added.bind(scope.workspace).bind(&*scope.actor).bind(tokens).bind(cost);
    added.execute(connection).await?;
    Ok(())
}

/// Removes the sums of days that are over. For all workspaces, as upkeep is.
pub async fn purge(db: &Db) -> Result<u64, StoreError> {
    let purged = sqlx::query(
        "delete from key_spending
         where day < ((clock_timestamp() - $1 * interval '1 second') at time zone 'UTC')::date",
    );
    let purged = purged.bind(OLD.as_secs_f64());
    Ok(purged.execute(&mut *db.all_workspaces().await?).await?.rows_affected())
}
