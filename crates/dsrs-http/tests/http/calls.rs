//! Nodes that call a tool: a search over HTTP before an answer, a tool of an MCP server, a stored graph.

use std::sync::Arc;

use dsrs::lm::ScriptedLm;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{Does, FakeLm, found, mcp_example, sections, test_database};

/// A search that answers each request by this script.
async fn search(script: impl Into<Vec<Does>>) -> Arc<FakeLm> {
    FakeLm::doing(script).await
}

fn says(status: u16, body: &Value) -> Does {
    let headers = vec![("content-type", "application/json".to_owned())];
    Does::Answer(status, headers, body.to_string())
}

fn hits() -> Value {
    json!({"hits": [{"text": "Turku is in Finland.", "score": 0.9}, {"text": "It has a castle.", "score": 0.4}]})
}

/// Looks passages up, then answers from them.
fn rag(url: &str) -> Value {
    let tool = json!({"http": {
        "name": "search", "description": "Finds passages.", "method": "POST", "url": url,
        "arguments": {"type": "object", "required": ["query"], "properties": {
            "query": {"type": "string"}, "k": {"type": "integer", "default": 3}}}}});
    json!({
        "name": "rag",
        "inputs": {"question": "str"},
        "nodes": {
            "find": {"strategy": "call", "retries": 1, "config": {
                "tool": tool, "arguments": {"k": 2}, "select": "hits[*].text", "output": "list[str]"}},
            "answer": {"strategy": "predict", "signature": "passages: list[str], question -> answer"}
        },
        "edges": [
            {"from": "input.question", "to": "find.query"},
            {"from": "find.result", "to": "answer.passages"},
            {"from": "input.question", "to": "answer.question"}
        ]
    })
}

async fn answering(said: &'static str) -> Api {
    let lm = ScriptedLm::by(move |_| sections([("answer", said)]));
    let settings = [("DSRS_TOOLS_ALLOW", "127.0.0.1")];
    Api::start(&test_database().await, Some(Arc::new(lm)), &settings).await
}

fn asking() -> Value {
    json!({"inputs": {"question": "Where is Turku?"}, "trace": true})
}

#[tokio::test(flavor = "multi_thread")]
async fn passages_are_looked_up_before_the_model_is_asked() {
    let api = answering("in Finland").await;
    let search = search([says(200, &hits())]).await;
    let made = api.post("/v1/graphs", rag(&search.url)).await.expect(201).json();
    let signature = &made["nodes"]["find"]["signature"];
    assert_eq!(signature["inputs"], json!([{"name": "query", "type": "str"}]), "{signature}");
    api.put("/v1/graphs/rag", made.clone()).await.expect(200);

    let run = api.post("/v1/graphs/rag/execute", asking()).await.expect(200).json();
    assert_eq!(run["outputs"]["answer"], "in Finland");
    let asked = search.asked();
    assert_eq!(asked[0].body, json!({"query": "Where is Turku?", "k": 2}));
    assert_eq!(asked[0].headers["idempotency-key"].len(), 64);
    let spans = run["trace"]["spans"].as_array().unwrap();
    let tool = spans.iter().find(|span| span["kind"] == "tool").unwrap();
    assert_eq!((&tool["name"], &tool["outputs"]["result"]), (&json!("search"), &hits()));
    let lm = spans.iter().find(|span| span["kind"] == "lm").unwrap();
    assert!(lm["messages"].to_string().contains("It has a castle."), "{lm}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_run_waits_for_a_search_that_is_busy() {
    let api = answering("in Finland").await;
    let busy = Does::Answer(503, vec![("retry-after", "0".to_owned())], "busy".to_owned());
    let search = search([busy, says(200, &hits())]).await;
    api.post("/v1/graphs", rag(&search.url)).await.expect(201);
    let run = api.post("/v1/graphs/rag/runs", asking()).await.expect(202).json();
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    let run = found("the run to end", async || {
        let run = api.get(&path).await.expect(200).json();
        run["finished_at"].is_string().then_some(run)
    })
    .await;
    assert_eq!(run["status"], "succeeded", "{run}");
    let keys: Vec<_> =
        search.asked().iter().map(|asked| asked.headers["idempotency-key"].clone()).collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_fails_names_its_node() {
    let api = answering("unused").await;
    let search = search([
        says(404, &json!("no such index")),
        says(200, &json!({"pages": []})),
        says(503, &json!("busy")),
        says(503, &json!("busy")),
    ])
    .await;
    api.post("/v1/graphs", rag(&search.url)).await.expect(201);
    let problem = api.post("/v1/graphs/rag/execute", asking()).await.expect(422).json();
    assert_eq!((&problem["code"], &problem["node"]), (&json!("tool_failed"), &json!("find")));
    assert!(
        problem["detail"].as_str().unwrap().contains("status 404: \"no such index\""),
        "{problem}"
    );
    let problem = api.post("/v1/graphs/rag/execute", asking()).await.expect(422).json();
    assert!(problem["detail"].as_str().unwrap().contains("it has no `hits`"), "{problem}");
    let answer = api.post("/v1/graphs/rag/execute", asking()).await.expect(503);
    assert_eq!(answer.json()["code"], "tool_unavailable");
    assert_eq!(answer.json()["unmeasured"], true);
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_an_mcp_tool_has_the_types_of_that_tool() {
    let example = mcp_example().await.display().to_string();
    let settings = [("DSRS_MCP__OFFICE__COMMAND", example.as_str())];
    let api = Api::start(&test_database().await, None, &settings).await;
    let graph = |tools: Value| {
        json!({"name": "parcel", "nodes": {"track": {"strategy": "call", "config": {
            "tool": {"mcp": "office", "tools": tools}, "select": "town", "output": "str"}}}})
    };
    let refused = found("the tools of the server", async || {
        let refused = api.post("/v1/graphs", graph(json!([]))).await;
        (!refused.text.contains("pending")).then_some(refused)
    })
    .await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    let made = api.post("/v1/graphs", graph(json!(["track"]))).await.expect(201).json();
    assert_eq!(made["nodes"]["track"]["signature"]["inputs"][0]["name"], "number");
    let body = json!({"inputs": {"number": "P-7"}});
    let run = api.post("/v1/graphs/parcel/execute", body).await.expect(200).json();
    assert_eq!(run["outputs"], json!({"result": "Turku"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_graph_is_called_at_the_version_of_the_definition() {
    let api = answering("42").await;
    let inner = json!({"name": "inner", "nodes": {"say": {"strategy": "predict", "signature": "question -> answer: int"}}});
    api.post("/v1/graphs", inner).await.expect(201);
    let outer = json!({"name": "outer", "nodes": {"ask": {"strategy": "call", "config": {"tool": {"graph": "inner"}}}}});
    let made = api.post("/v1/graphs", outer).await.expect(201).json();
    assert_eq!(made["nodes"]["ask"]["config"]["tool"]["version"], 1);
    assert_eq!(made["nodes"]["ask"]["signature"]["outputs"][0]["type"], "int");
    let run = api.post("/v1/graphs/outer/execute", asking()).await.expect(200).json();
    assert_eq!(run["outputs"], json!({"result": 42}));
    assert_eq!(run["usage"]["lm_calls"], 1);
}
