//! What graphs did in the last day: counts, times and cost of their runs by the hour, and the score of the active
//! state. Reads at most [`MOST_RUNS`] runs of each graph, so that a list of busy graphs stays cheap.

use sqlx::FromRow;
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// The most runs of a graph that are read: the newest of the day.
pub const MOST_RUNS: i64 = 5_000;

/// The hours of a day.
pub const HOURS: usize = 24;

/// The runs of one graph in the last day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphActivity {
    /// How many there were; [`MOST_RUNS`] stands for that many or more.
    pub runs: i64,
    /// How many of them succeeded.
    pub succeeded: i64,
    /// How many of them failed.
    pub failed: i64,
    /// The median of their durations, in milliseconds.
    pub median_ms: Option<f64>,
    /// The 95th percentile of their durations, in milliseconds.
    pub p95_ms: Option<f64>,
    /// What they cost, if the prices are known.
    pub cost: Option<f64>,
    /// Runs and failures of each hour, the oldest first.
    pub hours: Vec<(i64, i64)>,
    /// The score of the active state, if it has one.
    pub score: Option<f64>,
}

/// The totals of an hour, or of the day if `hour` is absent.
#[derive(FromRow)]
struct ActivityRow {
    graph: Uuid,
    hour: Option<i32>,
    runs: i64,
    succeeded: i64,
    failed: i64,
    median_ms: Option<f64>,
    p95_ms: Option<f64>,
    cost: Option<f64>,
}

const ACTIVITY: &str = "
    select g.id as graph, r.hour, count(r.status) as runs,
           count(*) filter (where r.status = 'succeeded') as succeeded,
           count(*) filter (where r.status = 'failed') as failed,
           percentile_cont(0.5) within group (order by r.duration_ms) as median_ms,
           percentile_cont(0.95) within group (order by r.duration_ms) as p95_ms,
           sum(r.cost) as cost
    from unnest($2::uuid[], $3::text[]) as g(id, name)
    left join lateral (
        select status, duration_ms, coalesce(total_cost, (usage ->> 'cost')::float8) as cost,
               least(23, floor(extract(epoch from now() - created_at) / 3600))::int as hour
        from runs
        where workspace_id = $1 and graph_name = g.name and graph_id = g.id
          and created_at > now() - interval '1 day' and id >= first_uuid(now() - interval '2 days')
        order by created_at desc, id desc limit $4
    ) r on true
    group by grouping sets ((g.id), (g.id, r.hour))";

/// The activity of graphs, in their order. Each graph is its id, its name and its active state version.
pub async fn activity(
    scope: &Scope,
    db: &Db,
    graphs: &[(Uuid, &str, i32)],
) -> Result<Vec<GraphActivity>, StoreError> {
    let ids: Vec<Uuid> = graphs.iter().map(|graph| graph.0).collect();
    let names: Vec<&str> = graphs.iter().map(|graph| graph.1).collect();
    let states: Vec<i32> = graphs.iter().map(|graph| graph.2).collect();
    let mut connection = db.scoped(scope).await?;
    let rows: Vec<ActivityRow> = sqlx::query_as(ACTIVITY)
        .bind(scope.workspace)
        .bind(&ids)
        .bind(&names)
        .bind(MOST_RUNS)
        .fetch_all(&mut *connection)
        .await?;
    let scores: Vec<(Uuid, f64)> = sqlx::query_as(
        "select s.graph_id, s.score from unnest($2::uuid[], $3::int[]) as g(id, version)
         join state_versions s on s.workspace_id = $1 and s.graph_id = g.id and s.version = g.version
         where s.score is not null",
    )
    .bind(scope.workspace)
    .bind(&ids)
    .bind(&states)
    .fetch_all(&mut *connection)
    .await?;
    let score = |id| scores.iter().find(|(graph, _)| *graph == id).map(|(_, score)| *score);
    Ok(ids.iter().map(|id| GraphActivity { score: score(*id), ..of_graph(*id, &rows) }).collect())
}

fn of_graph(id: Uuid, rows: &[ActivityRow]) -> GraphActivity {
    let mut found = GraphActivity { hours: vec![(0, 0); HOURS], ..GraphActivity::default() };
    let own = rows.iter().filter(|row| row.graph == id && row.runs > 0);
    for row in own {
        let Some(hour) = row.hour else {
            let ActivityRow { runs, succeeded, failed, median_ms, p95_ms, cost, .. } = *row;
            found = GraphActivity { runs, succeeded, failed, median_ms, p95_ms, cost, ..found };
            continue;
        };
        let oldest_first = usize::try_from(hour).ok().and_then(|hour| HOURS.checked_sub(hour + 1));
        if let Some(slot) = oldest_first.and_then(|hour| found.hours.get_mut(hour)) {
            *slot = (row.runs, row.failed);
        }
    }
    found
}
