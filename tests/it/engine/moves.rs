//! Work moves from one engine to the other, and waits while the engine cannot be reached.

use reqwest::Method;
use serde_json::json;

use super::{NO_WORKER, id, line, lm, question, service, until_empty};
use crate::Api;
use dsrs_test::test_database;

const POSTGRES: (&str, &str) = ("DSRS_ENGINE", "postgres");

/// Some runs and a batch; returns their paths.
async fn work(api: &Api) -> Vec<String> {
    api.post("/v1/graphs", line()).await.expect(201);
    let mut paths = Vec::new();
    for number in 0..5 {
        let run = api.post("/v1/graphs/line/runs", question(&number.to_string())).await;
        paths.push(format!("/v1/runs/{}", id(&run.expect(202).json())));
    }
    let items: Vec<_> = (0..30).map(|number| json!({"question": format!("{number}")})).collect();
    let batch = api.post("/v1/graphs/line/batches", json!({"items": items})).await.expect(202);
    paths.push(format!("/v1/batches/{}", id(&batch.json())));
    paths
}

async fn succeeded(api: &Api, paths: &[String]) {
    for path in paths {
        let has_ended = |answer: &dsrs_test::Answer| {
            !matches!(answer.json()["status"].as_str(), Some("queued" | "running"))
        };
        let ended = api.until(path, has_ended).await.json();
        assert_eq!(ended["status"], "succeeded", "{ended}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_restate_has_returns_to_the_database_when_the_engine_is_postgres() {
    let database = test_database().await;
    let (front, lm) = (service(&database, lm(), &[NO_WORKER]).await, lm());
    let paths = work(&front).await;
    let back = service(&database, lm.clone(), &[POSTGRES]).await;
    succeeded(&back, &paths).await;
    assert_eq!(lm.requests().len(), 2 * (5 + 30), "nothing is requested twice");
    until_empty(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_in_the_database_is_passed_on_when_the_engine_is_restate() {
    let database = test_database().await;
    let (front, lm) = (service(&database, lm(), &[NO_WORKER, POSTGRES]).await, lm());
    let paths = work(&front).await;
    let back = service(&database, lm.clone(), &[]).await;
    succeeded(&back, &paths).await;
    assert_eq!(lm.requests().len(), 2 * (5 + 30));
    until_empty(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_engine_cannot_be_reached_a_run_is_refused_and_one_with_a_key_waits() {
    let database = test_database().await;
    let unreachable = ("DSRS_RESTATE_INGRESS", "http://127.0.0.1:1");
    let front = service(&database, lm(), &[unreachable]).await;
    front.post("/v1/graphs", line()).await.expect(201);
    let refused = front.post("/v1/graphs/line/runs", question("?")).await.expect(503);
    assert_eq!(refused.code(), "unavailable");
    assert_eq!(front.get("/v1/runs").await.expect(200).json()["items"], json!([]));
    let keyed = [("idempotency-key", "once")];
    let body = Some(question("?").to_string());
    let path = "/v1/graphs/line/runs";
    let run = front.send(Method::POST, path, &keyed, body).await.expect(202).json();
    let back = service(&database, lm(), &[]).await;
    succeeded(&back, &[format!("/v1/runs/{}", id(&run))]).await;
}
