//! Usage is exact while servers are killed: its sums equal those over the runs, as a whole, by tag and by model.

use std::time::Duration;

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::task::JoinSet;

use super::{on, one_node, text};
use dsrs_test::{
    Dice, Does, FakeLm, Remote, Server, ServerSetup, http_client, sections, test_database,
};

const RUNS: usize = 120;
const ITEMS: usize = 60;
const EXAMPLES: usize = 60;
const KILLS: usize = 6;

fn setup(database: &str, lm: &FakeLm) -> ServerSetup {
    on(database, lm)
        .env("DSRS_MODELS__DEFAULT__MODEL", "fake")
        .env("DSRS_MODELS__DEFAULT__INPUT_PRICE", "0.3")
        .env("DSRS_MODELS__DEFAULT__OUTPUT_PRICE", "0.7")
        .env("DSRS_WORKER_LEASE", "2s")
        .env("DSRS_WORKER_ATTEMPTS", "100")
        .env("DSRS_WORKER_CONCURRENCY", "8")
}

/// A database whose runs have columns with JSON, over which SQL adds up. Usage is counted alike in either form.
const WITH_JSON: &str = "update installation set compact_runs = false";

/// Sums over the runs and over the usage, which are equal.
const SUMS: [(&str, &str); 4] = [
    (
        "select count(*) filter (where status in ('succeeded', 'failed', 'cancelled')),
                count(*) filter (where status = 'failed'), sum((usage->>'lm_calls')::int8),
                sum((usage->>'input_tokens')::int8), sum((usage->>'cost')::numeric), sum(duration_ms) from runs",
        "select sum(runs), sum(failed), sum(lm_calls), sum(input_tokens), sum(cost), sum(duration_ms)
         from usage_hours where dimension = 'whole' and work = 'run'",
    ),
    (
        "select sum((usage->>'lm_calls')::int8), sum((usage->>'input_tokens')::int8), sum((usage->>'cost')::numeric)
         from evaluation_results where run_id is null",
        "select sum(lm_calls), sum(input_tokens), sum(cost) from usage_hours where work = 'evaluation'",
    ),
    (
        "select count(*), sum((usage->>'lm_calls')::int8), sum((usage->>'cost')::numeric)
         from runs cross join json_array_elements_text(tags) tag where tag = 'even'",
        "select sum(runs), sum(lm_calls), sum(cost) from usage_hours where dimension = 'tag' and value = 'even'",
    ),
    (
        "select count(*) filter (where model_usage is not null), sum((usage->>'lm_calls')::int8),
                sum((usage->>'input_tokens')::int8) from runs",
        "select sum(runs), sum(lm_calls), sum(input_tokens) from usage_hours where dimension = 'model' and value = 'default'",
    ),
];

async fn sums(database: &mut PgConnection, sql: &str) -> String {
    // The names of the columns differ, the values do not.
    let values = "(select array_agg(value) from json_each_text(row_to_json(sums)))::text";
    let sql = format!("select {values} from ({sql}) sums");
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(database).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_equals_the_sums_over_the_runs_whichever_server_is_killed() {
    let url = test_database().await;
    let mut database = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(WITH_JSON).execute(&mut database).await.unwrap();
    let said = sections([("answer", "a")]);
    let lm = FakeLm::by(move |number, _| match number % 9 {
        0 => Does::Answer(500, Vec::new(), "{}".to_owned()),
        _ => Does::SayLate(Duration::from_millis(20), said.clone()),
    })
    .await;
    let mut servers: Vec<Server> = (0..2).map(|_| setup(&url, &lm).start()).collect();
    let api = Remote::new(&servers[0].url);
    let node = json!({"retries": 1});
    api.post("/v1/graphs", one_node("q", "question -> answer", node)).await.expect(201);
    let mut started = Vec::new();
    for number in 0..RUNS {
        let tags = if number % 2 == 0 { json!(["even", "all"]) } else { json!([]) };
        let body = json!({"inputs": {"question": format!("{number}")}, "tags": tags});
        let run = api.post("/v1/graphs/q/runs", body).await.expect(202).json();
        started.push(text(&run, "id").to_owned());
    }
    let inputs = |number: usize| json!({"question": format!("{number}")});
    let items: Vec<_> = (0..ITEMS).map(inputs).collect();
    let batch = json!({"items": items, "tags": ["even"]});
    let batch = api.post("/v1/graphs/q/batches", batch).await.expect(202).json();
    let examples = (0..EXAMPLES).map(|number| {
        json!({"id": format!("{number}"), "inputs": inputs(number), "expected": {"answer": "a"}})
    });
    let examples = json!({"name": "d", "examples": examples.collect::<Vec<_>>()});
    api.post("/v1/datasets", examples).await.expect(201);
    let evaluation = json!({"dataset": "d", "metric": "exact"});
    let evaluation = api.post("/v1/graphs/q/evaluations", evaluation).await.expect(202).json();
    let mut dice = Dice(11);
    for _ in 0..KILLS {
        let mut executions = JoinSet::new();
        for number in 0..6 {
            let path = format!("{}/v1/graphs/q/execute", servers[number % 2].url);
            let body = json!({"inputs": {"question": "now"}, "tags": ["even"]});
            // Its server may be killed meanwhile.
            executions.spawn(http_client().post(path).json(&body).send());
        }
        tokio::time::sleep(Duration::from_millis(100 + 5 * dice.roll(40) as u64)).await;
        servers.remove(dice.roll(2)).kill();
        servers.push(setup(&url, &lm).start());
        executions.abort_all();
    }
    let api = Remote::new(&servers[1].url);
    for id in &started {
        api.until(&format!("/v1/runs/{id}"), |run| run.json()["finished_at"].is_string()).await;
    }
    for (jobs, job) in [("batches", &batch), ("evaluations", &evaluation)] {
        let path = format!("/v1/{jobs}/{}", text(job, "id"));
        api.until(&path, |job| job.json()["finished_at"].is_string()).await;
    }
    drop(servers);
    for (runs, usage) in SUMS {
        let sums = (sums(&mut database, usage).await, sums(&mut database, runs).await);
        assert_eq!(sums.0, sums.1, "{usage}");
        assert!(!sums.0.contains("NULL") && !sums.0.contains("{0,"), "{usage}: {}", sums.0);
    }
}
