//! The view of usage: sums by what a person chooses, and the nodes of one graph.

use serde_json::json;

use super::{open, words};
use crate::Api;
use dsrs_test::one_node;

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_shown_over_time_by_what_a_person_chooses_and_by_node() {
    let api = Api::new().await;
    let view = words(&open(&api, "/usage").await.expect(200).text);
    assert!(view.contains("No usage in this time"), "{view}");
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let body = json!({"inputs": {"question": "?"}, "tags": ["<nightly>"]});
    let run = api.post("/v1/graphs/q/execute", body).await.json();
    let feedback = format!("/v1/runs/{}/feedback", run["run_id"].as_str().unwrap());
    api.post(&feedback, json!({"name": "helpful", "score": 0.5})).await.expect(201);
    let view = words(&open(&api, "/usage").await.expect(200).text);
    assert!(view.contains("Runs 1") && view.contains("helpful 0.500 (1)"), "{view}");
    let by_tag = open(&api, "/usage?by=tag&days=1").await.expect(200).text;
    assert!(by_tag.contains("&lt;nightly&gt;") && !by_tag.contains("<nightly>"), "{by_tag}");
    let of_graph = words(&open(&api, "/usage?graph=q").await.expect(200).text);
    assert!(of_graph.contains("Nodes newest 1 runs") && of_graph.contains("ask"), "{of_graph}");
    let none = words(&open(&api, "/usage?graph=none&days=x&by=y").await.expect(200).text);
    assert!(none.contains("No usage in this time"), "{none}");
}
