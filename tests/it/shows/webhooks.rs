//! Messages of webhooks by several servers, some of which are killed: each arrives, and without faults each once.

use std::collections::BTreeMap;

use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::leases::{leased, sessions_ended};
use super::{on, one_node, text};
use dsrs_test::{
    Does, FakeLm, Receiver, Receives, Remote, ServerSetup, holds, sections, test_database,
};

async fn lm() -> std::sync::Arc<FakeLm> {
    FakeLm::doing([Does::Say(sections([("answer", "a")]))]).await
}

fn setup(database: &str, lm: &FakeLm) -> ServerSetup {
    on(database, lm)
        .env("DSRS_WEBHOOKS_ALLOW", "127.0.0.1")
        .env("DSRS_WEBHOOKS_FIRST_RETRY", "50ms")
        .env("DSRS_WEBHOOKS_TIMEOUT", "300s")
}

/// As if the time had passed after which other servers send what a killed one was sending.
async fn make_due(database: &str, killed: &str) {
    sessions_ended(database, killed).await;
    let mut connection = PgConnection::connect(database).await.unwrap();
    let due = "update webhook_deliveries set next_attempt_at = clock_timestamp() where status = 'pending'";
    sqlx::query(due).execute(&mut connection).await.unwrap();
}

/// How often each message arrived.
fn arrivals(receiver: &Receiver) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for message in receiver.messages() {
        *counts.entry(message.id).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_server_is_killed_before_it_is_recorded_is_sent_again() {
    let (database, lm) = (test_database().await, lm().await);
    let receiver =
        Receiver::by(|number| if number == 0 { Receives::Stall } else { Receives::Status(200) })
            .await;
    let server = leased(setup(&database, &lm), &database, "killed").await.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("q", "question -> answer", json!({}))).await.expect(201);
    let body = json!({"name": "all", "url": receiver.url, "events": ["run.finished"]});
    let webhook = api.post("/v1/webhooks", body).await.expect(201).json();
    let inputs = json!({"inputs": {"question": "?"}});
    let run = api.post("/v1/graphs/q/execute", inputs).await.expect(200).json();
    receiver.arrived(1).await;
    // The receiver has the message, and the server does not know.
    server.kill();
    make_due(&database, "killed").await;
    let server = setup(&database, &lm).start();
    let messages = receiver.arrived(2).await;
    assert_eq!(messages[0].id, messages[1].id);
    assert_eq!(messages[1].json()["data"]["id"], run["id"]);
    assert!(messages[1].is_signed_with(text(&webhook, "secret")));
    let api = Remote::new(&server.url);
    let path = format!("/v1/webhooks/{}/deliveries", text(&webhook, "id"));
    let log = api.until(&path, |answer| answer.json()["items"][0]["status"] == "succeeded").await;
    assert_eq!(log.json()["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn three_servers_send_each_message_once_and_lose_none_when_one_is_killed() {
    let (database, lm) = (test_database().await, lm().await);
    let receiver = Receiver::friendly().await;
    let killed = leased(setup(&database, &lm), &database, "killed").await;
    let mut servers: Vec<_> = (0..2).map(|_| setup(&database, &lm).start()).collect();
    servers.insert(0, killed.start());
    let api = Remote::new(&servers[0].url);
    api.post("/v1/graphs", one_node("q", "question -> answer", json!({}))).await.expect(201);
    let body = json!({"name": "all", "url": receiver.url, "events": ["run.finished"]});
    let webhook = api.post("/v1/webhooks", body).await.expect(201).json();
    let inputs = json!({"inputs": {"question": "?"}});
    for number in 0..60 {
        let server = Remote::new(&servers[number % 3].url);
        server.post("/v1/graphs/q/execute", &inputs).await.expect(200);
    }
    receiver.arrived(60).await;
    let path =
        format!("/v1/webhooks/{}/deliveries?status=succeeded&limit=200", text(&webhook, "id"));
    api.until(&path, |sent| sent.json()["items"].as_array().unwrap().len() == 60).await;
    let counts = arrivals(&receiver);
    assert_eq!(counts.len(), 60);
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    for _ in 0..20 {
        api.post("/v1/graphs/q/execute", &inputs).await.expect(200);
    }
    servers.remove(0).kill();
    // Those of the killed server are due. What others are sending at this time, they send twice.
    make_due(&database, "killed").await;
    holds("all messages", || arrivals(&receiver).len() == 80).await;
}
