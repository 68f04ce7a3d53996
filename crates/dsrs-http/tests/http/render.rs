//! `/v1/graphs/{graph}/render`: the exact messages, without an LM call.

use std::sync::Arc;

use serde_json::json;

use crate::Api;
use dsrs_test::{support_reply, test_database};
use dsrs_test_api::friendly_lm;

const RENDER: &str = "/v1/graphs/support-reply/render";

#[tokio::test(flavor = "multi_thread")]
async fn a_rendered_prompt_is_what_an_execution_sends() {
    let lm = Arc::new(friendly_lm());
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let body = json!({"node": "reply", "inputs": {"ticket": "hi", "mood": "calm"}});
    let rendered = api.post(RENDER, body).await.expect(200).json();
    assert!(lm.requests().is_empty());
    let body = json!({"inputs": {"ticket": "hi"}});
    api.post("/v1/graphs/support-reply/execute", body).await.expect(200);
    let sent = serde_json::to_value(lm.requests()[1].chat.messages().collect::<Vec<_>>()).unwrap();
    assert_eq!(rendered["predictors"]["reply.predict"]["messages"], sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_nodes_and_invalid_inputs_are_reported_by_pointer() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let refused = api.post(RENDER, json!({"node": "nope", "inputs": {}})).await.expect(422);
    assert_eq!(refused.errors(), ["/node unknown_node"]);
    let body = json!({"node": "reply", "inputs": {"ticket": "x", "mood": "cross"}});
    let refused = api.post(RENDER, body).await.expect(422);
    assert_eq!(refused.code(), "invalid_input");
    assert_eq!(refused.errors(), ["/inputs/mood invalid_value"]);
    let refused = api.post(RENDER, json!({"inputs": {}, "mode": 1})).await.expect(422);
    assert_eq!(refused.errors(), ["/node missing_field", "/mode unknown_field"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_is_not_stored_is_rendered_on_top_of_the_state() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let lm = json!({"instruction": "Stored.", "demos": [{"input": {"ticket": "old"}, "output": {"mood": "calm", "topics": []}}]});
    api.patch("/v1/graphs/support-reply/predictors/triage", lm).await.expect(200);
    let body = |change: serde_json::Value| json!({"node": "triage", "inputs": {"ticket": "new"}, "predictors": {"triage": change}});
    let text = api.post(RENDER, body(json!({"instruction": "Typed."}))).await.expect(200).text;
    assert!(text.contains("Typed.") && text.contains("old") && !text.contains("Stored."), "{text}");
    let text = api.post(RENDER, body(json!({"demos": null}))).await.expect(200).text;
    assert!(text.contains("Stored.") && !text.contains("old"), "{text}");
    let earlier = json!({"node": "triage", "inputs": {"ticket": "new"}, "state_version": 1, "predictors": {}});
    assert!(!api.post(RENDER, earlier).await.expect(200).text.contains("Stored."));
    let active = api.get("/v1/graphs/support-reply/state").await.expect(200).json();
    assert_eq!(active["version"], 2, "nothing is stored");

    let unfit = json!({"demos": [{"input": {"ticket": 1}, "output": {}}], "tone": 1});
    let refused = api.post(RENDER, body(unfit)).await.expect(422);
    assert_eq!(refused.code(), "invalid_state");
    assert!(
        refused.errors().iter().any(|error| error.starts_with("/predictors/triage/tone")),
        "{:?}",
        refused.errors()
    );
    let unknown = json!({"node": "triage", "inputs": {"ticket": "t"}, "predictors": {"nope": {}}});
    let refused = api.post(RENDER, unknown).await.expect(422);
    assert_eq!(refused.errors(), ["/predictors/nope unknown_field"]);
}
