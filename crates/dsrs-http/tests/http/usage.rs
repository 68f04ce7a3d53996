//! `GET /v1/usage` and the profile of a graph: sums that equal those over the runs.

use std::sync::Arc;

use dsrs::lm::{LmErrorKind, ScriptedAnswer, ScriptedLm};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::Api;
use dsrs_test::{Answer, one_node, test_database};

/// Answers every question but `bad`.
async fn api() -> Api {
    let lm = ScriptedLm::by(|request| {
        let asked = request.chat.turns.last().map(|turn| turn.content.to_string());
        match asked.unwrap_or_default().contains("bad") {
            true => ScriptedAnswer::fail(LmErrorKind::Refused, "no"),
            false => ScriptedAnswer::from("[[ ## answer ## ]]\nyes"),
        }
    });
    let api = Api::start(&test_database().await, Some(Arc::new(lm)), &[]).await;
    for name in ["q", "other"] {
        api.post("/v1/graphs", one_node(name, "question -> answer")).await.expect(201);
    }
    api
}

async fn execute(api: &Api, graph: &str, question: &str, labels: Value) -> Answer {
    let mut body = json!({"inputs": {"question": question}});
    for (name, value) in labels.as_object().unwrap() {
        body[name] = value.clone();
    }
    api.post(&format!("/v1/graphs/{graph}/execute"), body).await
}

async fn usage(api: &Api, query: &str) -> Vec<Value> {
    let report = api.get(&format!("/v1/usage?{query}")).await.expect(200).json();
    report["items"].as_array().unwrap().clone()
}

/// The values of members of each row.
fn members(rows: &[Value], names: &[&str]) -> Vec<Value> {
    let of_row = |row: &Value| names.iter().map(|name| row[*name].clone()).collect::<Vec<_>>();
    rows.iter().map(|row| json!(of_row(row))).collect()
}

async fn ended(api: &Api, path: &str) -> Value {
    let done = |answer: &Answer| answer.json()["finished_at"].is_string();
    api.until(path, done).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_divided_by_graph_tag_model_user_and_kind_of_work() {
    let api = api().await;
    execute(&api, "q", "a", json!({"tags": ["x", "y"], "user_id": "ann"})).await.expect(200);
    execute(&api, "q", "b", json!({"tags": ["x"]})).await.expect(200);
    execute(&api, "q", "bad", json!({"user_id": "ann"})).await.expect(502);
    execute(&api, "other", "a", json!({})).await.expect(200);
    let run = api.post("/v1/graphs/other/runs", json!({"inputs": {"question": "c"}})).await;
    let run = run.expect(202).json();
    ended(&api, &format!("/v1/runs/{}", run["id"].as_str().unwrap())).await;

    let whole = usage(&api, "").await;
    assert_eq!(
        members(&whole, &["runs", "failed", "cancelled", "start"]),
        [json!([5, 1, 0, null])]
    );
    assert_eq!(whole[0]["usage"]["lm_calls"], 4);
    assert!(whole[0]["mean_duration_ms"].is_number() && whole[0].get("graph").is_none());
    let by_graph = usage(&api, "by=graph,version").await;
    let expected = [json!(["other", 1, 2, 0]), json!(["q", 1, 3, 1])];
    assert_eq!(members(&by_graph, &["graph", "version", "runs", "failed"]), expected);
    let by_tag = usage(&api, "by=tag").await;
    assert_eq!(members(&by_tag, &["tag", "runs"]), [json!(["x", 2]), json!(["y", 1])]);
    assert!(by_tag[0].get("feedback").is_none() && by_tag[0].get("scores").is_none(), "{by_tag:?}");
    assert!(usage(&api, "tag=x").await[0].get("feedback").is_none());
    assert_eq!(by_graph[0]["feedback"], 0);
    let by_model = usage(&api, "by=graph,model").await;
    assert_eq!(usage(&api, "by=graph&by=model").await, by_model);
    let expected = [json!(["other", "default", 2]), json!(["q", "default", 2])];
    assert_eq!(members(&by_model, &["graph", "model", "runs"]), expected);
    assert_eq!(usage(&api, "tag=x&graph=q").await[0]["runs"], 2);
    assert_eq!(usage(&api, "user_id=ann&by=user_id").await[0]["user_id"], "ann");
    assert_eq!(usage(&api, "user_id=ann").await[0]["runs"], 2);
    let by_hour = usage(&api, "interval=hour&by=work,key,state_version").await;
    assert_eq!(members(&by_hour, &["work", "runs"]), [json!(["run", 5])]);
    assert!(by_hour[0]["start"].as_str().unwrap().ends_with(":00:00Z"), "{by_hour:?}");
    assert_eq!(usage(&api, "interval=day").await.len(), 1);
    assert_eq!(usage(&api, "until=2020-01-01T00:00:00Z").await, [] as [Value; 0]);
    for wrong in [
        "by=tag,model",
        "by=graph,graph",
        "by=graph&by=graph",
        "tag=x&by=model",
        "by=",
        "by=colour",
        "interval=week",
        "work=play",
        "since=2020-01-02T00:00:00Z&until=2020-01-01T00:00:00Z",
    ] {
        let answer = api.get(&format!("/v1/usage?{wrong}")).await.expect(400);
        assert_eq!(answer.code(), "invalid_parameter", "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn evaluations_and_their_judges_are_counted_once() {
    let api = api().await;
    let dataset = json!({"name": "d", "examples": [
        {"inputs": {"question": "a"}, "expected": {"answer": "yes"}},
        {"inputs": {"question": "b"}, "expected": {"answer": "no"}}
    ]});
    api.post("/v1/datasets", dataset).await.expect(201);
    for record in [false, true] {
        let body = json!({"dataset": "d", "metric": "exact", "record": record});
        let found = api.post("/v1/graphs/q/evaluations", body).await.expect(202).json();
        ended(&api, &format!("/v1/evaluations/{}", found["id"].as_str().unwrap())).await;
    }
    let rows = usage(&api, "by=work").await;
    let found: Vec<Value> = rows
        .iter()
        .map(|row| json!([row["work"], row["runs"], row["usage"]["lm_calls"]]))
        .collect();
    assert_eq!(found, [json!(["evaluation", 0, 2]), json!(["run", 2, 2])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn feedback_is_a_column_of_usage_until_it_is_taken_back() {
    let api = api().await;
    let run = execute(&api, "q", "a", json!({})).await.expect(200).json();
    let path = format!("/v1/runs/{}/feedback", run["id"].as_str().unwrap());
    api.post(&path, json!({"name": "helpful", "score": 1})).await.expect(201);
    api.post(&path, json!({"name": "helpful", "score": 0.5})).await.expect(200);
    let other = json!({"name": "helpful", "score": 0, "user_id": "ann", "comment": "no"});
    let other = api.post(&path, other).await.expect(201).json();
    api.post(&path, json!({"name": "tone", "category": "rude"})).await.expect(201);
    let rows = usage(&api, "by=graph").await;
    let scores = json!([{"name": "helpful", "mean": 0.25, "count": 2}]);
    assert_eq!(members(&rows, &["feedback", "scores"]), [json!([3, scores])]);
    api.delete(&format!("{path}/{}", other["id"].as_str().unwrap())).await.expect(204);
    let rows = usage(&api, "by=graph").await;
    let scores = json!([{"name": "helpful", "mean": 0.5, "count": 1}]);
    assert_eq!(members(&rows, &["feedback", "scores"]), [json!([2, scores])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_run_counts_once_and_usage_stays_when_runs_are_removed_and_rows_merged() {
    let api = api().await;
    let run = api.post("/v1/graphs/q/runs", json!({"inputs": {"question": "bad"}, "tags": ["t"]}));
    let run = run.await.expect(202).json();
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    ended(&api, &path).await;
    api.post(&format!("{path}/resume"), json!({})).await.expect(202);
    ended(&api, &path).await;
    execute(&api, "q", "a", json!({})).await.expect(200);
    let before = usage(&api, "by=graph").await;
    assert_eq!(members(&before, &["runs", "failed"]), [json!([2, 1])]);
    assert_eq!(members(&usage(&api, "by=tag").await, &["runs", "failed"]), [json!([1, 1])]);
    let mut owner = PgConnection::connect(&api.database).await.unwrap();
    let merge = "with merged as (delete from usage_hours returning *)
         insert into usage_hours (workspace_id, hour, work, dimension, value, graph_id, graph_name, graph_version,
             state_version, created_by, user_id, runs, failed, cancelled, duration_ms, lm_calls)
         select workspace_id, hour, work, dimension, value, graph_id, graph_name, graph_version, state_version,
             created_by, user_id, runs, failed, cancelled, duration_ms, lm_calls from merged;
         delete from runs";
    sqlx::raw_sql(AssertSqlSafe(merge.to_owned())).execute(&mut owner).await.unwrap();
    let after = usage(&api, "by=graph").await;
    assert_eq!(members(&after, &["runs", "failed"]), [json!([2, 1])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_profile_of_a_graph_says_what_each_node_took_cost_and_failed() {
    let api = api().await;
    for question in ["a", "b", "bad"] {
        execute(&api, "q", question, json!({})).await;
    }
    let profile = api.get("/v1/graphs/q/profile").await.expect(200).json();
    assert_eq!((&profile["runs"], &profile["is_sample"]), (&json!(3), &json!(false)));
    let node = &profile["nodes"][0];
    assert_eq!(node["node"], "ask");
    assert_eq!(
        members(std::slice::from_ref(node), &["runs", "failed", "skipped"]),
        [json!([3, 1, 0])]
    );
    assert_eq!(node["errors"], json!({"lm_error": 1}));
    assert_eq!(node["usage"]["lm_calls"], 2);
    // Its runs may have taken less than a millisecond.
    assert!([json!(0.0), json!(1.0)].contains(&node["share_of_time"]), "{node}");
    assert!(node["p50_ms"].is_u64() && node["p99_ms"].is_u64());
    let empty = api.get("/v1/graphs/q/profile?version=2").await.expect(200).json();
    assert_eq!((&empty["runs"], &empty["nodes"]), (&json!(0), &json!([])));
    api.get("/v1/graphs/none/profile").await.expect(404);
}
