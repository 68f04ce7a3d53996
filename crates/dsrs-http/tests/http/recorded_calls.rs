//! Evaluations that reuse the results of calls: equal calls are made once, whatever else the graph does.

use std::sync::Arc;

use dsrs::lm::ScriptedLm;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{Does, FakeLm, sections, test_database};

fn says(text: &str) -> Does {
    let headers = vec![("content-type", "application/json".to_owned())];
    Does::Answer(200, headers, json!({"text": text}).to_string())
}

/// Looks something up for each question, and answers with it.
fn lookup(url: &str, select: &str) -> Value {
    let tool = json!({"http": {
        "name": "look_up", "description": "Looks up.", "method": "POST", "url": url,
        "arguments": {"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}}}});
    json!({
        "name": "look",
        "inputs": {"question": "str"},
        "nodes": {
            "find": {"strategy": "call", "retries": 0, "config": {"tool": tool, "select": select, "output": "str"}},
            "answer": {"strategy": "predict", "signature": "found, question -> answer"}
        },
        "edges": [
            {"from": "input.question", "to": "find.query"},
            {"from": "find.result", "to": "answer.found"},
            {"from": "input.question", "to": "answer.question"}
        ],
        "outputs": {"answer": "answer.answer", "found": "find.result"}
    })
}

fn example(question: &str) -> Value {
    json!({"inputs": {"question": question}, "expected": {"found": format!("about {question}")}})
}

/// Stores a dataset of questions and evaluates the graph on it.
async fn over(api: &Api, dataset: &str, reuse: bool, questions: &[&str]) -> Value {
    let examples: Vec<Value> = questions.iter().map(|question| example(question)).collect();
    let body = json!({"name": dataset, "examples": examples});
    api.post("/v1/datasets", body).await.expect(201);
    evaluated(api, request(dataset, reuse)).await
}

fn request(dataset: &str, reuse: bool) -> Value {
    let metric = json!({"exact": {"field": "found"}});
    json!({"dataset": dataset, "metric": metric, "concurrency": 1, "reuse_calls": reuse})
}

async fn evaluated(api: &Api, body: Value) -> Value {
    let started = api.post("/v1/graphs/look/evaluations", body).await.expect(202);
    let path = started.header("location").to_owned();
    api.until(&path, |answer| answer.json()["finished_at"].is_string()).await.json()
}

async fn api() -> Api {
    let lm = ScriptedLm::by(|_| sections([("answer", "yes")]));
    let settings = [("DSRS_TOOLS_ALLOW", "127.0.0.1")];
    Api::start(&test_database().await, Some(Arc::new(lm)), &settings).await
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_calls_are_made_once_over_all_evaluations_that_reuse_them() {
    let api = api().await;
    let search =
        FakeLm::doing(["a", "b", "c", "other a", "other b"].map(|q| says(&format!("about {q}"))))
            .await;
    api.post("/v1/graphs", lookup(&search.url, "text")).await.expect(201);
    let first = over(&api, "two", true, &["a", "b"]).await;
    assert_eq!(
        (&first["mean_score"], &first["reuse_calls"]),
        (&json!(1.0), &json!(true)),
        "{first}"
    );
    assert_eq!(search.asked().len(), 2);

    // Another version of the graph, with the same tool.
    let mut changed = lookup(&search.url, "text");
    changed["nodes"]["answer"]["signature"] = json!("question, found -> answer");
    api.put("/v1/graphs/look", changed).await.expect(200);
    let again = over(&api, "three", true, &["a", "b", "c"]).await;
    assert_eq!(again["mean_score"], json!(1.0), "{again}");
    assert_eq!(search.asked().len(), 3, "only what is new is called");

    let fresh = evaluated(&api, request("two", false)).await;
    assert_eq!((&fresh["mean_score"], &fresh["reuse_calls"]), (&json!(0.0), &json!(false)));
    assert_eq!(search.asked().len(), 5, "without `reuse_calls` nothing is reused");
    let again = evaluated(&api, request("two", true)).await;
    assert_eq!(again["mean_score"], json!(1.0), "nor recorded");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_not_recorded_and_executions_reuse_nothing() {
    let api = api().await;
    let fails = Does::Answer(404, Vec::new(), "no".to_owned());
    let search = FakeLm::doing([fails, says("about a"), says("live")]).await;
    api.post("/v1/graphs", lookup(&search.url, "text")).await.expect(201);
    let failed = over(&api, "one", true, &["a"]).await;
    assert_eq!(failed["counts"]["failed"], 1, "{failed}");
    let again = evaluated(&api, request("one", true)).await;
    assert_eq!(again["mean_score"], json!(1.0), "{again}");
    let run = json!({"inputs": {"question": "a"}});
    let run = api.post("/v1/graphs/look/execute", run).await.expect(200).json();
    assert_eq!(run["outputs"]["found"], "live");
    assert_eq!(search.asked().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reused_call_is_marked_in_the_trace() {
    let api = api().await;
    let search = FakeLm::doing([says("about a")]).await;
    api.post("/v1/graphs", lookup(&search.url, "text")).await.expect(201);
    over(&api, "one", true, &["a"]).await;
    let mut body = request("one", true);
    body["record"] = json!(true);
    evaluated(&api, body).await;
    let listed = api.get("/v1/runs?graph=look").await.expect(200).json();
    let id = listed["items"][0]["id"].as_str().unwrap();
    let run = api.get(&format!("/v1/runs/{id}")).await.expect(200).json();
    let spans = run["trace"]["spans"].as_array().unwrap();
    let tool = spans.iter().find(|span| span["kind"] == "tool").unwrap();
    assert_eq!(tool["cached"], true, "{tool}");
    assert_eq!(search.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_fails_the_node_is_not_recorded_and_memory_has_no_say() {
    let api = api().await;
    let search = FakeLm::doing(["wrong", "about a", "live"].map(says)).await;
    let mut graph = lookup(&search.url, "other");
    api.post("/v1/graphs", graph.clone()).await.expect(201);
    let failed = over(&api, "one", true, &["a"]).await;
    assert_eq!(failed["counts"]["failed"], 1, "{failed}");
    graph["nodes"]["find"]["config"]["select"] = json!("text");
    graph["nodes"]["find"]["config"]["cache_seconds"] = json!(600);
    api.put("/v1/graphs/look", graph).await.expect(200);
    let again = evaluated(&api, request("one", true)).await;
    assert_eq!(again["mean_score"], json!(1.0), "{again}");
    let run = json!({"inputs": {"question": "a"}});
    let run = api.post("/v1/graphs/look/execute", run).await.expect(200).json();
    assert_eq!(run["outputs"]["found"], "live", "an execution has a memory of its own");
    let again = evaluated(&api, request("one", true)).await;
    assert_eq!(again["mean_score"], json!(1.0), "{again}");
    assert_eq!(search.asked().len(), 3);
}
