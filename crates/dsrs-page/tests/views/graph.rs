//! One graph: its picture, its nodes, its versions.

use serde_json::{Value, json};

use super::{open, submit, words};
use crate::Api;
use dsrs_test::support_reply;

const PATH: &str = "/graphs/support-reply";

async fn with_graph() -> Api {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    api
}

#[tokio::test(flavor = "multi_thread")]
async fn the_picture_is_beside_the_definition() {
    let api = with_graph().await;
    let view = open(&api, PATH).await.expect(200).text;
    for expected in [
        "aria-label=\"Graph support-reply: 2 nodes, 5 edges\"",
        "data-from=\"triage.mood\" data-to=\"reply.mood\"",
        "data-from=\"reply.answer\" data-to=\"@output.answer\"",
        "href=\"?node=triage#node\"",
        "<span class=\"k\">&quot;strategy&quot;</span>: <span class=\"text\"><span class=\"s\">&quot;chain_of_thought&quot;",
    ] {
        assert!(view.contains(expected), "{expected} is missing in {view}");
    }
    let text = words(&view);
    assert!(text.contains("version 1 newest state 1") && text.contains("2 nodes"), "{text}");
    for link in ["/run\"", "/edit\"", "/state\"", "/versions\""] {
        assert!(view.contains(&format!("href=\"{PATH}{link}")), "{link}");
    }
    assert_eq!(open(&api, "/graphs/nothing").await.status, 404);
    assert_eq!(open(&api, &format!("{PATH}?version=7")).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selected_node_shows_its_signature_state_prompt_and_last_answers() {
    let api = with_graph().await;
    let state = json!({"predictors": {"triage": {"instruction": "Feel the ticket.",
        "demos": [{"input": {"ticket": "Where is it?"}, "output": {"mood": "calm", "topics": ["delivery"]}}]}}});
    api.put("/v1/graphs/support-reply/state", state).await.expect(200);
    let body = json!({"inputs": {"ticket": "Late <b>again</b>"}});
    api.post("/v1/graphs/support-reply/execute", body).await.expect(200);
    let stored = |answer: &dsrs_test::Answer| answer.json()["items"][0]["id"].is_string();
    api.until("/v1/runs", stored).await;

    let view = open(&api, &format!("{PATH}?node=triage")).await.expect(200).text;
    let text = words(&view);
    for expected in [
        "triage predict",
        "mood Mood topics list[str]",
        "Predictor triage tuned",
        "Instruction (from the state) Feel the ticket.",
        "1 demo",
        "Where is it?",
        "version 1 · state 2",
        "Late &lt;b&gt;again&lt;/b&gt;",
    ] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
    assert!(view.contains("class=\"node strategy selected\" data-node=\"triage\""), "{view}");
    assert!(view.contains("<h5>system</h5>") && !view.contains("<b>again"), "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_follows_the_inputs_and_asks_no_model() {
    let api = with_graph().await;
    let address = format!("{PATH}?node=reply&in.ticket=My%20parcel&in.mood=angry");
    let view = open(&api, &address).await.expect(200);
    assert!(words(&view.text).contains("My parcel"), "{}", view.text);
    let fields = [("node", "reply"), ("in.ticket", "Typed text"), ("in.mood", "purple")];
    let wrong = words(&submit(&api, PATH, &fields).await.expect(200).text);
    assert!(wrong.contains("mood") && wrong.contains("purple"), "{wrong}");
    let fields = [("node", "reply"), ("in.ticket", "Typed text"), ("in.mood", "calm")];
    let right = submit(&api, PATH, &fields).await.expect(200).text;
    let prompt = right.split("id=\"prompt\"").nth(1).unwrap();
    assert!(prompt.contains("Typed text") && prompt.contains("<h5>user</h5>"), "{prompt}");
    let runs = api.get("/v1/runs").await.expect(200).json();
    assert_eq!(runs["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_versions_are_compared() {
    let api = with_graph().await;
    let mut graph = support_reply();
    graph["outputs"]["topics"] = Value::from("triage.topics");
    api.put("/v1/graphs/support-reply", graph).await.expect(200);
    let view = open(&api, &format!("{PATH}/versions")).await.expect(200).text;
    assert!(view.contains("href=\"/graphs/support-reply/versions?from=1&amp;to=2\""), "{view}");
    let view = open(&api, &format!("{PATH}/versions?from=1&to=2")).await.expect(200).text;
    let text = words(&view);
    assert!(text.contains("From version 1 to 2") && text.contains("added:"), "{text}");
    assert!(text.contains("set_output") && text.contains("topics"), "{text}");
    let same = words(&open(&api, &format!("{PATH}/versions?from=2&to=2")).await.expect(200).text);
    assert!(same.contains("No difference"), "{same}");
    let old = words(&open(&api, &format!("{PATH}?version=1")).await.expect(200).text);
    assert!(old.contains("version 1 older newest is 2"), "{old}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_inside_opens_in_place_and_its_nodes_can_be_selected() {
    let api = with_graph().await;
    let outer = json!({"name": "outer", "inputs": {"mail": "str"}, "nodes": {
        "desk": {"strategy": "graph", "config": {"graph": "support-reply"}}},
        "edges": [{"from": "input.mail", "to": "desk.ticket"}], "outputs": {"answer": "desk.answer"}});
    api.post("/v1/graphs", outer).await.expect(201);
    let closed = open(&api, "/graphs/outer").await.expect(200).text;
    assert!(closed.contains("href=\"?open=desk\" aria-label=\"Open desk\""), "{closed}");
    assert!(!closed.contains("data-node=\"desk/triage\""));
    let opened = open(&api, "/graphs/outer?open=desk&node=desk/triage").await.expect(200).text;
    assert!(opened.contains("data-node=\"desk/triage\""), "{opened}");
    let text = words(&opened);
    assert!(text.contains("graph support-reply v1"), "{text}");
    assert!(text.contains("inside of desk/triage") && text.contains("mood Mood"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_nodes_have_a_picture() {
    let api = Api::new().await;
    let name = |index: usize| format!("n{index}");
    let node = json!({"strategy": "predict", "signature": "text -> result"});
    let nodes: serde_json::Map<String, Value> =
        (0..500).map(|index| (name(index), node.clone())).collect();
    let from = |index: usize| match index {
        0..10 => "input.text".to_owned(),
        index => format!("{}.result", name(index / 2)),
    };
    let edges: Vec<Value> = (0..500)
        .map(|index| json!({"from": from(index), "to": format!("{}.text", name(index))}))
        .collect();
    let graph = json!({"name": "large", "inputs": {"text": "str"}, "nodes": nodes, "edges": edges,
        "outputs": {"result": "n499.result"}});
    api.post("/v1/graphs", graph).await.expect(201);
    let view = open(&api, "/graphs/large?node=n250").await.expect(200).text;
    assert_eq!(view.matches("data-node=").count(), 500);
    assert_eq!(view.matches("data-edge=").count(), 501);
}
