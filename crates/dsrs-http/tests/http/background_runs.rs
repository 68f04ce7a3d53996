//! `/v1/graphs/{graph}/runs` and `/v1/runs/{id}/cancel`: background runs, from acceptance to
//! their end.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{ScriptedAnswer, ScriptedLm};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::Api;
use dsrs_test::{Answer, one_node, support_reply, test_database};
use dsrs_test_api::friendly_lm;

const RUNS: &str = "/v1/graphs/support-reply/runs";
const NO_WORKER: [(&str, &str); 1] = [("DSRS_WORKER_ENABLED", "false")];

fn ticket() -> Value {
    json!({"inputs": {"ticket": "Where is it?"}})
}

fn id(run: &Value) -> String {
    run["id"].as_str().unwrap().to_owned()
}

/// Answers the first node of the example and stalls at the second.
fn stalls_at_the_reply() -> ScriptedLm {
    ScriptedLm::by(|request| {
        let asked: String = request.chat.turns.iter().map(|turn| turn.content.as_ref()).collect();
        let said = ScriptedAnswer::from("[[ ## mood ## ]]\ncalm\n\n[[ ## topics ## ]]\n[]");
        let stall = asked.contains("[[ ## mood ## ]]\ncalm");
        said.after(if stall { Duration::from_secs(3600) } else { Duration::ZERO })
    })
}

/// An API whose LM stalls at the second node, and a run that has reached it.
async fn started_run(settings: &[(&str, &str)], database: &str) -> (Api, String) {
    let api = Api::start(database, Some(Arc::new(stalls_at_the_reply())), settings).await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let run = api.post(RUNS, ticket()).await.expect(202).json();
    let is_stored = |answer: &Answer| answer.json()["nodes"]["triage"]["status"] == "succeeded";
    api.until(&format!("/v1/runs/{}", id(&run)), is_stored).await;
    (api, id(&run))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_run_ends_like_an_execution() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let accepted = api.post(RUNS, ticket()).await.expect(202);
    let run = accepted.json();
    assert_eq!(accepted.header("location"), format!("/v1/runs/{}", id(&run)));
    assert_eq!((&run["status"], &run["started_at"]), (&json!("queued"), &Value::Null));
    assert_eq!(run["nodes"]["triage"]["status"], "pending");
    let run = api.ended(&id(&run)).await;
    let executed = api.post("/v1/graphs/support-reply/execute", ticket()).await.expect(200).json();
    for member in ["status", "outputs", "error", "usage", "inputs", "version", "state_version"] {
        assert_eq!(run[member], executed[member], "{member}");
    }
    let shown = |run: &Value| -> Vec<_> {
        let nodes = run["nodes"].as_object().unwrap().iter();
        nodes.map(|(name, n)| (name.clone(), n["status"].clone(), n["outputs"].clone())).collect()
    };
    assert_eq!(shown(&run), shown(&executed));
    let kinds: Vec<_> =
        run["trace"]["spans"].as_array().unwrap().iter().map(|s| s["kind"].clone()).collect();
    assert_eq!(kinds, ["node", "predictor", "lm", "node", "predictor", "lm"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_request_is_refused_and_stores_nothing() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let refused = api.post(RUNS, json!({"inputs": {"tickt": 1}})).await.expect(422);
    assert_eq!(refused.code(), "invalid_input");
    let refused = api.post(RUNS, json!({"inputs": {"ticket": ""}, "version": 7})).await;
    assert_eq!(refused.expect(404).code(), "not_found");
    assert_eq!(api.get("/v1/runs").await.json()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_start_starts_one_run() {
    let lm = Arc::new(friendly_lm());
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let start = || {
        let body = Some(json!({"inputs": {"question": "?"}}).to_string());
        api.send(Method::POST, "/v1/graphs/q/runs", &[("idempotency-key", "k")], body)
    };
    let first = start().await.expect(202);
    let again = start().await.expect(202);
    assert_eq!((&again.text, again.header("location")), (&first.text, first.header("location")));
    api.ended(&id(&first.json())).await;
    assert_eq!(lm.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_run_is_executed_even_if_its_graph_is_deleted() {
    let database = test_database().await;
    let front = Api::start(&database, Some(Arc::new(friendly_lm())), &NO_WORKER).await;
    front.post("/v1/graphs", support_reply()).await.expect(201);
    let run = front.post(RUNS, ticket()).await.expect(202).json();
    front.delete("/v1/graphs/support-reply").await.expect(204);
    let listed = front.get("/v1/runs?status=queued").await.json();
    assert_eq!(listed["items"][0]["id"], run["id"]);
    let _back = Api::start(&database, Some(Arc::new(friendly_lm())), &[]).await;
    assert_eq!(front.ended(&id(&run)).await["status"], "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_run_is_cancelled_at_once() {
    let (database, lm) = (test_database().await, Arc::new(friendly_lm()));
    let front = Api::start(&database, Some(lm.clone()), &NO_WORKER).await;
    front.post("/v1/graphs", support_reply()).await.expect(201);
    let run = front.post(RUNS, ticket()).await.expect(202).json();
    let cancel = format!("/v1/runs/{}/cancel", id(&run));
    let cancelled = front.post(&cancel, "").await.expect(200).json();
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(cancelled["error"]["code"], "run_cancelled");
    assert_eq!(cancelled["nodes"]["reply"]["status"], "skipped");
    assert_eq!(front.post(&cancel, "").await.expect(409).code(), "run_finished");
    let back = Api::start(&database, Some(lm.clone()), &[]).await;
    let other = back.post(RUNS, ticket()).await.expect(202).json();
    assert_eq!(back.ended(&id(&other)).await["status"], "succeeded");
    assert_eq!(lm.requests().len(), 2, "those of the other run");
    let mut found = front.get(&format!("/v1/runs/{}", id(&run))).await.json();
    assert_eq!(found.as_object_mut().unwrap().remove("feedback").unwrap()["count"], 0);
    assert_eq!(found, cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_shows_its_progress_and_any_server_can_cancel_it() {
    let database = test_database().await;
    let (_back, run) = started_run(&[], &database).await;
    let front = Api::start(&database, Some(Arc::new(friendly_lm())), &NO_WORKER).await;
    let path = format!("/v1/runs/{run}");
    let so_far = front.get(&path).await.expect(200).json();
    assert_eq!((&so_far["status"], &so_far["outputs"]), (&json!("running"), &Value::Null));
    assert_eq!(so_far["nodes"]["triage"]["outputs"]["mood"], "calm");
    assert_eq!(so_far["usage"]["lm_calls"], 1);
    assert_eq!(so_far["trace"]["spans"].as_array().unwrap().len(), 3);
    front.post(&format!("{path}/cancel"), "").await.expect(200);
    let cancelled = front.ended(&run).await;
    assert_eq!((&cancelled["status"], &cancelled["outputs"]), (&json!("cancelled"), &Value::Null));
    assert_eq!(cancelled["nodes"]["triage"], so_far["nodes"]["triage"]);
    assert_eq!(cancelled["nodes"]["reply"]["status"], "cancelled");
    assert_eq!(cancelled["trace"]["spans"].as_array().unwrap().len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn any_server_can_cancel_an_execution() {
    let database = test_database().await;
    let back = Api::start(&database, Some(Arc::new(stalls_at_the_reply())), &[]).await;
    let front = Api::start(&database, None, &NO_WORKER).await;
    back.post("/v1/graphs", support_reply()).await.expect(201);
    for api in [&back, &front] {
        let body = Some(ticket().to_string());
        let path = "/v1/graphs/support-reply/execute";
        let mut events = back.stream(Method::POST, path, &[], body).await;
        let run = events.until("run.started").await.data["run_id"].as_str().unwrap().to_owned();
        events.until("node.completed").await;
        // On a slow machine the answer does not wait for the end, which another server records.
        let answer = api.post(&format!("/v1/runs/{run}/cancel"), "").await;
        assert!([200, 404].contains(&answer.status), "{}", answer.text);
        let last = events.until("run.cancelled").await;
        assert_eq!(last.data["code"], "run_cancelled");
        let is_recorded = |answer: &Answer| answer.json()["status"] == "cancelled";
        api.until(&format!("/v1/runs/{run}"), is_recorded).await;
        let again = api.post(&format!("/v1/runs/{run}/cancel"), "").await.expect(409);
        assert_eq!(again.code(), "run_finished");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_an_unknown_run_is_not_found() {
    let api = Api::new().await;
    let missing = "/v1/runs/01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f/cancel";
    assert_eq!(api.post(missing, "").await.expect(404).code(), "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_fails_after_the_maximum_number_of_attempts() {
    let database = test_database().await;
    let front = Api::start(&database, None, &NO_WORKER).await;
    front.post("/v1/graphs", support_reply()).await.expect(201);
    let run = front.post(RUNS, ticket()).await.expect(202).json();
    let mut connection = PgConnection::connect(&database).await.unwrap();
    sqlx::query("update jobs set attempts = 5").execute(&mut connection).await.unwrap();
    let lm = Arc::new(friendly_lm());
    let _back = Api::start(&database, Some(lm.clone()), &[]).await;
    let run = front.ended(&id(&run)).await;
    assert_eq!(
        (&run["status"], &run["error"]["code"]),
        (&json!("failed"), &json!("run_abandoned"))
    );
    assert!(run["error"]["detail"].as_str().unwrap().contains("worker.attempts"));
    assert_eq!(lm.requests().len(), 0);
}

/// Runs and their jobs, as the server would have stored them.
const TEN_THOUSAND: &str = "
    with copies as (
        insert into runs
        select gen_random_uuid(), workspace_id, graph_id, graph_name, graph_version,
               state_version, status, created_at, started_at, finished_at, duration_ms, inputs,
               outputs, error, usage, nodes, trace, created_by
        from runs, generate_series(1, 10000)
        returning *),
    work as (
        insert into jobs (id, workspace_id, kind, request, created_at, created_by)
        select id, workspace_id, 'run', '{}', created_at, created_by from copies
        returning id)
    select count(*) from work";

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_queued_runs_need_no_task() {
    let database = test_database().await;
    let lm = Arc::new(stalls_at_the_reply());
    let settings = [("DSRS_WORKER_CONCURRENCY", "4")];
    let front = Api::start(&database, None, &NO_WORKER).await;
    front.post("/v1/graphs", support_reply()).await.expect(201);
    front.post(RUNS, ticket()).await.expect(202);
    let mut connection = PgConnection::connect(&database).await.unwrap();
    let count: i64 = sqlx::query_scalar(TEN_THOUSAND).fetch_one(&mut connection).await.unwrap();
    assert_eq!(count, 10_000);
    let _back = Api::start(&database, Some(lm.clone()), &settings).await;
    let busy =
        |answer: &Answer| answer.json()["items"].as_array().is_some_and(|items| items.len() == 4);
    front.until("/v1/runs?status=running", busy).await;
    front.until("/healthz", |_| lm.requests().len() == 8).await;
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert!(tasks < 200, "{tasks} tasks");
    assert!(busy(&front.get("/v1/runs?status=running").await), "no more than it may");
}

/// No transaction that ends a run well commits: each is in conflict with another one, as it seems.
const CONFLICT: &str = "create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'in conflict' using errcode = 'serialization_failure'; end $$;
    create trigger refuse before update on runs for each row when (new.status = 'succeeded')
    execute function refuse()";

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_record_is_refused_again_and_again_ends() {
    let database = test_database().await;
    let mut connection = PgConnection::connect(&database).await.unwrap();
    sqlx::raw_sql(CONFLICT).execute(&mut connection).await.unwrap();
    let settings = [("DSRS_WORKER_LEASE", "3s"), ("DSRS_WORKER_ATTEMPTS", "1")];
    let api = Api::start(&database, Some(Arc::new(friendly_lm())), &settings).await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let run = api.post(RUNS, ticket()).await.expect(202).json();
    let run = api.ended(&id(&run)).await;
    assert_eq!(
        (&run["status"], &run["error"]["code"]),
        (&json!("failed"), &json!("run_abandoned"))
    );
}
