//! A connection to Postgres that is silent without being closed, and one that carries no notifications: no
//! server serves what was rolled back for longer than it says, and cancellations still arrive.

use reqwest::Method;
use serde_json::{Value, json};

use super::{on, one_node, text};
use dsrs_test::{
    DatabaseProxy, Does, FakeLm, Remote, ServerSetup, found, sections, test_database, within,
};

const EXECUTE: &str = "/v1/graphs/q/execute";
const STATE: &str = "/v1/graphs/q/state";

fn question() -> Value {
    json!({"inputs": {"question": "?"}})
}

/// The state version that a server executes.
async fn served(api: &Remote) -> u64 {
    let run = api.post(EXECUTE, question()).await.expect(200).json();
    run["state_version"].as_u64().unwrap()
}

async fn until_served(api: &Remote, version: u64) {
    found("the version", async || (served(api).await == version).then_some(())).await;
}

async fn activate(api: &Remote, version: u64) {
    api.post(&format!("{STATE}/versions/{version}/activate"), "").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_receives_no_notifications_stops_serving_what_was_rolled_back() {
    let database = test_database().await;
    let proxy = DatabaseProxy::start(&database).await;
    let lm = FakeLm::doing([Does::Say(sections([("answer", "yes")]))]).await;
    let (first, second) = (on(&database, &lm).start(), on(&proxy.url, &lm).start());
    let (near, far) = (Remote::new(&first.url), Remote::new(&second.url));
    near.post("/v1/graphs", one_node("q", "question -> answer", json!({}))).await.expect(201);
    let tuned = json!({"predictors": {"ask": {"instruction": "Answer.", "demos": []}}});
    near.put(STATE, tuned).await.expect(200);
    until_served(&far, 2).await;
    far.until("/readyz", |answer| answer.status == 200).await;

    proxy.silence();
    activate(&near, 1).await;
    until_served(&far, 1).await;
    // New listening connections are silent, too: everything is read from the database.
    let unready = far.until("/readyz", |answer| answer.status == 503).await;
    let detail = unready.json();
    assert!(text(&detail, "detail").contains("database.max_staleness"), "{detail}");
    near.until("/readyz", |answer| answer.status == 200).await;
    for version in [2, 1] {
        activate(&near, version).await;
        assert_eq!(served(&far).await, version, "at once, without any notification");
    }

    proxy.restore();
    far.until("/readyz", |answer| answer.status == 200).await;
    activate(&near, 2).await;
    until_served(&far, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_is_cancelled_without_its_notification() {
    let database = test_database().await;
    let proxy = DatabaseProxy::start(&database).await;
    let lm = FakeLm::doing([Does::Stall]).await;
    let (first, second) = (on(&database, &lm).start(), on(&proxy.url, &lm).start());
    let (near, far) = (Remote::new(&first.url), Remote::new(&second.url));
    near.post("/v1/graphs", one_node("q", "question -> answer", json!({}))).await.expect(201);
    let mut events = far.stream(Method::POST, EXECUTE, &[], Some(question().to_string())).await;
    let run = text(&events.until("run.started").await.data, "run_id").to_owned();
    lm.arrived(1).await;

    proxy.silence();
    near.post(&format!("/v1/runs/{run}/cancel"), "").await;
    let last = within("the cancellation", events.until("run.cancelled")).await;
    assert_eq!(text(&last.data, "code"), "run_cancelled");
    lm.abandoned(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_behind_a_pooler_in_transaction_mode_refuses_to_start() {
    let proxy = DatabaseProxy::start(&test_database().await).await;
    proxy.drop_notifications();
    for setup in [ServerSetup::new(), ServerSetup::new().worker()] {
        let refused = setup.database(&proxy.url).try_start().err().expect("a refusal");
        assert!(!refused.success);
        assert!(refused.stderr.contains("a connection pooler in transaction mode"), "{refused:?}");
    }
}
