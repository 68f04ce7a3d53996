//! A database of an older release becomes compact while a server works on it, and every run stays as it was.

use std::sync::Arc;

use dsrs::lm::ScriptedLm;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::Api;
use dsrs_test::{ServerSetup, found, one_node, test_database};

async fn owner(database: &str) -> PgConnection {
    let mut owner = PgConnection::connect(database).await.unwrap();
    sqlx::raw_sql("set dsrs.workspace = '*'").execute(&mut owner).await.unwrap();
    owner
}

async fn executed(api: &Api) -> Value {
    let body = json!({"inputs": {"question": "ü \u{0}?"}, "tags": ["a"]});
    api.post("/v1/graphs/q/execute", body).await.expect(200).json()
}

async fn read(api: &Api, run: &Value) -> Value {
    api.get(&format!("/v1/runs/{}", run["id"].as_str().unwrap())).await.expect(200).json()
}

/// Waits until so many runs have a body. Those that ended lately become older first, as after a minute.
async fn until_compact(owner: &mut PgConnection, count: i64) {
    found("the runs to become compact", async || {
        let aged =
            "update runs set finished_at = finished_at - interval '2 minutes' where body is null
                      and finished_at > clock_timestamp() - interval '1 minute'";
        sqlx::raw_sql(aged).execute(&mut *owner).await.unwrap();
        let compact = "select count(*) from runs where body is not null";
        let compact: i64 = sqlx::query_scalar(compact).fetch_one(&mut *owner).await.unwrap();
        (compact == count).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_an_older_release_becomes_compact_while_a_server_works() {
    let database = test_database().await;
    let mut owner = owner(&database).await;
    let former = "update installation set compact_runs = false";
    sqlx::raw_sql(former).execute(&mut owner).await.unwrap();
    let lm = ScriptedLm::sections([("answer", "so it is"); 2]);
    let api = Api::start(&database, Some(Arc::new(lm)), &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let first = executed(&api).await;
    let before = read(&api, &first).await;
    let bodies: i64 = sqlx::query_scalar("select count(*) from runs where body is not null")
        .fetch_one(&mut owner)
        .await
        .unwrap();
    assert_eq!(bodies, 0);

    let printed = ServerSetup::new().database(&database).command(&["migrate", "--compact-runs"]);
    assert!(printed.unwrap().contains("runs are stored in the compact form"));
    until_compact(&mut owner, 1).await;
    let mut after = read(&api, &first).await;
    after["finished_at"] = before["finished_at"].clone();
    assert_eq!(after, before);
    let second = executed(&api).await;
    until_compact(&mut owner, 2).await;
    assert_eq!(read(&api, &second).await["outputs"], second["outputs"]);
    let listed = api.get("/v1/runs?tag=a").await.expect(200).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{listed}");
}
