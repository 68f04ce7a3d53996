//! Old days of runs are dropped while the server works; what waits for a person is answered even after that.

use std::sync::Arc;

use dsrs::lm::ScriptedLm;
use dsrs_store::partition::{PartitionedTable, partitions};
use dsrs_store::{Db, PoolSettings};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::Api;
use dsrs_test::{age_run, divide_runs, found, test_database};

fn letter() -> Value {
    json!({
        "name": "letter",
        "inputs": {"topic": "str"},
        "nodes": {
            "draft": {"strategy": "predict", "signature": "topic -> text"},
            "approve": {"strategy": "await", "signature": "text -> approved: bool"},
            "send": {"strategy": "predict", "signature": "text, approved: bool -> sent"}
        },
        "edges": [
            {"from": "draft.text", "to": "approve.text"},
            {"from": "draft.text", "to": "send.text"},
            {"from": "approve.approved", "to": "send.approved"}
        ]
    })
}

async fn start(database: &str) -> Api {
    let lm = ScriptedLm::sections([("text", "Dear all"), ("sent", "off it went")]);
    Api::start(database, Some(Arc::new(lm)), &[("DSRS_RETENTION_RUNS", "30d")]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_survives_its_partition_and_runs_that_ended_do_not() {
    let url = test_database().await;
    let mut database = PgConnection::connect(&url).await.unwrap();
    let api = start(&url).await;
    api.post("/v1/graphs", letter()).await.expect(201);
    let mut runs = Vec::new();
    for _ in 0..3 {
        let inputs = json!({"inputs": {"topic": "rain"}});
        let parked = api.post("/v1/graphs/letter/execute", inputs).await.expect(202).json();
        runs.push(parked["id"].as_str().unwrap().to_owned());
    }
    for run in &runs[1..] {
        api.post(&format!("/v1/runs/{run}/cancel"), json!({})).await;
        api.ended(run).await;
    }
    api.stop().await;
    let waiting = age_run(&mut database, &runs[0], 50).await;
    let expired = age_run(&mut database, &runs[1], 45).await;
    let young = age_run(&mut database, &runs[2], 20).await;
    divide_runs(&url, &mut database).await;

    let api = start(&url).await;
    let path = |run: Uuid| format!("/v1/runs/{run}");
    api.until(&path(expired), |answer| answer.status == 404).await;
    assert_eq!(api.get(&path(young)).await.expect(200).json()["status"], "cancelled");
    let parked = api.get(&path(waiting)).await.expect(200).json();
    assert_eq!(parked["status"], "waiting");
    assert_eq!(parked["nodes"]["draft"]["status"], "succeeded");
    let listed = api.get("/v1/runs").await.expect(200).json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2), "{listed}");

    let signal = json!({"node": "approve", "value": true});
    api.post(&format!("{}/signal", path(waiting)), signal).await.expect(202);
    let run = api.ended(&waiting.to_string()).await;
    assert_eq!(run["outputs"], json!({"sent": "off it went"}));
    assert_eq!(run["usage"]["lm_calls"], 2, "the draft is not written again");
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let are_removed = async || {
        let left = partitions(&db, PartitionedTable::Runs).await.unwrap();
        (left.len() < 36 && left[0].name == "runs_old").then_some(())
    };
    found("the removal of old partitions", are_removed).await;
    api.stop().await;
}
