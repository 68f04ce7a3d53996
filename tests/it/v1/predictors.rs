//! `/v1/graphs/{graph}/predictors`: every predictor by path.

use serde_json::json;

use crate::support::{Api, support_reply};

#[tokio::test(flavor = "multi_thread")]
async fn every_predictor_is_listed_and_read_by_its_path() {
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
async fn predictors_come_in_pages_too() {
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
