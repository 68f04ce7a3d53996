//! `/v1/graphs/{graph}/state/versions`: versions side by side.

use serde_json::{Value, json};

use crate::support::{Api, support_reply};

const STATE: &str = "/v1/graphs/support-reply/state";

/// Version 2 tunes `triage`, version 3 changes that a little; version 1 overrides nothing.
async fn api() -> Api {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    api.put(STATE, tuned("calm", 0.5)).await.expect(200);
    api.put(STATE, tuned("angry", 0.25)).await.expect(200);
    api
}

fn tuned(mood: &str, temperature: f64) -> Value {
    json!({"predictors": {"triage": {
        "instruction": "Judge.",
        "demos": [{"input": {"ticket": "?"}, "output": {"mood": mood, "topics": ["x"]}}],
        "lm": {"temperature": temperature}
    }}})
}

async fn diff(api: &Api, query: &str) -> Value {
    api.get(&format!("{STATE}/versions/{query}")).await.expect(200).json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_compared_with_its_parent_field_by_field() {
    let api = api().await;
    let found = diff(&api, "3/diff").await;
    assert_eq!(
        found,
        json!({
            "from": 2, "to": 3, "graph_versions": {"from": 1, "to": 1},
            "predictors": {"triage": {
                "change": "changed",
                "demos": [{"change": "changed", "from": 0, "to": 0, "fields": [
                    {"field": "output.mood", "before": "calm", "after": "angry"}
                ]}],
                "lm": {"temperature": {"before": 0.5, "after": 0.25}}
            }},
            "text": "~ triage demo 0 output.mood: \"calm\" -> \"angry\"\n\
                     ~ triage lm.temperature: 0.5 -> 0.25\n"
        })
    );
    assert_eq!(diff(&api, "3/diff?against=2").await, found);
    let back = diff(&api, "2/diff?against=3").await;
    assert_eq!(back["predictors"]["triage"]["lm"]["temperature"]["after"], 0.5);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_version_and_equal_ones_are_no_different() {
    let api = api().await;
    for query in ["1/diff", "3/diff?against=3"] {
        let found = diff(&api, query).await;
        assert_eq!((&found["predictors"], &found["text"]), (&json!({}), &json!("")), "{found}");
    }
    let reset = diff(&api, "1/diff?against=3").await;
    let instruction = &reset["predictors"]["triage"]["instruction"];
    assert_eq!((&instruction["before"], &instruction["after"]), (&json!("Judge."), &Value::Null));
    assert!(instruction["effective_after"].as_str().is_some_and(|text| text != "Judge."));
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_of_different_graph_versions_are_compared_too() {
    let api = api().await;
    let mut graph = support_reply();
    graph["nodes"]["reply"]["strategy"] = json!("predict");
    api.put("/v1/graphs/support-reply", graph).await.expect(200);
    let found = diff(&api, "4/diff").await;
    assert_eq!((&found["from"], &found["to"]), (&json!(3), &json!(4)));
    assert_eq!(found["graph_versions"], json!({"from": 1, "to": 2}));
    let changes: Vec<_> = found["predictors"].as_object().unwrap().iter().collect();
    let changes: Vec<_> = changes.iter().map(|(path, p)| (path.as_str(), &p["change"])).collect();
    assert_eq!(changes, [("reply", &json!("added")), ("reply.predict", &json!("removed"))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_that_are_not_there_are_named() {
    let api = api().await;
    for query in ["9/diff", "3/diff?against=9"] {
        let refused = api.get(&format!("{STATE}/versions/{query}")).await.expect(404);
        assert!(refused.json()["detail"].as_str().unwrap().contains("state version `9`"));
    }
    let refused = api.get(&format!("{STATE}/versions/3/diff?against=0")).await.expect(400);
    assert_eq!(refused.code(), "invalid_parameter");
}
