//! What the metrics of online evaluations ask models, as a part of usage. May not know metrics.

use sqlx::PgConnection;
use uuid::Uuid;

use super::{Scope, StoreError};

/// Adds the usage of judging a run to the hour of the run.
pub(super) async fn count(
    scope: &Scope,
    connection: &mut PgConnection,
    run: Uuid,
    usage: &str,
) -> Result<(), StoreError> {
    let added = sqlx::query(
        "insert into usage_hours (workspace_id, hour, work, dimension, graph_id, graph_name, graph_version, state_version,
                                  created_by, user_id, lm_calls, input_tokens, output_tokens, reasoning_tokens,
                                  cached_tokens, cache_write_tokens, cost)
         select workspace_id, date_trunc('hour', created_at, 'UTC'), 'judging', 'whole', graph_id, graph_name,
                graph_version, state_version, created_by, user_id, spent.*
         from runs cross join json_to_record($3::text::json) as spent (lm_calls bigint, input_tokens bigint,
            output_tokens bigint, reasoning_tokens bigint, cached_tokens bigint, cache_write_tokens bigint, cost numeric)
         where id = $2 and workspace_id = $1",
    );
    added.bind(scope.workspace).bind(run).bind(usage).execute(connection).await?;
    Ok(())
}
