//! A stored graph as a node of another: pinned when the definition is written, run within the node, and
//! tuned by the state of the outer graph.

use serde_json::{Value, json};

use crate::Api;
use dsrs_test::support_reply;

/// A graph whose one node is the stored support graph.
fn desk(config: Value) -> Value {
    json!({"name": "desk", "nodes": {"help": {"strategy": "graph", "config": config}}})
}

async fn with_desk() -> Api {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    api.post("/v1/graphs", desk(json!({"graph": "support-reply"}))).await.expect(201);
    api
}

fn asked() -> Value {
    json!({"inputs": {"ticket": "Where is my parcel?"}, "trace": true})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_graph_is_pinned_and_brings_its_signature() {
    let api = with_desk().await;
    let made = api.get("/v1/graphs/desk").await.expect(200).json();
    let config = &made["nodes"]["help"]["config"];
    assert_eq!(
        (&config["graph"], &config["version"], &config["state_version"]),
        (&json!("support-reply"), &json!(1), &json!(1))
    );
    assert_eq!(made["inputs"], json!({"ticket": "str"}));
    assert_eq!(made["outputs"], json!({"answer": "help.answer", "mood": "help.mood"}));

    let renamed = json!({"edits": [{"op": "rename_node", "name": "triage", "to": "judge"}]});
    api.patch("/v1/graphs/support-reply", renamed).await.expect(200);
    let put = api.put("/v1/graphs/desk", made.clone()).await.expect(200).json();
    assert_eq!(put["version"], 1, "what is pinned stays pinned");
    let newer = desk(json!({"graph": "support-reply"}));
    let put = api.put("/v1/graphs/desk", newer).await.expect(200).json();
    assert_eq!(put["nodes"]["help"]["config"]["version"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_graph_runs_within_its_node() {
    let api = with_desk().await;
    let run = api.post("/v1/graphs/desk/execute", asked()).await.expect(200).json();
    assert_eq!(run["outputs"], json!({"answer": "Dear customer", "mood": "calm"}));
    assert_eq!(run["usage"]["lm_calls"], 2);
    let spans = run["trace"]["spans"].as_array().unwrap();
    let describe = |span: &Value| {
        let text = |name: &str| span[name].as_str().unwrap_or("-").to_owned();
        let parent = &span["parent_id"];
        format!("{} {} {} < {parent}", text("kind"), text("node"), text("predictor"))
    };
    assert_eq!(
        spans.iter().map(describe).collect::<Vec<_>>(),
        [
            "node help - < null",
            "node help.triage - < 1",
            "predictor help help.triage < 2",
            "lm help help.triage < 3",
            "node help.reply - < 1",
            "predictor help help.reply.predict < 5",
            "lm help help.reply.predict < 6",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn predictors_within_are_tuned_by_the_outer_state() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let state = json!({"predictors": {"triage": {"instruction": "Judge coolly."}}});
    api.put("/v1/graphs/support-reply/state", state).await.expect(200);
    api.post("/v1/graphs", desk(json!({"graph": "support-reply"}))).await.expect(201);
    let shown = |path: &'static str| {
        let api = &api;
        async move {
            let found = api.get(&format!("/v1/graphs/desk/predictors/{path}")).await.expect(200);
            found.json()["effective_instruction"].clone()
        }
    };
    assert_eq!(shown("help.triage").await, "Judge coolly.");
    let own = "Read `ticket` and `mood`, then write `answer`.";
    assert_eq!(shown("help.reply.predict").await, own);

    let state = json!({"predictors": {"help.reply.predict": {"instruction": "Be brief."}}});
    let put = api.put("/v1/graphs/desk/state", state).await.expect(200).json();
    assert_eq!(put["version"], 2);
    assert_eq!(shown("help.reply.predict").await, "Be brief.");
    assert_eq!(shown("help.triage").await, "Judge coolly.");
    let run = api.post("/v1/graphs/desk/execute", asked()).await.expect(200).json();
    let text = run["trace"].to_string();
    assert!(text.contains("Be brief.") && text.contains("Judge coolly."));
    let support = api.get("/v1/graphs/support-reply/state").await.expect(200).json();
    assert_eq!(support["version"], 2, "the graph within is not touched");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_that_contains_itself_is_refused_with_its_path() {
    let api = with_desk().await;
    let mut support = support_reply();
    support["nodes"]["desk"] = json!({"strategy": "graph", "config": {"graph": "desk"}});
    let edge = json!({"from": "input.ticket", "to": "desk.ticket"});
    support["edges"].as_array_mut().unwrap().push(edge);
    let refused = api.put("/v1/graphs/support-reply", support).await.expect(422);
    assert_eq!(refused.errors(), ["/nodes/desk/config/graph cycle"]);
    let detail = refused.json()["errors"][0]["detail"].clone();
    assert_eq!(
        detail,
        "a graph cannot be a part of itself: `support-reply` uses `desk` uses `support-reply`"
    );
    let add = json!({"edits": [{"op": "add_node", "name": "again",
        "node": {"strategy": "graph", "config": {"graph": "support-reply"}}}]});
    let refused = api.patch("/v1/graphs/support-reply", add).await.expect(422);
    assert!(refused.errors()[0].ends_with("cycle"), "{:?}", refused.errors());
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_graphs_are_refused_and_deleted_ones_fail_in_execution() {
    let api = with_desk().await;
    for (config, pointer) in [
        (json!({"graph": "nothing"}), "/nodes/help/config/graph invalid_config"),
        (
            json!({"graph": "support-reply", "version": 9}),
            "/nodes/help/config/graph invalid_config",
        ),
        (json!({"grahp": "x"}), "/nodes/help/config invalid_config"),
    ] {
        let refused = api.post("/v1/graphs/validate", desk(config)).await.expect(422);
        assert!(refused.errors().contains(&pointer.to_owned()), "{}", refused.text);
    }
    let state = json!({"predictors": {"help.triage": {"instruction": "Judge."}}});
    api.put("/v1/graphs/desk/state", state).await.expect(200);
    api.delete("/v1/graphs/support-reply").await.expect(204);
    api.get("/v1/graphs/desk").await.expect(200);
    let failed = api.post("/v1/graphs/desk/execute", asked()).await.expect(422);
    assert_eq!(failed.code(), "missing_graph");
    assert!(failed.json()["detail"].as_str().unwrap().contains("`support-reply` version 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_shows_inputs_and_outputs_of_the_graph() {
    let api = with_desk().await;
    let body = json!({"config": {"graph": "support-reply"}});
    let shown = api.post("/v1/strategies/graph/preview", body).await.expect(200).json();
    assert_eq!(shown["schema"]["inputs"][0]["name"], "ticket");
    let paths: Vec<&String> = shown["predictors"].as_object().unwrap().keys().collect();
    assert_eq!(paths, ["triage", "reply.predict"]);
}
