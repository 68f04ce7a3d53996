//! `/v1/graphs/{graph}/predictors`: every predictor by path.

use reqwest::Method;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::support_reply;

#[tokio::test(flavor = "multi_thread")]
async fn every_predictor_is_listed_and_readable_by_its_path() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let list = api.get("/v1/graphs/support-reply/predictors").await.expect(200).json();
    let paths: Vec<_> = list["items"].as_array().unwrap().iter().map(|p| &p["path"]).collect();
    assert_eq!(paths, ["triage", "reply.predict"]);
    let one = api.get("/v1/graphs/support-reply/predictors/reply%2Epredict").await.expect(200);
    assert_eq!(one.json(), list["items"][1]);
    assert_eq!(one.json()["schema"]["outputs"][0]["name"], "reasoning");
    assert_eq!(one.json()["demos"], json!([]));
    let missing = api.get("/v1/graphs/support-reply/predictors/reply").await.expect(404);
    assert_eq!(missing.code(), "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn predictors_are_listed_in_pages() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let path = "/v1/graphs/support-reply/predictors?limit=1";
    let first = api.get(path).await.expect(200).json();
    assert_eq!(first["items"][0]["path"], "triage");
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = api.get(&format!("{path}&cursor={cursor}")).await.expect(200).json();
    assert_eq!(second["items"][0]["path"], "reply.predict");
    assert!(second["next_cursor"].is_null());
}

const TRIAGE: &str = "/v1/graphs/support-reply/predictors/triage";

async fn patch(api: &Api, headers: &[(&str, &str)], body: &Value) -> dsrs_test::Answer {
    api.send(Method::PATCH, TRIAGE, headers, Some(body.to_string())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_changes_one_predictor() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let state = "/v1/graphs/support-reply/state";
    let whole = json!({"predictors": {
        "triage": {"lm": {"temperature": 0.5}}, "reply.predict": {"instruction": "Reply."}}});
    api.put(state, whole).await.expect(200);
    let changed = patch(&api, &[], &json!({"instruction": "Judge."})).await.expect(200);
    let triage = changed.json();
    assert_eq!(
        (&triage["path"], &triage["effective_instruction"]),
        (&json!("triage"), &json!("Judge."))
    );
    assert_eq!(triage["lm"], json!({"temperature": 0.5}));
    let now = api.get(state).await.expect(200);
    assert_eq!(
        (now.json()["version"].clone(), now.header("etag")),
        (json!(3), changed.header("etag"))
    );
    assert_eq!(now.json()["predictors"]["reply.predict"]["instruction"], "Reply.");
    let back = patch(&api, &[], &triage).await.expect(200);
    assert_eq!(back.header("etag"), changed.header("etag"), "what was read can be sent back");
    let reset =
        patch(&api, &[], &json!({"instruction": null, "lm": null})).await.expect(200).json();
    assert_eq!((&reset["instruction"], reset.get("lm")), (&Value::Null, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_patch_is_refused_with_all_its_problems() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let body = json!({
        "instruction": 5, "demoes": [], "lm": {"temperature": 9, "model": "nobody"},
        "demos": [
            {"input": {"ticket": 1}, "output": {"mood": "cross"}},
            {"input": {}, "output": {"mood": "calm"}}
        ]
    });
    let refused = patch(&api, &[], &body).await.expect(422);
    assert_eq!(refused.code(), "invalid_state");
    let mut errors = refused.errors();
    errors.sort();
    assert_eq!(
        errors,
        [
            "/demoes unknown_field",
            "/demos/0/input/ticket wrong_type",
            "/demos/0/output/mood invalid_value",
            "/demos/1/input/ticket missing_field",
            "/instruction wrong_type",
            "/lm/model unknown_model",
            "/lm/temperature invalid_value",
        ]
    );
    let state = api.get("/v1/graphs/support-reply/state").await.expect(200).json();
    assert_eq!(state["version"], 1);
    let missing = "/v1/graphs/support-reply/predictors/reply";
    let missing = api.send(Method::PATCH, missing, &[], Some("{}".to_owned())).await.expect(404);
    assert!(missing.json()["detail"].as_str().unwrap().contains("`reply`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_patch_is_refused() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let old = api.get(TRIAGE).await.expect(200);
    let seen = [("if-match", old.header("etag"))];
    patch(&api, &seen, &json!({"instruction": "Two."})).await.expect(200);
    let refused = patch(&api, &seen, &json!({"instruction": "Three."})).await.expect(412);
    assert_eq!(refused.code(), "precondition_failed");
    assert_eq!(api.get(TRIAGE).await.expect(200).json()["instruction"], "Two.");
}
