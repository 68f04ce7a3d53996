//! `runs.record`: before the answer, after it, or never.

use futures_util::future::join_all;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::uploads::blocked;
use super::{STOPPING, logged, on, one_node, text};
use dsrs_test::{Answer, Does, FakeLm, Gate, Remote, sections, test_database};

const EXECUTE: &str = "/v1/graphs/q/execute";

async fn post_graph(api: &Remote) {
    api.post("/v1/graphs", one_node("q", "question -> answer", json!({}))).await.expect(201);
}

async fn execute(api: Remote) -> Answer {
    api.post(EXECUTE, json!({"inputs": {"question": "?"}})).await
}

async fn lm() -> std::sync::Arc<FakeLm> {
    FakeLm::doing([Does::Say(sections([("answer", "yes")]))]).await
}

fn path(run: &Answer) -> String {
    format!("/v1/runs/{}", text(&run.json(), "id"))
}

/// Blocks all writes of runs until dropped.
async fn lock_runs(connection: &mut PgConnection) -> sqlx::Transaction<'_, sqlx::Postgres> {
    let mut lock = connection.begin().await.unwrap();
    sqlx::query("LOCK TABLE runs IN SHARE MODE").execute(&mut *lock).await.unwrap();
    lock
}

#[tokio::test(flavor = "multi_thread")]
async fn with_ack_an_answered_run_survives_a_power_cut() {
    let (lm, database) = (lm().await, test_database().await);
    let setup = on(&database, &lm).env("DSRS_RUNS_RECORD", "ack");
    let server = setup.start();
    let api = Remote::new(&server.url);
    post_graph(&api).await;

    let mut connection = PgConnection::connect(&database).await.unwrap();
    let mut lock = lock_runs(&mut connection).await;
    let running = tokio::spawn(execute(api));
    blocked(&mut lock, 1).await;
    assert!(!running.is_finished(), "answered before it was recorded");
    lock.rollback().await.unwrap();
    let run = running.await.unwrap().expect(200);

    server.kill();
    let server = setup.start();
    let recorded = Remote::new(&server.url).get(&path(&run)).await.expect(200).json();
    assert_eq!(text(&recorded, "status"), "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_async_answers_do_not_wait_and_a_shutdown_loses_nothing() {
    let (lm, database) = (lm().await, test_database().await);
    let setup = on(&database, &lm).env("DSRS_RUNS_RECORD", "async");
    let server = setup.start();
    let api = Remote::new(&server.url);
    post_graph(&api).await;

    let mut connection = PgConnection::connect(&database).await.unwrap();
    let mut lock = lock_runs(&mut connection).await;
    let run = execute(api.clone()).await.expect(200);
    api.get(&path(&run)).await.expect(404);
    blocked(&mut lock, 1).await;
    let stopping = tokio::task::spawn_blocking(move || server.stop());
    logged(&setup, STOPPING).await;
    lock.rollback().await.unwrap();
    assert!(stopping.await.unwrap().success());

    let server = setup.start();
    let recorded = Remote::new(&server.url).get(&path(&run)).await.expect(200).json();
    assert_eq!(recorded["outputs"], json!({"answer": "yes"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_off_nothing_is_recorded_and_answers_are_equal() {
    let (lm, database) = (lm().await, test_database().await);
    let setup = on(&database, &lm).env("DSRS_RUNS_RECORD", "off");
    let server = setup.start();
    let api = Remote::new(&server.url);
    post_graph(&api).await;
    let run = execute(api).await.expect(200);
    assert_eq!(run.json()["outputs"], json!({"answer": "yes"}));
    assert!(server.stop().success());

    let server = setup.start();
    let api = Remote::new(&server.url);
    api.get(&path(&run)).await.expect(404);
    assert_eq!(api.get("/v1/runs").await.expect(200).json()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_failure_fails_the_request_with_ack_only() {
    for (mode, status) in [("ack", 500), ("async", 200)] {
        let (lm, database) = (lm().await, test_database().await);
        let server = on(&database, &lm).env("DSRS_RUNS_RECORD", mode).start();
        let api = Remote::new(&server.url);
        post_graph(&api).await;
        let mut connection = PgConnection::connect(&database).await.unwrap();
        sqlx::query("ALTER TABLE runs RENAME TO lost").execute(&mut connection).await.unwrap();
        let refused = execute(api.clone()).await.expect(status);
        assert!(!refused.text.contains("lost") && !refused.text.contains("relation"));
        sqlx::query("ALTER TABLE lost RENAME TO runs").execute(&mut connection).await.unwrap();
        let run = execute(api).await.expect(200);
        assert!(server.stop().success(), "{}", run.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_of_all_connections_loses_no_run_and_no_request() {
    let gate = Gate::new();
    let (held, said) = (gate.clone(), sections([("answer", "yes")]));
    let lm = FakeLm::by(move |number, _| match number {
        0 => Does::Hold(held.clone(), said.clone()),
        _ => Does::Say(said.clone()),
    })
    .await;
    let database = test_database().await;
    let server = on(&database, &lm).start();
    let api = Remote::new(&server.url);
    post_graph(&api).await;
    let running = tokio::spawn(execute(api.clone()));
    lm.arrived(1).await;
    let mut connection = PgConnection::connect(&database).await.unwrap();
    // Opens many connections, which the pool then considers healthy.
    let warm = join_all((0..64).map(|_| api.get("/v1/runs"))).await;
    assert!(warm.iter().all(|answer| answer.status == 200));
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    sqlx::query(cut).execute(&mut connection).await.unwrap();
    gate.open();
    let run = running.await.unwrap().expect(200);
    api.get(&path(&run)).await.expect(200);
    let more = join_all((0..8).map(|_| execute(api.clone()))).await;
    for run in more {
        api.get(&path(&run.expect(200))).await.expect(200);
    }
    api.get("/readyz").await.expect(200);
}
