//! A connection to Postgres that is silent without being closed, and one that carries no notifications: no
//! server serves what was rolled back for longer than it says, and cancellations still arrive.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::{on, one_node, text};
use crate::support::{DatabaseProxy, Does, FakeLm, Remote, ServerSetup, sections, test_database};

const EXECUTE: &str = "/v1/graphs/q/execute";
const STATE: &str = "/v1/graphs/q/state";

/// The default of `database.max_staleness`.
const MAX_STALENESS: Duration = Duration::from_secs(5);

/// What a request takes at most on a busy machine.
const SLACK: Duration = Duration::from_secs(3);

fn question() -> Value {
    json!({"inputs": {"question": "?"}})
}

/// The state version that a server executes.
async fn served(api: &Remote) -> u64 {
    let run = api.post(EXECUTE, question()).await.expect(200).json();
    run["state_version"].as_u64().unwrap()
}

async fn until_served(api: &Remote, version: u64) {
    let begun = Instant::now();
    while served(api).await != version {
        assert!(begun.elapsed() < MAX_STALENESS + SLACK, "another version is still served");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
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
    assert_eq!(near.get("/readyz").await.status, 200);
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
    let last = tokio::time::timeout(Duration::from_secs(20), events.until("run.cancelled")).await;
    assert_eq!(text(&last.expect("the cancellation").data, "code"), "run_cancelled");
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
