//! The editor without a script: a form that checks and saves, and shows a newer version beside the text.

use serde_json::{Value, json};

use super::{open, submit, words};
use crate::Api;
use dsrs_test::support_reply;

const PATH: &str = "/graphs/support-reply/edit";

#[tokio::test(flavor = "multi_thread")]
async fn the_definition_of_a_graph_is_a_text_in_a_form() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let view = open(&api, PATH).await.expect(200);
    assert!(view.text.contains("id=\"editor\""), "{}", view.text);
    assert!(view.text.contains("name=\"version\" value=\"1\""), "{}", view.text);
    assert!(view.text.contains("&quot;strategy&quot;: &quot;chain_of_thought&quot;"));
    assert_eq!(open(&api, "/graphs/nothing/edit").await.status, 404);
    assert_eq!(open(&api, &format!("{PATH}?version=7")).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_lists_every_problem_and_stores_nothing() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let wrong =
        json!({"nodes": {"a": {"strategy": "pedict", "signature": "q -> <b>"}}}).to_string();
    let fields = [("definition", wrong.as_str()), ("version", "1"), ("act", "save")];
    let view = submit(&api, PATH, &fields).await.expect(200);
    let text = words(&view.text);
    assert!(text.contains("/nodes/a/strategy") && text.contains("/nodes/a/signature"), "{text}");
    assert!(
        view.text.contains("q -&gt; &lt;b&gt;"),
        "the text stays as it was written: {}",
        view.text
    );
    let broken = submit(&api, PATH, &[("definition", "{"), ("act", "check")]).await.expect(200);
    assert!(words(&broken.text).contains("JSON"), "{}", words(&broken.text));
    let right = support_reply().to_string();
    let fields = [("definition", right.as_str()), ("act", "check")];
    let valid = submit(&api, PATH, &fields).await.expect(200);
    assert!(words(&valid.text).contains("The definition is valid."));
    let graph = api.get("/v1/graphs/support-reply").await.expect(200).json();
    assert_eq!(graph["version"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_text_is_the_next_version_and_an_outdated_one_shows_the_newer() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let described = |description: &str| {
        let mut graph = support_reply();
        graph["description"] = Value::from(description);
        graph.to_string()
    };
    let (first, second) = (described("first"), described("second"));
    let save = |text: String, version: &'static str| {
        let api = &api;
        async move {
            submit(api, PATH, &[("definition", &text), ("version", version), ("act", "save")]).await
        }
    };
    let saved = save(first, "1").await.expect(303);
    assert_eq!(saved.header("location"), "/graphs/support-reply");
    let conflict = save(second.clone(), "1").await.expect(200);
    let text = words(&conflict.text);
    assert!(text.contains("Another version was stored"), "{text}");
    assert!(
        text.contains("Version 2, stored by another") && text.contains("&quot;first&quot;"),
        "{text}"
    );
    assert!(conflict.text.contains("name=\"version\" value=\"2\""), "{}", conflict.text);
    save(second, "2").await.expect(303);
    let graph = api.get("/v1/graphs/support-reply").await.expect(200).json();
    assert_eq!((&graph["version"], &graph["description"]), (&json!(3), &json!("second")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_graph_is_created_from_its_text() {
    let api = Api::new().await;
    let guessed = open(&api, "/graphs/new/edit").await.expect(303);
    assert_eq!(guessed.header("location"), "/new");
    let view = open(&api, "/new").await.expect(200);
    assert!(words(&view.text).contains("New graph"), "{}", view.text);
    let text = support_reply().to_string();
    let fields = [("definition", text.as_str()), ("act", "save")];
    let created = submit(&api, "/new", &fields).await.expect(303);
    assert_eq!(created.header("location"), "/graphs/support-reply");
    let again = submit(&api, "/new", &fields).await.expect(200);
    assert!(words(&again.text).contains("already a graph"), "{}", words(&again.text));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_definition_has_a_picture_with_the_fields_that_are_known() {
    let api = Api::new().await;
    let unfinished = json!({
        "inputs": {"text": "str"},
        "nodes": {
            "trim": {"strategy": "strip"},
            "loud": {"strategy": "upper"},
            "ask": {"strategy": "chain_of_thought", "signature": "question -> answer: int"},
            "often": {"strategy": "majority", "signature": "question -> answer"},
            "<b>": {"strategy": "<script>"}
        },
        "edges": [{"from": "input.text", "to": "trim.text"}, {"from": "trim.text", "to": "loud.text"}, {"from": 1}]
    });
    let drawn = api.post("/drawing", unfinished).await.expect(200).json();
    let nodes = &drawn["ports"]["nodes"];
    let names = |node: &str, side: &str| {
        let ports = nodes[node][side].as_array().unwrap();
        let texts = ports.iter().map(|port| {
            format!("{}: {}", port["name"].as_str().unwrap(), port["type"].as_str().unwrap_or("?"))
        });
        texts.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(names("trim", "inputs"), "text: str");
    assert_eq!(names("loud", "outputs"), "text: str");
    assert_eq!(names("ask", "outputs"), "reasoning: str, answer: int");
    assert_eq!(names("often", "outputs"), "answer: str");
    let svg = drawn["svg"].as_str().unwrap();
    assert!(svg.contains("&lt;b&gt;") && !svg.contains("<b>") && !svg.contains("<script"), "{svg}");
    assert!(svg.contains("data-from=\"trim.text\""), "{svg}");
}
