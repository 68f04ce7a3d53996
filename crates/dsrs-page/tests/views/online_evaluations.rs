//! The online evaluation of a graph on its page: what it judges, its scores, pause, resume and remove.

use serde_json::json;

use super::{open, submit, words};
use crate::Api;
use dsrs_test::{Answer, one_node};

const EVALUATION: &str = "/v1/graphs/q/online-evaluation";

#[tokio::test(flavor = "multi_thread")]
async fn an_online_evaluation_is_shown_with_its_scores_paused_resumed_and_removed() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let page = || async { words(&open(&api, "/graphs/q").await.expect(200).text) };
    assert!(!page().await.contains("Online evaluation"));

    let metric = json!({"expression": "outputs.answer|length < 5000"});
    let set = json!({"metrics": {"<short>": metric}, "sample": 1, "calls_per_day": 1000});
    api.put(EVALUATION, set).await.expect(422);
    let set = json!({"metrics": {"short": metric}, "sample": 1, "calls_per_day": 1000});
    api.put(EVALUATION, set).await.expect(200);
    let found = page().await;
    assert!(found.contains("Online evaluation active"), "{found}");
    assert!(found.contains("Judges 100 % of the runs that succeed"), "{found}");
    assert!(found.contains("Today 0 of 1,000 calls"), "{found}");
    assert!(found.contains("No scores in the last 7 days."), "{found}");

    let body = json!({"inputs": {"question": "?"}});
    let run = api.post("/v1/graphs/q/execute", body).await.expect(200).json();
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    api.until(&path, |answer: &Answer| answer.json()["feedback"]["count"] == 1).await;
    let found = page().await;
    assert!(found.contains("short 1 1.000 1 Of the last 7 days."), "{found}");

    let path = "/graphs/q/online-evaluation";
    submit(&api, &format!("{path}/pause"), &[]).await.expect(303);
    assert!(page().await.contains("Online evaluation paused Change Resume"));
    assert_eq!(api.get(EVALUATION).await.expect(200).json()["enabled"], false);
    submit(&api, &format!("{path}/resume"), &[]).await.expect(303);
    assert!(page().await.contains("Online evaluation active Change Pause"));
    let read = api.get(EVALUATION).await.expect(200).json();
    assert_eq!(read["calls_per_day"], 1000, "the rest is as it was");
    submit(&api, &format!("{path}/delete"), &[]).await.expect(303);
    assert!(!page().await.contains("Online evaluation"));
    submit(&api, &format!("{path}/pause"), &[]).await.expect(404);
    let entries = api.get("/v1/audit?limit=4").await.expect(200).json();
    let actions: Vec<_> =
        entries["items"].as_array().unwrap().iter().map(|one| &one["action"]).collect();
    assert_eq!(actions, ["delete", "change", "change", "change"], "{entries}");
}
