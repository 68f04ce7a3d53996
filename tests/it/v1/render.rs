//! `/v1/graphs/{graph}/render`: the exact messages, without an LM call.

use std::sync::Arc;

use serde_json::json;

use crate::support::{Api, friendly_lm, support_reply, test_database};

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
