//! `PATCH /v1/graphs/{graph}` and the difference of versions: valid edits make one version,
//! invalid ones change nothing.

use reqwest::Method;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::support_reply;

fn rename() -> Value {
    json!({"edits": [{"op": "rename_node", "name": "triage", "to": "judge"}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_make_one_version_and_the_state_follows_a_renamed_node() {
    let api = Api::new().await;
    let made = api.post("/v1/graphs", support_reply()).await.expect(201);
    let state = json!({"predictors": {"triage": {"instruction": "Judge."}}});
    api.put("/v1/graphs/support-reply/state", state).await.expect(200);
    let put = api.patch("/v1/graphs/support-reply", rename()).await.expect(200);
    let graph = put.json();
    assert_eq!((&graph["version"], &graph["state_version"]), (&json!(2), &json!(3)));
    assert_eq!(graph["outputs"]["mood"], "judge.mood");
    assert_eq!(graph["state"], json!({"carried": ["judge"], "dropped": []}));
    assert_ne!(put.headers["etag"], made.headers["etag"]);
    let tuned = api.get("/v1/graphs/support-reply/state").await.expect(200).json();
    assert_eq!(tuned["predictors"]["judge"]["instruction"], "Judge.");
    let nothing = api.patch("/v1/graphs/support-reply", json!({"edits": []})).await.expect(200);
    assert_eq!(
        (nothing.json()["version"].clone(), nothing.headers["etag"].clone()),
        (json!(2), put.headers["etag"].clone())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_edits_change_nothing_and_are_reported_one_by_one() {
    let api = Api::new().await;
    let made = api.post("/v1/graphs", support_reply()).await.expect(201);
    let edits = json!({"edits": [
        {"op": "rename_node", "name": "triage", "to": "judge"},
        {"op": "disconnect", "from": "judge.mood", "to": "reply.mood"},
        {"op": "set_output", "name": "x", "from": "reply.nothing"},
    ]});
    let refused = api.patch("/v1/graphs/support-reply", edits).await.expect(422);
    assert_eq!(refused.code(), "invalid_graph");
    assert_eq!(refused.errors(), ["/edits/1 unconnected_input", "/edits/2/from unknown_field"]);
    let misshapen = json!({"edits": [{"op": "remove_node"}, {"op": "conect"}], "more": 1});
    let refused = api.patch("/v1/graphs/support-reply", misshapen).await.expect(422);
    assert_eq!(refused.code(), "invalid_request");
    assert_eq!(
        refused.errors(),
        ["/edits/0/name missing_field", "/edits/1/op invalid_value", "/more unknown_field"]
    );
    assert_eq!(api.get("/v1/graphs/support-reply").await.expect(200).text, made.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_edit_is_refused_and_an_unknown_graph_not_found() {
    let api = Api::new().await;
    let made = api.post("/v1/graphs", support_reply()).await.expect(201);
    api.patch("/v1/graphs/support-reply", rename()).await.expect(200);
    let tag = made.header("etag").to_owned();
    let path = "/v1/graphs/support-reply";
    let body = Some(rename().to_string());
    let stale = api.send(Method::PATCH, path, &[("if-match", &tag)], body).await.expect(412);
    assert_eq!(stale.code(), "precondition_failed");
    assert_eq!(api.patch("/v1/graphs/nobody", rename()).await.expect(404).code(), "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_is_the_edits_from_one_version_to_the_other() {
    let api = Api::new().await;
    let made = api.post("/v1/graphs", support_reply()).await.expect(201).json();
    let edits = json!({"edits": [
        {"op": "remove_output", "name": "mood"},
        {"op": "set_type", "name": "Person", "type": {"class": {"name": "str"}}},
    ]});
    api.patch("/v1/graphs/support-reply", edits).await.expect(200);
    let diff =
        api.get("/v1/graphs/support-reply/versions/2/diff?against=1").await.expect(200).json();
    assert_eq!(
        diff["text"],
        "+ type Person: {\"class\":{\"name\":\"str\"}}\n- output mood: triage.mood\n"
    );
    assert_eq!(api.get("/v1/graphs/support-reply/versions/2/diff").await.expect(200).json(), diff);
    let back =
        api.get("/v1/graphs/support-reply/versions/1/diff?against=2").await.expect(200).json();
    let edits = json!({"edits": back["edits"]});
    let again = api.patch("/v1/graphs/support-reply", edits).await.expect(200).json();
    assert_eq!((&again["version"], &again["nodes"]), (&json!(3), &made["nodes"]));
    for wrong in ["versions/9/diff", "versions/2/diff?against=9"] {
        let path = format!("/v1/graphs/support-reply/{wrong}");
        assert_eq!(api.get(&path).await.expect(404).code(), "not_found");
    }
    let path = "/v1/graphs/support-reply/versions/2/diff?against=x";
    assert_eq!(api.get(path).await.expect(400).code(), "invalid_parameter");
}
