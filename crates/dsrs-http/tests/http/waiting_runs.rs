//! `await` and `/v1/runs/{id}/signal`: runs that wait for a value and continue with it.

use std::sync::Arc;

use dsrs::lm::{OpenAi, OpenAiConfig, ScriptedLm};
use reqwest::Method;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{Answer, Does, FakeLm, Gate, test_database};

fn approval() -> Value {
    json!({
        "name": "letter",
        "inputs": {"topic": "str"},
        "nodes": {
            "draft": {"strategy": "predict", "signature": "topic -> text"},
            "approve": {"strategy": "await", "signature": "text -> approved: bool"},
            "sign": {"strategy": "await", "signature": "text -> name"},
            "send": {"strategy": "predict", "signature": "text, approved: bool, name -> sent"}
        },
        "edges": [
            {"from": "draft.text", "to": "approve.text"},
            {"from": "draft.text", "to": "sign.text"},
            {"from": "draft.text", "to": "send.text"},
            {"from": "approve.approved", "to": "send.approved"},
            {"from": "sign.name", "to": "send.name"}
        ]
    })
}

fn lm() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::sections([("text", "Dear all"), ("sent", "off it went")]))
}

async fn with_letter(lm: &Arc<ScriptedLm>) -> Api {
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    api.post("/v1/graphs", approval()).await.expect(201);
    api
}

fn topic() -> Value {
    json!({"inputs": {"topic": "rain"}})
}

/// The address of the run in an answer.
fn place(answer: &Answer) -> String {
    let place = answer.header("location").to_owned();
    assert_eq!(place, format!("/v1/runs/{}", answer.json()["id"].as_str().unwrap()));
    place
}

async fn signal(api: &Api, place: &str, node: &str, value: Value) -> Answer {
    api.post(&format!("{place}/signal"), json!({"node": node, "value": value})).await
}

fn statuses(run: &Value) -> String {
    let nodes = run["nodes"].as_object().unwrap().iter();
    let lines = nodes.map(|(name, node)| format!("{name} {}", node["status"].as_str().unwrap()));
    lines.collect::<Vec<_>>().join(", ")
}

fn waits(answer: &Answer) -> bool {
    answer.status == 200 && answer.json()["status"] == "waiting"
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_parks_and_continues_when_all_values_are_there() {
    let lm = lm();
    let api = with_letter(&lm).await;
    let parked = api.post("/v1/graphs/letter/execute", topic()).await.expect(202);
    let place = place(&parked);
    let run = parked.json();
    assert_eq!((&run["status"], &run["finished_at"]), (&json!("waiting"), &Value::Null));
    let expected = "draft succeeded, approve waiting, sign waiting, send pending";
    assert_eq!(statuses(&run), expected);
    assert_eq!(statuses(&api.get(&place).await.expect(200).json()), expected);
    let listed = api.get("/v1/runs?status=waiting").await.json();
    assert_eq!(listed["items"][0]["id"], run["id"]);

    signal(&api, &place, "approve", json!(true)).await.expect(202);
    let again = api.until(&place, waits).await.json();
    assert_eq!(statuses(&again), "draft succeeded, approve succeeded, sign waiting, send pending");
    let accepted = signal(&api, &place, "sign", json!({"name": "Ann"})).await.expect(202);
    assert_eq!(accepted.header("location"), place);
    let run = api.ended(run["id"].as_str().unwrap()).await;
    assert_eq!(run["outputs"], json!({"sent": "off it went"}));
    assert_eq!(run["nodes"]["approve"]["outputs"], json!({"approved": true}));
    assert_eq!(run["usage"]["lm_calls"], 2, "what was bought before is not bought again");
    assert_eq!(lm.requests().len(), 2);
    assert!(lm.requests()[1].chat.turns[0].content.contains("Ann"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_run_parks_and_accepts_values_in_any_order() {
    let lm = lm();
    let api = with_letter(&lm).await;
    let place = place(&api.post("/v1/graphs/letter/runs", topic()).await.expect(202));
    api.until(&place, waits).await;
    let both =
        [signal(&api, &place, "sign", json!("Bob")), signal(&api, &place, "approve", json!(false))];
    for answer in futures_util::future::join_all(both).await {
        answer.expect(202);
    }
    let run = api.ended(place.rsplit('/').next().unwrap()).await;
    assert_eq!((&run["status"], &run["usage"]["lm_calls"]), (&json!("succeeded"), &json!(2)));
    assert_eq!(signal(&api, &place, "sign", json!("Eve")).await.expect(409).code(), "run_finished");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_value_changes_nothing() {
    let api = with_letter(&lm()).await;
    let place = place(&api.post("/v1/graphs/letter/execute", topic()).await.expect(202));
    let refused = signal(&api, &place, "approve", json!("perhaps")).await.expect(422);
    assert_eq!(
        (refused.code().as_str(), refused.errors()),
        ("invalid_input", vec!["/value wrong_type".to_owned()])
    );
    let unknown = signal(&api, &place, "aprove", json!(true)).await.expect(422);
    assert_eq!(unknown.errors(), ["/node unknown_node"]);
    let early = signal(&api, &place, "draft", json!("mine")).await.expect(409);
    assert_eq!(early.code(), "node_not_waiting");
    let body = json!({"node": "approve", "valu": true});
    let shape = api.post(&format!("{place}/signal"), body).await.expect(422);
    assert_eq!(shape.errors(), ["/value missing_field", "/valu unknown_field"]);
    let run = api.get(&place).await.expect(200).json();
    assert_eq!(statuses(&run), "draft succeeded, approve waiting, sign waiting, send pending");
    signal(&api, &place, "approve", json!(true)).await.expect(202);
    api.until(&place, waits).await;
    let twice = signal(&api, &place, "approve", json!(false)).await.expect(409);
    assert_eq!(twice.code(), "node_not_waiting");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_run_can_be_cancelled_and_resumed() {
    let lm = lm();
    let api = with_letter(&lm).await;
    let place = place(&api.post("/v1/graphs/letter/execute", topic()).await.expect(202));
    let run = api.post(&format!("{place}/cancel"), "").await.expect(200).json();
    assert_eq!(run["status"], "cancelled");
    assert_eq!(statuses(&run), "draft succeeded, approve cancelled, sign cancelled, send skipped");
    api.post(&format!("{place}/resume"), json!({})).await.expect(202);
    api.until(&place, waits).await;
    signal(&api, &place, "approve", json!(true)).await.expect(202);
    api.until(&place, |answer| {
        waits(answer) && answer.json()["nodes"]["approve"]["status"] == "succeeded"
    })
    .await;
    signal(&api, &place, "sign", json!("Ann")).await.expect(202);
    assert_eq!(api.ended(place.rsplit('/').next().unwrap()).await["status"], "succeeded");
    assert_eq!(lm.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_event_of_a_parked_execution_is_run_waiting() {
    let api = with_letter(&lm()).await;
    let body = Some(topic().to_string());
    let stream = api.stream(Method::POST, "/v1/graphs/letter/execute", &[], body).await;
    let last = stream.rest().await.pop().unwrap();
    assert_eq!((last.kind.as_str(), &last.data["status"]), ("run.waiting", &json!("waiting")));
}

/// An op before two LM nodes, the last of which needs two signalled values.
fn contract() -> Value {
    json!({
        "name": "contract",
        "inputs": {"topic": "str"},
        "nodes": {
            "loud": {"strategy": "upper"},
            "draft": {"strategy": "predict", "signature": "topic -> text"},
            "fix": {"strategy": "predict", "signature": "text -> note", "retries": 0,
                    "parse_retries": 0},
            "name": {"strategy": "await", "signature": "text -> name"},
            "price": {"strategy": "await", "signature": {
                "inputs": [{"name": "text"}],
                "outputs": [{"name": "price", "type": "int", "constraints": [{"assert": "this > 10"}]}]}},
            "send": {"strategy": "predict", "signature": "note, name, price: int -> sent"}
        },
        "edges": [
            {"from": "input.topic", "to": "loud.text"},
            {"from": "loud.text", "to": "draft.topic"},
            {"from": "draft.text", "to": "fix.text"},
            {"from": "draft.text", "to": "name.text"},
            {"from": "draft.text", "to": "price.text"},
            {"from": "fix.note", "to": "send.note"},
            {"from": "name.name", "to": "send.name"},
            {"from": "price.price", "to": "send.price"}
        ],
        "outputs": {"sent": "send.sent"}
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_start_with_all_values_and_are_paid_for_once() {
    let texts = [("text", "DEAR ALL"), ("note", "fine"), ("sent", "off")];
    let lm = Arc::new(ScriptedLm::sections(texts));
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    api.post("/v1/graphs", contract()).await.expect(201);
    let place = place(&api.post("/v1/graphs/contract/runs", topic()).await.expect(202));
    let parked = api.until(&place, waits).await.json();
    assert_eq!(parked["nodes"]["price"]["inputs"], json!({"text": "DEAR ALL"}));
    let broken = signal(&api, &place, "price", json!(3)).await.expect(422);
    assert_eq!(broken.errors(), ["/value invalid_value"]);
    signal(&api, &place, "name", json!("Ann")).await.expect(202);
    let again = api.until(&place, |answer| {
        waits(answer) && answer.json()["nodes"]["name"]["status"] == "succeeded"
    });
    assert_eq!(again.await.json()["nodes"]["send"]["status"], "pending");
    signal(&api, &place, "price", json!(30)).await.expect(202);
    let run = api.ended(place.rsplit('/').next().unwrap()).await;
    assert_eq!((&run["status"], &run["outputs"]["sent"]), (&json!("succeeded"), &json!("off")));
    assert_eq!((lm.requests().len(), &run["usage"]["lm_calls"]), (3, &json!(3)));
    let sent = &lm.requests()[2].chat.turns[0].content;
    assert!(sent.contains("Ann") && sent.contains("30"), "{sent}");
    assert_eq!(run["nodes"]["price"]["inputs"], json!({"text": "DEAR ALL"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_arrives_while_the_run_fails_is_stored() {
    let gate = Gate::new();
    let fails = Does::Hold(gate.clone(), "nothing of use".to_owned());
    let fake = FakeLm::doing([fails]).await;
    let lm = Arc::new(OpenAi::new(OpenAiConfig::new(&*fake.url, "m")).unwrap());
    let api = Api::start(&test_database().await, Some(lm), &[]).await;
    let graph = json!({
        "name": "two", "inputs": {"text": "str"},
        "nodes": {
            "approve": {"strategy": "await", "signature": "text -> approved: bool"},
            "sign": {"strategy": "await", "signature": "text -> name"},
            "mid": {"strategy": "predict", "signature": "approved: bool -> count: int, unit",
                    "retries": 0, "parse_retries": 0},
            "send": {"strategy": "predict", "signature": "count: int, name -> sent"}
        },
        "edges": [
            {"from": "approve.approved", "to": "mid.approved"},
            {"from": "mid.count", "to": "send.count"},
            {"from": "sign.name", "to": "send.name"}
        ],
        "outputs": {"sent": "send.sent"}
    });
    api.post("/v1/graphs", graph).await.expect(201);
    let body = json!({"inputs": {"text": "Dear all"}});
    let place = place(&api.post("/v1/graphs/two/execute", body).await.expect(202));
    signal(&api, &place, "approve", json!(true)).await.expect(202);
    fake.arrived(1).await;
    signal(&api, &place, "sign", json!("Ann")).await.expect(202);
    gate.open();
    let run = api.ended(place.rsplit('/').next().unwrap()).await;
    assert_eq!(run["status"], "failed");
    assert_eq!(statuses(&run), "approve succeeded, sign succeeded, mid failed, send skipped");
    assert_eq!(run["nodes"]["sign"]["outputs"], json!({"name": "Ann"}));
    let resumed = api.post(&format!("{place}/resume"), json!({})).await.expect(202).json();
    assert_eq!(resumed["resumed"]["sign"]["verdict"], "kept");
}
