//! Runs as server-sent events: streamed, followed again, disconnected.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{LmErrorKind, OpenAi, OpenAiConfig, ScriptedAnswer, ScriptedLm};
use reqwest::Method;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{
    Answer, Does, Event, FakeLm, Gate, one_node, sections, support_reply, test_database,
};
use dsrs_test_api::friendly_lm;

const EXECUTE: &str = "/v1/graphs/support-reply/execute";
const ASK: &str = "/v1/graphs/q/execute";

fn ticket() -> Option<String> {
    Some(json!({"inputs": {"ticket": "Where is it?"}}).to_string())
}

fn question() -> Option<String> {
    Some(json!({"inputs": {"question": "?"}}).to_string())
}

/// A summary of an event.
fn summary(event: &Event) -> String {
    let text = |name: &str| event.data[name].as_str().unwrap_or_default().to_owned();
    match event.kind.as_str() {
        "node.delta" => format!("{} {}: {}", text("predictor"), text("field"), text("text")),
        "node.completed" => format!("{} returns {}", text("node"), event.data["outputs"]),
        kind => format!("{kind} {}", text("node")).trim_end().to_owned(),
    }
}

/// A summary of the events of a run, with the deltas of a text joined.
fn story(events: &[Event]) -> Vec<String> {
    let mut story: Vec<String> = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &events[before]);
        let continues = |before: &Event| {
            let of = |event: &Event| (event.kind.clone(), event.data["field"].clone());
            event.kind == "node.delta" && of(before) == of(event)
        };
        match story.last_mut().filter(|_| before.is_some_and(continues)) {
            Some(line) => line.push_str(event.data["text"].as_str().unwrap()),
            None => story.push(summary(event)),
        }
    }
    story
}

/// A graph `q` of one question, with an LM over HTTP.
async fn over_http(does: impl Into<Vec<Does>>, settings: &[(&str, &str)]) -> (Api, Arc<FakeLm>) {
    let fake = FakeLm::doing(does).await;
    let lm = Arc::new(OpenAi::new(OpenAiConfig::new(&*fake.url, "m")).unwrap());
    let api = Api::start(&test_database().await, Some(lm), settings).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    (api, fake)
}

/// The record of a run, once it has ended.
async fn record(api: &Api, id: &Value) -> Value {
    let path = format!("/v1/runs/{}", id.as_str().unwrap());
    let is_recorded =
        |answer: &Answer| answer.status == 200 && !answer.json()["finished_at"].is_null();
    api.until(&path, is_recorded).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_all_events_and_ends_with_the_answer() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let events = api.stream(Method::POST, EXECUTE, &[], ticket()).await.rest().await;
    assert_eq!(
        story(&events),
        [
            "run.started",
            "node.started triage",
            "triage mood: calm",
            "triage topics: [\"parcel\"]",
            r#"triage returns {"mood":"calm","topics":["parcel"]}"#,
            "node.started reply",
            "reply.predict reasoning: They wait.",
            "reply.predict answer: Dear customer",
            r#"reply returns {"reasoning":"They wait.","answer":"Dear customer"}"#,
            "run.completed",
        ]
    );
    let ids: Vec<_> = events.iter().map(|event| event.id).collect();
    assert_eq!(ids, (1..=events.len() as u64).collect::<Vec<_>>());
    let mood = events.iter().filter(|event| event.data["field"] == "mood");
    assert!(mood.count() > 1, "a text is streamed in deltas");
    let run = &events.last().unwrap().data;
    assert_eq!(run["run_id"], events[0].data["run_id"]);
    assert!(run.get("trace").is_none());
    let mut recorded = record(&api, &run["run_id"]).await;
    recorded["run_id"] = recorded["id"].clone();
    let members = recorded.as_object_mut().unwrap();
    members.remove("trace").unwrap();
    // Only a recorded run can have feedback.
    members.remove("feedback").unwrap();
    assert_eq!(*run, recorded);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_before_a_run_starts_is_an_ordinary_problem() {
    let api = Api::new().await;
    let headers = [("accept", "text/event-stream")];
    let ask = |body: Option<String>| api.send(Method::POST, EXECUTE, &headers, body);
    assert_eq!(ask(ticket()).await.expect(404).code(), "not_found");
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let refused = ask(Some(json!({"inputs": {"tickt": 1}}).to_string())).await.expect(422);
    assert_eq!(refused.code(), "invalid_input");
    let elsewhere = api.send(Method::GET, "/v1/graphs", &headers, None).await.expect(406);
    assert_eq!(elsewhere.code(), "not_acceptable");
    let unknown = "/v1/runs/01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f/events";
    assert_eq!(api.get(unknown).await.expect(404).code(), "not_found");
    let headers = [("last-event-id", "x")];
    let wrong = api.send(Method::GET, unknown, &headers, None).await.expect(400);
    assert_eq!(wrong.code(), "invalid_parameter");
    let headers = [("accept", "application/json")];
    api.send(Method::GET, unknown, &headers, None).await.expect(406);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_of_a_failed_run_ends_with_its_problem() {
    let lm =
        ScriptedLm::always(ScriptedAnswer::fail(LmErrorKind::Provider, "it broke").status(500));
    let api = Api::with_lm(lm).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let events = api.stream(Method::POST, ASK, &[], question()).await.rest().await;
    let story: Vec<_> = events.iter().map(summary).collect();
    assert_eq!(story, ["run.started", "node.started ask", "node.failed ask", "run.failed ask"]);
    assert_eq!(events[2].data["error"]["code"], "lm_error");
    let problem = &events[3].data;
    assert_eq!((&problem["code"], &problem["status"]), (&json!("lm_error"), &json!(502)));
    assert_eq!(record(&api, &problem["run_id"]).await["error"], *problem);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_can_reconnect_and_others_can_follow() {
    let text = sections([("answer", "one two three four five six seven")]);
    let slow = ScriptedAnswer::from(text).pausing(Duration::from_millis(40));
    let api = Api::with_lm(ScriptedLm::always(slow)).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let mut first = api.stream(Method::POST, ASK, &[], question()).await;
    let begun = first.next().await.unwrap();
    let path = format!("/v1/runs/{}/events", begun.data["run_id"].as_str().unwrap());
    let seen = first.until("node.delta").await;
    let after = seen.id.to_string();
    let back = api.stream(Method::GET, &path, &[("last-event-id", &after)], None).await;
    let from_the_start = api.stream(Method::GET, &path, &[], None).await;
    let (rest, back, all) = tokio::join!(first.rest(), back.rest(), from_the_start.rest());
    assert_eq!(rest, back);
    assert_eq!(all[0], begun);
    assert_eq!(all[usize::try_from(seen.id).unwrap()..], rest);
    assert_eq!(rest.last().unwrap().kind, "run.completed");
    let late = api.stream(Method::GET, &path, &[], None).await.rest().await;
    assert_eq!(late, all, "a run that has just ended has all its events");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_client_receives_a_gap_and_the_last_event() {
    let long = "A sentence that says nothing. ".repeat(1000);
    let api = Api::with_lm(ScriptedLm::sections([("answer", long.trim())])).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let all = api.stream(Method::POST, ASK, &[], question()).await.rest().await;
    let end = all.last().unwrap().clone();
    let path = format!("/v1/runs/{}/events", end.data["run_id"].as_str().unwrap());
    let late = api.stream(Method::GET, &path, &[], None).await.rest().await;
    assert_eq!((late[0].kind.as_str(), &late[0].data["from"]), ("gap", &json!(1)));
    assert_eq!(late[0].data["to"], late[0].id);
    assert_eq!(late[1].id, late[0].id + 1);
    assert_eq!(*late.last().unwrap(), end);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_last_event_remains_of_a_run_that_ended_long_ago() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let run = api.post(EXECUTE, ticket().unwrap()).await.expect(200).json();
    let path = format!("/v1/runs/{}/events", run["id"].as_str().unwrap());
    let events = api.stream(Method::GET, &path, &[], None).await.rest().await;
    assert_eq!(events, [Event { id: 1, kind: "run.completed".into(), data: run }]);
    let headers = [("last-event-id", "1")];
    let read = api.send(Method::GET, &path, &headers, None).await.expect(204);
    assert_eq!(read.text, "", "a client that has read the last event must stop");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_disconnects_cancels_the_run_and_its_request() {
    let (api, fake) = over_http([Does::Begin("[[ ## answer ## ]]\nOnce upon".into())], &[]).await;
    let mut stream = api.stream(Method::POST, ASK, &[], question()).await;
    let id = stream.next().await.unwrap().data["run_id"].clone();
    assert_eq!(stream.until("node.delta").await.data["text"], "Once upon");
    drop(stream);
    fake.abandoned(1).await;
    let run = record(&api, &id).await;
    assert_eq!(
        (&run["status"], &run["error"]["code"]),
        (&json!("cancelled"), &json!("run_cancelled"))
    );
    let path = format!("/v1/runs/{}/events", id.as_str().unwrap());
    let events = api.stream(Method::GET, &path, &[], None).await.rest().await;
    assert_eq!(events.last().unwrap().kind, "run.cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_outlives_its_client_if_settings_or_a_key_allow_it() {
    for (setting, key) in [("false", None), ("true", Some(("idempotency-key", "k-1")))] {
        let gate = Gate::new();
        let holds = Does::Hold(gate.clone(), sections([("answer", "late")]));
        let settings = [("DSRS_RUNS_CANCEL_ON_DISCONNECT", setting)];
        let (api, fake) = over_http([holds], &settings).await;
        let headers: Vec<_> = key.into_iter().collect();
        let mut stream = api.stream(Method::POST, ASK, &headers, question()).await;
        let id = stream.next().await.unwrap().data["run_id"].clone();
        fake.arrived(1).await;
        drop(stream);
        // Time in which a cancelled run would have ended.
        tokio::time::sleep(Duration::from_millis(200)).await;
        gate.open();
        assert_eq!(record(&api, &id).await["outputs"]["answer"], "late");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_streamed_execution_is_replayed() {
    let lm = Arc::new(friendly_lm());
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let key = [("idempotency-key", "k-1")];
    let first = api.stream(Method::POST, ASK, &key, question()).await;
    assert_eq!(first.header("idempotent-replayed"), "");
    let end = first.rest().await.pop().unwrap();
    // After the last event the answer is stored.
    let headers = [key[0], ("accept", "text/event-stream")];
    let again = api.send(Method::POST, ASK, &headers, question()).await.expect(200);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(
        again.text,
        format!("id: 1\nevent: run.completed\ndata: {}\n\n", text_of(&end, &again.text))
    );
    assert_eq!(lm.requests().len(), 1);
    let plain = api.send(Method::POST, ASK, &key, question()).await.expect(200);
    assert_eq!(plain.json(), end.data);
}

/// The data of the only event in a text, checked to be that of `event`.
fn text_of<'t>(event: &Event, text: &'t str) -> &'t str {
    let data = text.split_once("data: ").unwrap().1.trim_end();
    assert_eq!(serde_json::from_str::<Value>(data).unwrap(), event.data);
    data
}
