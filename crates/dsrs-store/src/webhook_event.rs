//! The events that webhooks report, written to `webhook_deliveries` in the transaction of what they report. Without
//! a webhook for an event nothing is written. May not know how messages are sent.
//!
//! Events of runs are written where there are webhooks (`ended_run`). Jobs that no attempt ends have `job_ended`.

use serde::Deserialize;
use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::packed_run::PackedRun;
use super::run_usage::usage_json;
use super::{Scope, StoreError};

/// The statement that writes the events of runs. Its parameters are the ids of the runs, of the events, the codes of
/// errors, and the usage as JSON text if the row has another form. A webhook receives one message of a run:
/// `run.failed` if it failed and the webhook has that event, otherwise `run.finished`.
const RUN_EVENTS: &str =
        "insert into webhook_deliveries (webhook_id, id, workspace_id, event, data, status, attempts,
                                         log, replays, next_attempt_at, created_at)
         select webhook.id, event.id, ended.workspace_id,
                case when ended.status = 'failed' and 'run.failed' = any(webhook.events)
                     then 'run.failed' else 'run.finished' end,
                run_event_data(ended.id, ended.graph_id, ended.graph_name, ended.graph_version,
                               ended.state_version, ended.status, event.code, coalesce(event.usage::json, ended.usage),
                               ended.created_at, ended.started_at, ended.finished_at,
                               ended.duration_ms),
                'pending', 0, '{}', 0, clock_timestamp(),
                coalesce(ended.finished_at, clock_timestamp())
         from runs as ended
         join unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[])
              as event (run, id, code, usage) on event.run = ended.id
         join webhooks webhook on webhook.workspace_id = ended.workspace_id and webhook.enabled
          and (webhook.graph_id is null or webhook.graph_id = ended.graph_id)
          and ('run.finished' = any(webhook.events)
               or ended.status = 'failed' and 'run.failed' = any(webhook.events))
         where ended.id = any($1)";

/// Writes the events of runs whose rows are written.
pub(super) async fn runs_ended(
    connection: &mut PgConnection,
    runs: &[&PackedRun],
) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = runs.iter().map(|run| run.row.id).collect();
    let events: Vec<Uuid> = runs.iter().map(|_| Uuid::now_v7()).collect();
    let codes: Vec<Option<String>> =
        runs.iter().map(|run| run.row.error.as_deref().and_then(error_code)).collect();
    let usages: Vec<String> = runs.iter().map(|run| usage_json(&run.usage.whole)).collect();
    let written = sqlx::query(RUN_EVENTS).bind(ids).bind(events).bind(codes).bind(usages);
    written.execute(connection).await?;
    Ok(())
}

/// The code of a problem, which has texts of models besides.
fn error_code(problem: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Coded {
        code: Option<String>,
    }
    serde_json::from_str::<Coded>(problem).ok()?.code
}

/// Writes the event of a job that has ended, after its status row: of a run, an evaluation or an optimization. Other
/// kinds have none.
pub(super) async fn job_ended(
    connection: &mut PgConnection,
    kind: &str,
    table: &str,
    job: Uuid,
    error: Option<&str>,
) -> Result<(), StoreError> {
    let Some(statement) = statement_of(kind, table) else { return Ok(()) };
    let written = sqlx::query(AssertSqlSafe(statement)).bind(vec![job]);
    let written = written.bind(vec![Uuid::now_v7()]).bind(vec![error.and_then(error_code)]);
    let written = if kind == "run" { written.bind(vec![None::<String>]) } else { written };
    written.execute(connection).await?;
    Ok(())
}

fn statement_of(kind: &str, table: &str) -> Option<String> {
    let own = match kind {
        "run" => return Some(RUN_EVENTS.to_owned()),
        "evaluation" => {
            "'score', ended.score_sum / nullif(ended.done - ended.unmeasured, 0),
             'total', ended.total, 'done', ended.done, 'failed', ended.failed,
             'unmeasured', ended.unmeasured,
             'judging_usage', json_build_object(
                 'lm_calls', judging_lm_calls, 'input_tokens', judging_input_tokens,
                 'output_tokens', judging_output_tokens, 'reasoning_tokens', judging_reasoning_tokens,
                 'cached_tokens', judging_cached_tokens,
                 'cache_write_tokens', judging_cache_write_tokens, 'cost', judging_cost)"
        }
        "optimization" => "'optimizer', ended.optimizer",
        _ => return None,
    };
    Some(format!(
        "insert into webhook_deliveries (webhook_id, id, workspace_id, event, data, status, attempts,
                                         log, replays, next_attempt_at, created_at)
         select webhook.id, event.id, ended.workspace_id, '{kind}.finished',
                json_build_object(
                    'id', ended.id, 'graph', ended.graph_name, 'graph_id', ended.graph_id,
                    'version', ended.graph_version, 'state_version', ended.state_version,
                    'status', ended.status, 'error_code', event.code, {own},
                    'usage', json_build_object(
                        'lm_calls', lm_calls, 'input_tokens', input_tokens,
                        'output_tokens', output_tokens, 'reasoning_tokens', reasoning_tokens,
                        'cached_tokens', cached_tokens, 'cache_write_tokens', cache_write_tokens,
                        'cost', cost),
                    'created_at', api_time(ended.created_at), 'started_at', api_time(ended.started_at),
                    'finished_at', api_time(ended.finished_at)),
                'pending', 0, '{{}}', 0, clock_timestamp(), coalesce(ended.finished_at, clock_timestamp())
         from {table} as ended
         join unnest($1::uuid[], $2::uuid[], $3::text[]) as event (job, id, code)
              on event.job = ended.id
         join webhooks webhook on webhook.workspace_id = ended.workspace_id and webhook.enabled
          and (webhook.graph_id is null or webhook.graph_id = ended.graph_id)
          and '{kind}.finished' = any(webhook.events)"
    ))
}

/// A score that a client gave a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScoredRun<'a> {
    pub(super) run: Uuid,
    pub(super) graph_id: Uuid,
    /// The name of the graph.
    pub(super) graph: &'a str,
    /// The name of the score.
    pub(super) metric: &'a str,
    pub(super) score: f64,
}

/// Writes `score.below` for the webhooks whose threshold for this metric is above the score. Within the
/// transaction that stores the score.
pub(super) async fn run_scored(
    scope: &Scope,
    connection: &mut PgConnection,
    scored: ScoredRun<'_>,
) -> Result<(), StoreError> {
    let written = sqlx::query(
        "insert into webhook_deliveries (webhook_id, id, workspace_id, event, data, status, attempts,
                                         log, replays, next_attempt_at, created_at)
         select id, $2, workspace_id, 'score.below',
                json_build_object('id', $3::uuid, 'graph', $4::text, 'graph_id', $5::uuid,
                                  'metric', $6::text, 'score', $7::float8, 'below', score_below),
                'pending', 0, '{}', 0, clock_timestamp(), clock_timestamp()
         from webhooks
         where workspace_id = $1 and enabled and 'score.below' = any(events)
           and (graph_id is null or graph_id = $5) and score_metric = $6 and $7 < score_below",
    );
    let written = written.bind(scope.workspace).bind(Uuid::now_v7()).bind(scored.run);
    let written = written.bind(scored.graph).bind(scored.graph_id).bind(scored.metric);
    written.bind(scored.score).execute(connection).await?;
    Ok(())
}
