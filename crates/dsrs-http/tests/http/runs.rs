//! `/v1/runs`: lists filtered by graph, status and time, and single runs.

use serde_json::json;

use crate::Api;
use dsrs_test::one_node;

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed_newest_first_and_filtered() {
    let api = Api::new().await;
    for name in ["one", "two"] {
        api.post("/v1/graphs", one_node(name, "question -> answer")).await.expect(201);
    }
    let mut ids = Vec::new();
    for name in ["one", "two", "one"] {
        let path = format!("/v1/graphs/{name}/execute");
        let run = api.post(&path, json!({"inputs": {"question": "?"}})).await.expect(200).json();
        ids.insert(0, run["id"].clone());
    }
    let listed = |query: &'static str| {
        let api = &api;
        async move {
            let list = api.get(&format!("/v1/runs{query}")).await.expect(200).json();
            list["items"].as_array().unwrap().iter().map(|r| r["id"].clone()).collect::<Vec<_>>()
        }
    };
    assert_eq!(listed("").await, ids);
    assert_eq!(listed("?graph=two").await, [ids[1].clone()]);
    assert_eq!(listed("?status=failed").await.len(), 0);
    assert_eq!(listed("?status=succeeded&since=2020-01-01T00:00:00Z").await, ids);
    assert_eq!(listed("?until=2020-01-01T00:00:00%2B00:00").await.len(), 0);
    api.delete("/v1/graphs/one").await.expect(204);
    assert_eq!(listed("?graph=one").await.len(), 2);
    let path = format!("/v1/runs/{}", ids[0].as_str().unwrap());
    assert_eq!(api.get(&path).await.expect(200).json()["graph"], "one");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_runs_and_parameters_are_refused() {
    let api = Api::new().await;
    let missing = api.get("/v1/runs/01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f").await.expect(404);
    assert_eq!(missing.code(), "not_found");
    for wrong in ["/v1/runs/nonsense", "/v1/runs?status=done", "/v1/runs?since=yesterday"] {
        assert_eq!(api.get(wrong).await.expect(400).code(), "invalid_parameter", "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_recording_runs_are_answered_and_not_stored() {
    let api = Api::with_settings(&[("DSRS_RUNS_RECORD", "off")]).await;
    api.post("/v1/graphs", one_node("one", "question -> answer")).await.expect(201);
    let body = json!({"inputs": {"question": "?"}, "trace": true});
    let run = api.post("/v1/graphs/one/execute", body).await.expect(200).json();
    let spans = run["trace"]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 3);
    assert!(spans[0].get("parent_id").is_none(), "a root names no parent: {}", spans[0]);
    assert_eq!(spans[1]["parent_id"], spans[0]["id"]);
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    api.get(&path).await.expect(404);
}
