//! Webhooks on the page: the list, the log of messages, a test, a replay, pause and resume, delete.

use serde_json::json;

use super::{open, submit, words};
use crate::Api;
use dsrs_test::{Answer, Receiver, Receives};

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_tested_replayed_paused_resumed_and_deleted() {
    let settings = [("DSRS_WEBHOOKS_ALLOW", "127.0.0.1"), ("DSRS_WEBHOOKS_FIRST_RETRY", "1h")];
    let api = Api::with_settings(&settings).await;
    let view = words(&open(&api, "/webhooks").await.expect(200).text);
    assert!(view.contains("No webhooks yet"), "{view}");
    let receiver =
        Receiver::by(|number| Receives::Status(if number == 0 { 503 } else { 200 })).await;
    let body = json!({"name": "on-call", "url": receiver.url, "events": ["run.failed"]});
    let made = api.post("/v1/webhooks", body).await.expect(201).json();
    let path = format!("/webhooks/{}", made["id"].as_str().unwrap());
    let list = words(&open(&api, "/webhooks").await.expect(200).text);
    assert!(list.contains("on-call") && list.contains("active run.failed"), "{list}");
    submit(&api, &format!("{path}/test"), &[]).await.expect(303);
    let log = format!("/v1{path}/deliveries");
    let tried = |answer: &Answer| {
        answer.json()["items"][0]["log"].as_array().is_some_and(|log| log.len() == 1)
    };
    let message =
        api.until(&log, tried).await.json()["items"][0]["id"].as_str().unwrap().to_owned();
    let view = open(&api, &path).await.expect(200);
    let shown = words(&view.text);
    for part in ["on-call", "webhook.test", "pending 1", "503", "next attempt in", "Send again"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(!view.text.contains(made["secret"].as_str().unwrap()), "a secret is shown once");
    submit(&api, &format!("{path}/messages/{message}/replay"), &[]).await.expect(303);
    let sent = |answer: &Answer| answer.json()["items"][0]["status"] == "succeeded";
    api.until(&log, sent).await;
    let view = words(&open(&api, &format!("{path}?status=succeeded")).await.expect(200).text);
    assert!(view.contains("sent again 1×") && view.contains("succeeded 1 200"), "{view}");
    let none = words(&open(&api, &format!("{path}?status=failed")).await.expect(200).text);
    assert!(none.contains("There are no such messages"), "{none}");
    submit(&api, &format!("{path}/pause"), &[]).await.expect(303);
    assert!(words(&open(&api, &path).await.expect(200).text).contains("on-call paused"));
    submit(&api, &format!("{path}/resume"), &[]).await.expect(303);
    assert!(words(&open(&api, &path).await.expect(200).text).contains("on-call active"));
    submit(&api, &format!("{path}/delete"), &[]).await.expect(303);
    assert_eq!(open(&api, &path).await.status, 404);
}
