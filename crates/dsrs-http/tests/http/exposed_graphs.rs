//! The member `expose` of a definition: what it may say, and what becomes of it.

use std::sync::Arc;

use serde_json::{Value, json};
use sqlx::Connection;

use crate::Api;
use dsrs_test::{one_node, test_database};
use dsrs_test_api::friendly_lm;

fn exposed(name: &str, signature: &str, expose: Value) -> Value {
    let mut graph = one_node(name, signature);
    graph["expose"] = expose;
    graph
}

fn ask(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "Where is my parcel?"}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_is_wrong_with_an_exposure_is_reported_with_its_place() {
    let api = Api::new().await;
    for (expose, pointer, code) in [
        (json!({"http": true}), "/expose/http", "unknown_field"),
        (json!({"openai": "yes"}), "/expose/openai", "wrong_type"),
        (json!({"openai": {"modl": "a"}}), "/expose/openai/modl", "unknown_field"),
        (json!({"openai": {"model": "a b"}}), "/expose/openai/model", "invalid_name"),
        (json!({"openai": {"model": "a@1"}}), "/expose/openai/model", "invalid_name"),
        (json!({"openai": {"input": "qestion"}}), "/expose/openai/input", "unknown_field"),
        (json!({"openai": {"output": "answr"}}), "/expose/openai/output", "unknown_field"),
        (json!({"mcp": {"name": "a.b"}}), "/expose/mcp/name", "invalid_name"),
        (json!({"mcp": {"name": "x".repeat(65)}}), "/expose/mcp/name", "invalid_name"),
        (json!({"mcp": {"description": "x".repeat(5000)}}), "/expose/mcp/description", "too_large"),
        (json!({"mcp": 1}), "/expose/mcp", "wrong_type"),
    ] {
        let graph = exposed("ask", "question -> answer", expose);
        for path in ["/v1/graphs", "/v1/graphs/validate"] {
            let refused = api.post(path, graph.clone()).await.expect(422).json();
            assert_eq!(refused["errors"][0]["pointer"], pointer, "{refused}");
            assert_eq!(refused["errors"][0]["code"], code, "{refused}");
        }
    }
    let two = exposed("two", "first, second -> answer", json!({"openai": true}));
    let refused = api.post("/v1/graphs", two).await.expect(422).json();
    assert_eq!(refused["errors"][0]["pointer"], "/expose/openai", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exposure_survives_versions_edits_and_differences() {
    let api = Api::new().await;
    let expose = json!({"openai": {"model": "team/ask:1", "output": "mood"}, "mcp": true});
    let graph = exposed("ask", "question -> answer, mood", expose.clone());
    let stored = api.post("/v1/graphs", graph).await.expect(201).json();
    assert_eq!(stored["expose"], expose);
    let read = api.get("/v1/graphs/ask").await.expect(200).json();
    assert_eq!(read["expose"], expose);
    // A document that was read is the same when it is sent back.
    let put = api.put("/v1/graphs/ask", read).await.expect(200).json();
    assert_eq!((&put["version"], &put["expose"]), (&json!(1), &expose));
    let rename = json!({"edits": [{"op": "rename_node", "name": "ask", "to": "reply"}]});
    let patched = api.patch("/v1/graphs/ask", rename).await.expect(200).json();
    assert_eq!((&patched["version"], &patched["expose"]), (&json!(2), &expose));
    let hide = json!({"edits": [{"op": "set_expose", "expose": {"openai": false}}]});
    let hidden = api.patch("/v1/graphs/ask", hide).await.expect(200).json();
    assert_eq!(hidden["expose"], json!({"openai": false}));
    let diff = api.get("/v1/graphs/ask/versions/2/diff?against=3").await.expect(200).json();
    assert_eq!(diff["edits"], json!([{"op": "set_expose", "expose": expose}]));
    assert!(diff["text"].as_str().unwrap().starts_with("~ expose: {"), "{diff}");
    let back = api.patch("/v1/graphs/ask", json!({"edits": diff["edits"]})).await.expect(200);
    assert_eq!(back.json()["expose"], expose);
    let none = json!({"edits": [{"op": "set_expose", "expose": null}]});
    let none = api.patch("/v1/graphs/ask", none).await.expect(200).json();
    assert_eq!(none.get("expose"), None);
    let wrong = json!({"edits": [{"op": "set_expose", "expose": {"openai": {"input": "x"}}}]});
    let refused = api.patch("/v1/graphs/ask", wrong).await.expect(422).json();
    assert_eq!(refused["errors"][0]["pointer"], "/edits/0/expose/openai/input", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_belongs_to_one_graph() {
    let api = Api::new().await;
    let first = json!({"openai": {"model": "helper"}, "mcp": {"name": "help"}});
    api.post("/v1/graphs", exposed("first", "question -> answer", first)).await.expect(201);
    for (graph, pointer) in [
        (
            exposed("second", "question -> answer", json!({"openai": {"model": "helper"}})),
            "/expose/openai/model",
        ),
        (
            exposed("second", "question -> answer", json!({"openai": {"model": "first"}})),
            "/expose/openai/model",
        ),
        (
            exposed("second", "question -> answer", json!({"mcp": {"name": "help"}})),
            "/expose/mcp/name",
        ),
        (exposed("help", "question -> answer", json!({"mcp": true})), "/expose/mcp"),
        (one_node("helper", "question -> answer"), "/name"),
    ] {
        let refused = api.post("/v1/graphs", graph).await.expect(422).json();
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{refused}");
        assert_eq!(refused["errors"][0]["code"], "duplicate_name", "{refused}");
    }
    // A graph may be written again, and the names of a deleted one are free.
    let again = json!({"openai": {"model": "helper"}});
    let again = exposed("first", "question -> answer", again);
    api.post("/v1/graphs/validate", again.clone()).await.expect(200);
    api.put("/v1/graphs/first", again).await.expect(200);
    api.delete("/v1/graphs/first").await.expect(204);
    api.post("/v1/graphs", one_node("helper", "question -> answer")).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declared_chat_model_has_its_name_and_its_parts() {
    let api = Api::new().await;
    let mut graph = exposed("triage", "ticket, tone -> answer, mood", json!(null));
    graph["inputs"] = json!({"ticket": "str", "tone": {"type": "str", "default": "calm"}});
    graph["expose"] = json!({"openai": {"model": "desk", "input": "tone", "output": "mood"}});
    let refused = api.post("/v1/graphs", graph.clone()).await.expect(422).json();
    assert_eq!(refused["errors"][0]["pointer"], "/expose/openai", "{refused}");
    graph["expose"]["openai"]["input"] = json!("ticket");
    api.post("/v1/graphs", graph).await.expect(201);
    let path = "/openai/v1/chat/completions";
    let answer = api.post(path, ask("desk")).await.expect(200).json();
    let id = answer["id"].as_str().unwrap().trim_start_matches("chatcmpl-").to_owned();
    let run = api.get(&format!("/v1/runs/{id}")).await.expect(200).json();
    assert_eq!(run["inputs"], json!({"ticket": "Where is my parcel?", "tone": "calm"}));
    assert_eq!(answer["choices"][0]["message"]["content"], run["outputs"]["mood"]);
    let models = api.get("/openai/v1/models").await.expect(200).json();
    assert_eq!(models["data"][0]["id"], "desk");
    // The name of the graph is a name of the model, too.
    api.post(path, ask("triage@1")).await.expect(200);
    let hide = json!({"edits": [{"op": "set_expose", "expose": {"openai": false}}]});
    api.patch("/v1/graphs/triage", hide).await.expect(200);
    let refused = api.post(path, ask("triage")).await.expect(400).json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("expose.openai"), "{refused}");
    // Nor is an older version that was one.
    let refused = api.post(path, ask("triage@1")).await.expect(400).json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("expose.openai"), "{refused}");
    api.post(path, ask("desk")).await.expect(404);
    assert_eq!(api.get("/openai/v1/models").await.expect(200).json()["data"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_graphs_that_take_a_name_at_the_same_moment_one_has_it() {
    let api = Api::new().await;
    for round in 0..4 {
        let expose = json!({"openai": {"model": format!("model-{round}")}, "mcp": {"name": format!("tool-{round}")}});
        let posts = (0..8).map(|number| {
            let name = format!("graph-{round}-{number}");
            api.post("/v1/graphs", exposed(&name, "question -> answer", expose.clone()))
        });
        let answers = futures_util::future::join_all(posts).await;
        let stored = answers.iter().filter(|answer| answer.status == 201).count();
        assert_eq!(stored, 1, "{answers:?}");
        assert!(answers.iter().all(|answer| [201, 422].contains(&answer.status)), "{answers:?}");
    }
    // Of existing graphs, too.
    let names: Vec<_> = (0..8).map(|number| format!("plain-{number}")).collect();
    for name in &names {
        api.post("/v1/graphs", one_node(name, "question -> answer")).await.expect(201);
    }
    let set = json!({"edits": [{"op": "set_expose", "expose": {"mcp": {"name": "wanted"}}}]});
    let paths: Vec<_> = names.iter().map(|name| format!("/v1/graphs/{name}")).collect();
    let edits = paths.iter().map(|path| api.patch(path, set.clone()));
    let answers = futures_util::future::join_all(edits).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1, "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_two_graphs_have_is_listed_once() {
    let database = test_database().await;
    let start = || Api::start(&database, Some(Arc::new(friendly_lm())), &[]);
    let api = start().await;
    for number in 1..3 {
        let expose = json!({"openai": {"model": format!("helper-{number}")}, "mcp": {"name": format!("help-{number}")}});
        let graph = exposed(&format!("graph-{number}"), "question -> answer", expose);
        api.post("/v1/graphs", graph).await.expect(201);
    }
    api.stop().await;
    // As two servers of an earlier version stored them at the same moment.
    let mut connection = sqlx::PgConnection::connect(&database).await.unwrap();
    let same = "update graph_versions set
        definition = replace(replace(definition::text, 'helper-2', 'helper-1'), 'help-2', 'help-1')::json,
        expose = replace(replace(expose::text, 'helper-2', 'helper-1'), 'help-2', 'help-1')::json";
    sqlx::raw_sql(same).execute(&mut connection).await.unwrap();
    let api = start().await;
    let models = api.get("/openai/v1/models").await.expect(200).json();
    assert_eq!(models["data"].as_array().unwrap().len(), 1, "{models}");
    let answer = api.post("/openai/v1/chat/completions", ask("helper-1")).await.expect(200).json();
    assert_eq!(answer["model"], "graph-1@1");
    for (method, member) in [("tools/list", "tools"), ("resources/list", "resources")] {
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": method});
        let listed = api.post("/mcp", list).await.expect(200).json();
        assert_eq!(listed["result"][member].as_array().unwrap().len(), 1, "{listed}");
    }
}
