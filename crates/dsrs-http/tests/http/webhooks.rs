//! `/v1/webhooks`: created, changed, deleted; messages signed, sent, tried again, listed and replayed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, Utc};
use dsrs::lm::{LmErrorKind, ScriptedAnswer, ScriptedLm};
use futures_util::future::join_all;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::Api;
use dsrs_test::{Answer, Receiver, Receives, http_client, one_node, test_database};

/// Receivers are on this machine, have time to answer, and failures are tried again soon.
const SETTINGS: [(&str, &str); 3] = [
    ("DSRS_WEBHOOKS_ALLOW", "127.0.0.1,[::1]"),
    ("DSRS_WEBHOOKS_FIRST_RETRY", "20ms"),
    ("DSRS_WEBHOOKS_TIMEOUT", "300s"),
];

/// Answers, except the question `bad`.
fn lm() -> ScriptedLm {
    ScriptedLm::by(|request| {
        let asked = request.chat.messages().map(|turn| turn.content.to_string());
        match asked.last().unwrap_or_default().contains("bad") {
            true => ScriptedAnswer::fail(LmErrorKind::Refused, "a text of the provider"),
            false => ScriptedAnswer::from("[[ ## answer ## ]]\na text of the model"),
        }
    })
}

async fn api_with(settings: &[(&str, &str)]) -> Api {
    let settings = [&SETTINGS, settings].concat();
    let api = Api::start(&test_database().await, Some(Arc::new(lm())), &settings).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    api
}

async fn hook(api: &Api, name: &str, url: &str, events: &[&str]) -> Value {
    let body = json!({"name": name, "url": url, "events": events});
    api.post("/v1/webhooks", body).await.expect(201).json()
}

fn path_of(webhook: &Value) -> String {
    format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap())
}

async fn execute(api: &Api, graph: &str, question: &str) -> Answer {
    let body = json!({"inputs": {"question": question}});
    api.post(&format!("/v1/graphs/{graph}/execute"), body).await
}

/// A time. A message has six digits of a second, and an answer no more than it needs.
fn time_of(value: &Value) -> DateTime<Utc> {
    value.as_str().unwrap().parse().unwrap()
}

/// The messages of a webhook, once none is pending.
async fn settled(api: &Api, webhook: &Value) -> Vec<Value> {
    let path = format!("{}/deliveries", path_of(webhook));
    let is_settled = |answer: &Answer| {
        let items = answer.json()["items"].as_array().unwrap().clone();
        !items.is_empty() && items.iter().all(|item| item["status"] != "pending")
    };
    api.until(&path, is_settled).await.json()["items"].as_array().unwrap().clone()
}

async fn count_of(api: &Api, table: &'static str) -> i64 {
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    let sql = format!("select count(*) from {table}");
    sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ends_of_runs_are_reported_in_signed_messages_without_contents() {
    let api = api_with(&[]).await;
    let receiver = Receiver::friendly().await;
    let webhook = hook(&api, "all", &receiver.url, &["run.finished", "run.failed"]).await;
    let secret = webhook["secret"].as_str().unwrap();
    let executed = execute(&api, "q", "good").await.expect(200).json();
    let body = json!({"inputs": {"question": "good, later"}});
    let queued = api.post("/v1/graphs/q/runs", body).await.expect(202).json();
    api.ended(queued["id"].as_str().unwrap()).await;
    execute(&api, "q", "bad").await.expect(502);
    let messages = receiver.arrived(3).await;
    for message in &messages {
        assert!(message.is_signed_with(secret), "{message:?}");
        assert!(!message.body.contains("a text of"), "{}", message.body);
        assert!(!message.body.contains("question") && !message.body.contains("later"));
    }
    let of = |id: &Value| {
        let found = messages.iter().map(|message| message.json());
        found.into_iter().find(|message| message["data"]["id"] == *id).unwrap()
    };
    let finished = of(&executed["id"]);
    assert_eq!(finished["type"], "run.finished");
    assert_eq!(time_of(&finished["timestamp"]), time_of(&executed["finished_at"]));
    let created = [&finished["data"], &executed].map(|run| time_of(&run["created_at"]));
    assert_eq!(created[0], created[1]);
    for member in ["graph", "version", "state_version", "status", "usage", "duration_ms"] {
        assert_eq!(finished["data"][member], executed[member], "{member}: {finished}");
    }
    assert_eq!(of(&queued["id"])["data"]["status"], "succeeded");
    let failed = messages.iter().map(|message| message.json());
    let failed = failed.into_iter().find(|message| message["type"] == "run.failed").unwrap();
    assert_eq!(failed["data"]["error_code"], "lm_error");
    let log = settled(&api, &webhook).await;
    assert_eq!(log.len(), 3);
    assert!(log.iter().all(|entry| entry["log"][0]["status_code"] == 204), "{log:?}");
    assert!(!json!(log).to_string().contains(secret));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_reports_only_its_events_of_its_graph() {
    let api = api_with(&[]).await;
    api.post("/v1/graphs", one_node("other", "question -> answer")).await.expect(201);
    let receiver = Receiver::friendly().await;
    execute(&api, "q", "before").await.expect(200);
    assert_eq!(count_of(&api, "webhook_deliveries").await, 0, "there is no webhook");
    let body =
        json!({"name": "one", "url": receiver.url, "events": ["run.failed"], "graph": "other"});
    let webhook = api.post("/v1/webhooks", body).await.expect(201).json();
    assert_eq!(webhook["graph"], "other");
    execute(&api, "q", "bad").await.expect(502);
    execute(&api, "other", "good").await.expect(200);
    assert_eq!(count_of(&api, "webhook_deliveries").await, 0);
    execute(&api, "other", "bad").await.expect(502);
    assert_eq!(receiver.arrived(1).await[0].json()["type"], "run.failed");
    let change = json!({"graph": null, "events": ["run.finished"]});
    api.patch(&path_of(&webhook), change).await.expect(200);
    execute(&api, "q", "bad").await.expect(502);
    assert_eq!(receiver.arrived(2).await[1].json()["type"], "run.finished");
    api.patch(&path_of(&webhook), json!({"enabled": false})).await.expect(200);
    execute(&api, "q", "good").await.expect(200);
    assert_eq!(count_of(&api, "webhook_deliveries").await, 2);
    api.delete(&path_of(&webhook)).await.expect(204);
    api.get(&path_of(&webhook)).await.expect(404);
    api.get(&format!("{}/deliveries", path_of(&webhook))).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_score_below_the_threshold_of_a_webhook_is_reported() {
    let api = api_with(&[]).await;
    let receiver = Receiver::friendly().await;
    let body = json!({"name": "quality", "url": receiver.url, "events": ["score.below"],
                      "score": {"metric": "helpful", "below": 0.5}});
    api.post("/v1/webhooks", body).await.expect(201);
    let run = execute(&api, "q", "good").await.expect(200).json()["id"].clone();
    let path = format!("/v1/runs/{}/feedback", run.as_str().unwrap());
    let score = |name: &str, score: f64| json!({"name": name, "score": score});
    for (name, given) in [("helpful", 0.5), ("other", 0.1)] {
        api.post(&path, score(name, given)).await.expect(201);
    }
    api.post(&path, json!({"name": "helpful", "category": "no", "user_id": "ann"}))
        .await
        .expect(201);
    assert_eq!(count_of(&api, "webhook_deliveries").await, 0);
    api.post(&path, score("helpful", 0.25)).await.expect(200);
    let message = receiver.arrived(1).await[0].json();
    assert_eq!(message["type"], "score.below");
    let data = json!({"id": run, "graph": "q", "graph_id": message["data"]["graph_id"],
                      "metric": "helpful", "score": 0.25, "below": 0.5});
    assert_eq!(message["data"], data);
}

#[tokio::test(flavor = "multi_thread")]
async fn evaluations_optimizations_and_items_of_batches_are_reported() {
    let api = api_with(&[]).await;
    let receiver = Receiver::friendly().await;
    let events = ["run.finished", "evaluation.finished", "optimization.finished"];
    hook(&api, "all", &receiver.url, &events).await;
    let example = |question| json!({"inputs": {"question": question}, "expected": {"answer": "a text of the model"}});
    let examples: Vec<Value> = ["a", "b", "c", "d", "e", "f"].map(example).into();
    let dataset = json!({"name": "easy", "examples": examples});
    api.post("/v1/datasets", dataset).await.expect(201);
    let body = json!({"dataset": "easy", "metric": "exact", "record": true});
    let evaluation = api.post("/v1/graphs/q/evaluations", body).await.expect(202).json();
    let message = receiver.arrived(1).await[0].json();
    assert_eq!(message["type"], "evaluation.finished");
    assert_eq!(message["data"]["id"], evaluation["id"]);
    assert_eq!(message["data"]["score"].as_f64(), Some(1.0));
    assert_eq!(message["data"]["total"], 6);
    assert_eq!(message["data"]["status"], "succeeded");
    let body = json!({"optimizer": "labeled_few_shot", "trainset": "easy", "metric": "exact"});
    let optimization = api.post("/v1/graphs/q/optimizations", body).await.expect(202).json();
    let message = receiver.arrived(2).await[1].json();
    assert_eq!(
        (&message["type"], &message["data"]["id"]),
        (&json!("optimization.finished"), &optimization["id"])
    );
    let items = json!({"items": [{"question": "a"}, {"question": "b"}]});
    api.post("/v1/graphs/q/batches", items).await.expect(202);
    let messages = receiver.arrived(4).await;
    assert!(messages[2..].iter().all(|message| message.json()["type"] == "run.finished"));
    let cancelled = json!({"inputs": {"question": "a"}});
    let run = api.post("/v1/graphs/q/runs", cancelled).await.expect(202).json();
    api.ended(run["id"].as_str().unwrap()).await;
    receiver.arrived(5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_message_is_sent_again_with_the_same_id_until_it_is_accepted() {
    let api = api_with(&[]).await;
    let script =
        [Receives::Status(500), Receives::Later(503, 1), Receives::Redirect, Receives::Endless];
    let receiver = Receiver::by(move |number| script[number.min(3)]).await;
    let webhook = hook(&api, "flaky", &receiver.url, &["run.finished"]).await;
    execute(&api, "q", "good").await.expect(200);
    let log = settled(&api, &webhook).await;
    let messages = receiver.messages();
    assert_eq!(messages.len(), 4, "{messages:?}");
    assert!(messages.iter().all(|message| message.id == messages[0].id));
    assert!(messages.iter().all(|message| message.body == messages[0].body));
    assert_eq!((&log[0]["status"], &log[0]["attempts"]), (&json!("succeeded"), &json!(4)));
    let codes: Vec<&Value> =
        log[0]["log"].as_array().unwrap().iter().map(|entry| &entry["status_code"]).collect();
    assert_eq!(json!(codes), json!([500, 503, 307, 200]));
    assert_eq!(log[0]["log"][0]["response"], "as you wish");
    assert_eq!(log[0]["log"][2]["error"], "redirects are not followed");
    let at = |number: usize| {
        let text = log[0]["log"][number]["at"].as_str().unwrap();
        chrono::DateTime::parse_from_rfc3339(text).unwrap()
    };
    // Less than a second by the clock of a machine that is corrected meanwhile.
    assert!((at(2) - at(1)).num_milliseconds() >= 900, "`Retry-After` is honoured");
    assert_eq!(api.get(&path_of(&webhook)).await.json()["failing_since"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_does_not_answer_in_time_gets_the_message_again() {
    let api = api_with(&[("DSRS_WEBHOOKS_TIMEOUT", "1s")]).await;
    // It stalls more often on a slow machine.
    let receiver = Receiver::by(|number| match number {
        0 => Receives::Stall,
        _ => Receives::Status(204),
    });
    let receiver = receiver.await;
    let webhook = hook(&api, "slow", &receiver.url, &["run.finished"]).await;
    execute(&api, "q", "good").await.expect(200);
    let log = settled(&api, &webhook).await;
    assert_eq!(log[0]["log"][0]["error"], "no answer within 1000 ms");
    assert_eq!(log[0]["status"], "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_given_up_and_can_be_replayed() {
    let api = api_with(&[("DSRS_WEBHOOKS_ATTEMPTS", "2")]).await;
    let receiver =
        Receiver::by(|number| Receives::Status(if number < 2 { 500 } else { 200 })).await;
    let webhook = hook(&api, "flaky", &receiver.url, &["run.finished"]).await;
    execute(&api, "q", "good").await.expect(200);
    let log = settled(&api, &webhook).await;
    assert_eq!((&log[0]["status"], &log[0]["attempts"]), (&json!("failed"), &json!(2)));
    assert!(api.get(&path_of(&webhook)).await.json()["failing_since"].is_string());
    let replay =
        format!("{}/deliveries/{}/replay", path_of(&webhook), log[0]["id"].as_str().unwrap());
    let replayed = api.post(&replay, "").await.expect(202).json();
    assert_eq!((&replayed["status"], &replayed["replays"]), (&json!("pending"), &json!(1)));
    let log = settled(&api, &webhook).await;
    assert_eq!((&log[0]["status"], &log[0]["attempts"]), (&json!("succeeded"), &json!(1)));
    assert_eq!(log[0]["log"].as_array().unwrap().len(), 3);
    let messages = receiver.messages();
    assert!(messages.len() == 3 && messages.iter().all(|message| message.id == messages[0].id));
    let failed = api.get(&format!("{}/deliveries?status=failed", path_of(&webhook))).await;
    assert_eq!(failed.expect(200).json()["items"], json!([]));
    api.get(&format!("{}/deliveries?status=x", path_of(&webhook))).await.expect(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_gone_or_fails_for_long_is_disabled_until_a_client_enables_it() {
    let api = api_with(&[("DSRS_WEBHOOKS_DISABLE_AFTER", "300ms")]).await;
    let gone = Receiver::by(|_| Receives::Status(410)).await;
    let healthy = Arc::new(AtomicBool::new(false));
    let is_healthy = healthy.clone();
    let failing = Receiver::by(move |_| {
        Receives::Status(if is_healthy.load(Ordering::SeqCst) { 200 } else { 500 })
    })
    .await;
    let of_gone = hook(&api, "gone", &gone.url, &["run.finished"]).await;
    let of_failing = hook(&api, "failing", &failing.url, &["run.finished"]).await;
    execute(&api, "q", "good").await.expect(200);
    let disabled = |answer: &Answer| answer.json()["enabled"] == false;
    let found = api.until(&path_of(&of_gone), disabled).await.json();
    assert_eq!(found["disabled_because"], "gone");
    let found = api.until(&path_of(&of_failing), disabled).await.json();
    assert_eq!(found["disabled_because"], "failing");
    let before = failing.messages().len();
    healthy.store(true, Ordering::SeqCst);
    let enabled =
        api.patch(&path_of(&of_failing), json!({"enabled": true})).await.expect(200).json();
    assert_eq!(
        (&enabled["disabled_because"], &enabled["failing_since"]),
        (&Value::Null, &Value::Null)
    );
    // The message has waited.
    failing.arrived(before + 1).await;
    assert_eq!(settled(&api, &of_failing).await[0]["status"], "succeeded");
    assert_eq!(gone.messages().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_secrets_sign_during_a_rotation() {
    let api = api_with(&[]).await;
    let receiver = Receiver::friendly().await;
    let webhook = hook(&api, "all", &receiver.url, &["run.finished"]).await;
    let rotate = format!("{}/rotate-secret", path_of(&webhook));
    let rotated = api.post(&rotate, json!({})).await.expect(200);
    assert_eq!(rotated.header("cache-control"), "no-store");
    let rotated = rotated.json();
    assert!(rotated["previous_secret_until"].is_string(), "{rotated}");
    let [old, new] = [&webhook, &rotated].map(|found| found["secret"].as_str().unwrap());
    assert_ne!(old, new);
    let test = api.post(&format!("{}/test", path_of(&webhook)), "").await.expect(202).json();
    assert_eq!((&test["event"], &test["status"]), (&json!("webhook.test"), &json!("pending")));
    let message = &receiver.arrived(1).await[0];
    assert!(message.is_signed_with(old) && message.is_signed_with(new));
    let rotated = api.post(&rotate, json!({"overlap_s": 0})).await.expect(200).json();
    api.post(&format!("{}/test", path_of(&webhook)), "").await.expect(202);
    let message = &receiver.arrived(2).await[1];
    assert!(message.is_signed_with(rotated["secret"].as_str().unwrap()));
    assert!(!message.is_signed_with(old) && !message.is_signed_with(new));
    let shown = api.get(&path_of(&webhook)).await.expect(200);
    assert!(!shown.text.contains("whsec_"));
    api.post(&rotate, json!({"overlap_s": 604_801})).await.expect(422);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_message_reaches_a_private_address_that_is_not_listed() {
    let api = api_with(&[("DSRS_WEBHOOKS_ALLOW", "*"), ("DSRS_WEBHOOKS_ATTEMPTS", "1")]).await;
    let receiver = Receiver::friendly().await;
    let port = receiver.url.rsplit(':').next().unwrap();
    for host in ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254"] {
        let body =
            json!({"name": "x", "url": format!("http://{host}:{port}"), "events": ["run.failed"]});
        let refused = api.post("/v1/webhooks", body).await.expect(422);
        assert_eq!(refused.errors(), ["/url invalid_value"]);
        assert!(refused.text.contains("`webhooks.allow`"), "{}", refused.text);
    }
    // A name is checked when it is resolved.
    let url = format!("http://localhost:{port}");
    let webhook = hook(&api, "named", &url, &["run.finished"]).await;
    execute(&api, "q", "good").await.expect(200);
    let log = settled(&api, &webhook).await;
    assert_eq!(log[0]["status"], "failed");
    let error = log[0]["log"][0]["error"].as_str().unwrap();
    assert!(error.contains("not a public address") && error.contains("webhooks.allow"), "{error}");
    assert!(receiver.messages().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_of_a_webhook_is_reported_at_once() {
    let api = api_with(&[]).await;
    let body = json!({"name": "a b", "url": "ftp://x", "events": ["run.finished", "run.finished", "x"],
                      "graph": "none", "score": {"metric": "", "below": "x"}, "more": 1,
                      "description": "\u{0}"});
    let mut errors = api.post("/v1/webhooks", body).await.expect(422).errors();
    errors.sort();
    assert_eq!(
        errors,
        [
            "/description invalid_value",
            "/events/1 duplicate_name",
            "/events/2 invalid_value",
            "/more unknown_field",
            "/name invalid_name",
            "/score/below wrong_type",
            "/score/metric invalid_value",
            "/url invalid_value",
        ]
    );
    let body =
        |name: &str| json!({"name": name, "url": "http://127.0.0.1:1", "events": ["run.failed"]});
    let wrong = |more: Value| {
        let mut body = body("w");
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for (more, error) in [
        (json!({"graph": "none"}), "/graph invalid_value"),
        (json!({"score": {"metric": "m", "below": 1}}), "/score invalid_value"),
        (json!({"events": ["score.below"]}), "/score missing_field"),
        (json!({"events": []}), "/events invalid_value"),
        (json!({"url": "http://user:word@127.0.0.1/"}), "/url invalid_value"),
    ] {
        assert_eq!(api.post("/v1/webhooks", wrong(more)).await.expect(422).errors(), [error]);
    }
    let webhook = api.post("/v1/webhooks", body("w")).await.expect(201).json();
    assert_eq!(api.post("/v1/webhooks", body("w")).await.expect(409).code(), "already_exists");
    let other = api.post("/v1/webhooks", body("other")).await.expect(201).json();
    assert_eq!(
        api.patch(&path_of(&other), json!({"name": "w"})).await.expect(409).code(),
        "already_exists"
    );
    let score = json!({"events": ["score.below"], "score": {"metric": "helpful", "below": 0.5}});
    let changed = api.patch(&path_of(&webhook), score.clone()).await.expect(200).json();
    assert_eq!(changed["score"], score["score"]);
    let more = async |number: usize| api.post("/v1/webhooks", body(&format!("n{number}"))).await;
    let answers = join_all((0..60).map(more)).await;
    let created = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(created, 48, "creations at the same time do not exceed the limit");
    let refused = api.post("/v1/webhooks", body("more")).await.expect(422);
    assert_eq!(refused.errors(), [" too_large"]);
    assert_eq!(api.pages("/v1/webhooks", "items", 20).await.len(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_receiver_delays_no_other_and_old_messages_are_removed() {
    let api = api_with(&[]).await;
    let stalled = Receiver::by(|_| Receives::Stall).await;
    let receiver = Receiver::friendly().await;
    hook(&api, "stalled", &stalled.url, &["run.finished"]).await;
    let webhook = hook(&api, "good", &receiver.url, &["run.finished"]).await;
    for _ in 0..30 {
        execute(&api, "q", "good").await.expect(200);
    }
    receiver.arrived(30).await;
    assert!(stalled.messages().len() <= 7, "{}", stalled.messages().len());
    assert_eq!(settled(&api, &webhook).await.len(), 30);
    let path = format!("{}/deliveries", path_of(&webhook));
    let _forgets = Api::start(&api.database, None, &[("DSRS_WEBHOOKS_RETENTION", "1s")]).await;
    api.until(&path, |answer| answer.json()["items"] == json!([])).await;
    assert_eq!(receiver.messages().len(), 30, "each was sent once");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_of_a_newer_release_survives_a_change_by_this_one() {
    let api = api_with(&[]).await;
    let webhook = hook(&api, "all", "http://127.0.0.1:9/", &["run.failed"]).await;
    let mut database = PgConnection::connect(&api.database).await.unwrap();
    let newer = "update webhooks set events = '{run.failed,run.begun}'";
    sqlx::raw_sql(newer).execute(&mut database).await.unwrap();
    // The caller of the other tests expects answers that the document of this release describes.
    let patch = http_client().patch(format!("{}{}", api.url, path_of(&webhook)));
    let body = patch.header("content-type", "application/json").body(r#"{"enabled": false}"#);
    assert_eq!(body.send().await.unwrap().status(), 200);
    let stored: (Vec<String>, bool) = sqlx::query_as("select events, enabled from webhooks")
        .fetch_one(&mut database)
        .await
        .unwrap();
    assert_eq!(stored, (vec!["run.failed".to_owned(), "run.begun".to_owned()], false));
    api.stop().await;
}
