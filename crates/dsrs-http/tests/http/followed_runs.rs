//! `/v1/runs/{id}/events` of background runs: followed from any server to their end.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{ScriptedAnswer, ScriptedLm};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::Connection;

use crate::Api;
use dsrs_test::{Event, sections, support_reply, test_database};
use dsrs_test_api::friendly_lm;

const RUNS: &str = "/v1/graphs/support-reply/runs";
const NO_WORKER: [(&str, &str); 1] = [("DSRS_WORKER_ENABLED", "false")];

fn ticket() -> Value {
    json!({"inputs": {"ticket": "Where is it?"}})
}

fn kinds(events: &[Event]) -> Vec<&str> {
    let kinds = events.iter().map(|event| event.kind.as_str());
    kinds.filter(|kind| *kind != "node.delta").collect()
}

async fn follow(api: &Api, place: &str, after: u64) -> Vec<Event> {
    let after = after.to_string();
    let headers = [("last-event-id", after.as_str())];
    api.stream(Method::GET, &format!("{place}/events"), &headers, None).await.rest().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_can_be_followed_from_another_server() {
    let database = test_database().await;
    let asked = Api::start(&database, None, &NO_WORKER).await;
    asked.post("/v1/graphs", support_reply()).await.expect(201);
    let accepted = asked.post(RUNS, ticket()).await.expect(202);
    let place = accepted.header("location").to_owned();
    let mut early = asked.stream(Method::GET, &format!("{place}/events"), &[], None).await;
    let _works = Api::start(&database, Some(Arc::new(friendly_lm())), &[]).await;
    let first = early.next().await.unwrap();
    assert_eq!((first.id, first.kind.as_str()), (1, "run.started"));
    assert_eq!(first.data["kept"], json!([]));
    let events = early.rest().await;
    assert_eq!(
        kinds(&events),
        ["node.started", "node.completed", "node.started", "node.completed", "run.completed"]
    );
    let texts = events.iter().filter(|event| event.data["field"] == "reasoning");
    let text: String = texts.map(|event| event.data["text"].as_str().unwrap()).collect();
    assert_eq!(text, "They wait.");
    let ids: Vec<_> = events.iter().map(|event| event.id).collect();
    assert_eq!(ids, (2..2 + events.len() as u64).collect::<Vec<_>>());

    let run = asked.get(&place).await.expect(200).json();
    assert_eq!(events.last().unwrap().data["outputs"], run["outputs"]);
    assert_eq!(follow(&asked, &place, 3).await, events[2..]);
    let last = events.last().unwrap().id.to_string();
    let headers = [("last-event-id", last.as_str())];
    asked.send(Method::GET, &format!("{place}/events"), &headers, None).await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_numbered_on_when_another_server_continues_a_run() {
    let database = test_database().await;
    let stalls = ScriptedLm::by(|request| {
        let asked: String = request.chat.turns.iter().map(|turn| turn.content.as_ref()).collect();
        let said = ScriptedAnswer::from(sections([("mood", "calm"), ("topics", "[]")]));
        let stall = asked.contains("[[ ## mood ## ]]\ncalm");
        said.after(if stall { Duration::from_secs(3600) } else { Duration::ZERO })
    });
    let first = Api::start(&database, Some(Arc::new(stalls)), &[]).await;
    first.post("/v1/graphs", support_reply()).await.expect(201);
    let place = first.post(RUNS, ticket()).await.expect(202).header("location").to_owned();
    let reader = Api::start(&database, None, &NO_WORKER).await;
    let mut events = reader.stream(Method::GET, &format!("{place}/events"), &[], None).await;
    events.until("node.completed").await;
    first.shutdown.begin();
    first.shutdown.cancel();
    let _second = Api::start(&database, Some(Arc::new(friendly_lm())), &[]).await;
    let again = events.until("run.started").await;
    assert_eq!(again.data["kept"], json!(["triage"]), "the completed node has no events again");
    let rest = events.rest().await;
    assert_eq!(kinds(&rest), ["node.started", "node.completed", "run.completed"]);
    assert!(rest.iter().all(|event| event.id > again.id));
    assert!(rest.iter().all(|event| event.data["node"] != "triage"), "{rest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_run_can_be_followed_beyond_the_wait() {
    let api = Api::new().await;
    let graph = json!({"name": "letter", "nodes": {
        "approve": {"strategy": "await", "signature": "letter -> approved: bool"},
        "say": {"strategy": "predict", "signature": "approved: bool -> answer"}},
        "edges": [{"from": "approve.approved", "to": "say.approved"}]});
    api.post("/v1/graphs", graph).await.expect(201);
    for route in ["/v1/graphs/letter/runs", "/v1/graphs/letter/execute"] {
        let started = api.post(route, json!({"inputs": {"letter": "Dear all"}})).await.expect(202);
        let place = started.header("location").to_owned();
        let mut events = api.stream(Method::GET, &format!("{place}/events"), &[], None).await;
        let parked = events.until("run.waiting").await;
        let id = place.rsplit('/').next();
        let waits = json!({"run_id": id, "status": "waiting", "nodes": ["approve"]});
        assert_eq!(parked.data, waits, "{route}");
        let signal = json!({"node": "approve", "value": true});
        api.post(&format!("{place}/signal"), signal).await.expect(202);
        let started = events.next().await.unwrap();
        assert_eq!((started.id, started.kind.as_str()), (parked.id + 1, "run.started"));
        assert_eq!(started.data["kept"], json!(["approve"]), "the signal counts");
        let rest = events.rest().await;
        let expected = ["node.started", "node.completed", "run.completed"];
        assert_eq!(kinds(&rest), expected, "{route}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_last_event_id_that_is_too_high_skips_no_event() {
    let database = test_database().await;
    let asked = Api::start(&database, None, &NO_WORKER).await;
    asked.post("/v1/graphs", support_reply()).await.expect(201);
    let place = asked.post(RUNS, ticket()).await.expect(202).header("location").to_owned();
    let claimed = i64::MAX.to_string();
    let headers = [("last-event-id", claimed.as_str())];
    let early = asked.stream(Method::GET, &format!("{place}/events"), &headers, None).await;
    let _works = Api::start(&database, Some(Arc::new(friendly_lm())), &[]).await;
    let events = early.rest().await;
    let ids: Vec<_> = events.iter().map(|event| event.id).collect();
    assert_eq!(ids, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(events.last().unwrap().kind, "run.completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_receives_the_end_after_events_were_removed() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let place = api.post(RUNS, ticket()).await.expect(202).header("location").to_owned();
    let events = follow(&api, &place, 0).await;
    let mut connection = sqlx::PgConnection::connect(&api.database).await.unwrap();
    sqlx::raw_sql("delete from run_events").execute(&mut connection).await.unwrap();
    let end = events.last().unwrap();
    let longest = i64::MAX as u64;
    for (seen, id) in [(0, 1), (5, 6), (longest - 1, longest), (longest, longest)] {
        let end = Event { id, kind: end.kind.clone(), data: end.data.clone() };
        assert_eq!(follow(&api, &place, seen).await, [end]);
    }
}
