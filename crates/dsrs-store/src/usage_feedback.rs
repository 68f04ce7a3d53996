//! Feedback as a part of usage, within the transaction that changes the feedback. May not know what a score means.

use sqlx::PgConnection;
use uuid::Uuid;

use super::{Scope, StoreError};

/// What a piece of feedback adds.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedFeedback<'a> {
    pub(super) run: Uuid,
    /// The name of the score.
    pub(super) name: Option<&'a str>,
    /// The score, if it is a number.
    pub(super) score: Option<f64>,
    /// 1 if it is given, -1 if it is taken back.
    pub(super) count: i64,
}

/// Adds feedback to the hour of its run.
pub(super) async fn count(
    scope: &Scope,
    connection: &mut PgConnection,
    counted: CountedFeedback<'_>,
) -> Result<(), StoreError> {
    let added = sqlx::query(
        "insert into usage_hours (workspace_id, hour, work, dimension, value, graph_id, graph_name, graph_version,
                                  state_version, created_by, user_id, feedback, score_sum)
         select workspace_id, date_trunc('hour', created_at, 'UTC'), 'run', part.dimension, part.name, graph_id,
                graph_name, graph_version, state_version, created_by, user_id, $5,
                case part.dimension when 'score' then $5 * $4::float8::numeric else 0 end
         from runs
         cross join (values ('whole', null), ('score', $3::text)) as part (dimension, name)
         where id = $2 and workspace_id = $1
           and (part.dimension = 'whole' or part.name is not null and $4::float8 is not null)",
    );
    let added = added.bind(scope.workspace).bind(counted.run).bind(counted.name);
    added.bind(counted.score).bind(counted.count).execute(connection).await?;
    Ok(())
}
