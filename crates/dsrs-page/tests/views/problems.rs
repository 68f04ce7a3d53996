//! The `type` of a problem is an address of the server that explains it.

use serde_json::json;

use super::{open, words};
use crate::Api;

#[tokio::test(flavor = "multi_thread")]
async fn the_type_of_a_problem_leads_to_its_cause_and_way_out() {
    let api = Api::new().await;
    let problem = api
        .post("/v1/graphs", json!({"name": "a", "nodes": {"x": {"strategy": "no"}}}))
        .await
        .expect(422)
        .json();
    assert_eq!(problem["type"], "/problems/invalid_graph", "{problem}");
    let view = open(&api, problem["type"].as_str().unwrap()).await.expect(200);
    let text = words(&view.text);
    assert!(
        text.contains("The graph is not valid") && text.contains("/v1/graphs/validate"),
        "{text}"
    );
    let all = open(&api, "/problems").await.expect(200);
    assert!(words(&all.text).contains("503 unavailable"), "{}", words(&all.text));
    open(&api, "/problems/no_such_code").await.expect(404);
}
