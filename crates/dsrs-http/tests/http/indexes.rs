//! `/v1/indexes`: passages of a dataset, found by their words, and built again when the dataset has changed.

use std::sync::Arc;

use dsrs::lm::ScriptedLm;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{found, sections, test_database};

const PAGES: [(&str, &str); 5] = [
    ("turku", "Turku is a city in Finland. It has a castle on the river Aura."),
    ("bergen", "Bergen is a city in Norway, between seven mountains."),
    ("rust", "The function read_to_string in src/main.rs reads the whole file."),
    ("cancel", "You can cancel a run at any time. Cancelled runs cost nothing."),
    ("empty", ""),
];

fn examples(pages: &[(&str, &str)]) -> Value {
    pages.iter().map(|(id, text)| json!({"id": id, "inputs": {"text": text}})).collect()
}

async fn upload(api: &Api, pages: &[(&str, &str)]) {
    let body = json!({"name": "pages", "examples": examples(pages)});
    api.post("/v1/datasets", body).await.expect(201);
}

/// The index once its newest build has ended.
async fn built(api: &Api, name: &str) -> Value {
    let path = format!("/v1/indexes/{name}");
    found("the build to end", async || {
        let index = api.get(&path).await.expect(200).json();
        index["build"]["finished_at"].is_string().then_some(index)
    })
    .await
}

/// A service with the index `docs` of some pages.
async fn indexed(pages: &[(&str, &str)]) -> Api {
    let lm = ScriptedLm::by(|request| {
        let asked = request.chat.turns.last().unwrap().content.to_string();
        let answer = if asked.contains("castle") { "Finland" } else { "unknown" };
        sections([("answer", answer)])
    });
    let api = Api::start(&test_database().await, Some(Arc::new(lm)), &[]).await;
    upload(&api, pages).await;
    let made =
        api.post("/v1/indexes", json!({"name": "docs", "dataset": "pages"})).await.expect(202);
    assert_eq!(made.header("location"), "/v1/indexes/docs");
    assert_eq!(built(&api, "docs").await["build"]["status"], "succeeded");
    api
}

async fn ids(api: &Api, query: &str, k: usize) -> Vec<String> {
    let body = json!({"query": query, "k": k});
    let found = api.post("/v1/indexes/docs/search", body).await.expect(200).json();
    let passages = found["passages"].as_array().unwrap();
    let scores: Vec<f64> = passages.iter().map(|found| found["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
    passages.iter().map(|found| found["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn passages_are_found_by_their_words() {
    let api = indexed(&PAGES).await;
    let index = api.get("/v1/indexes/docs").await.expect(200).json();
    assert_eq!((&index["version"], &index["passages"]), (&json!(1), &json!(5)), "{index}");
    assert_eq!(index["build"]["done"], 5);
    assert_eq!(ids(&api, "a castle in Finland?", 1).await, ["turku"]);
    assert_eq!(ids(&api, "cities", 5).await, ["bergen", "turku"], "the shorter of two comes first");
    assert_eq!(ids(&api, "cancelling runs", 5).await, ["cancel"], "forms of a word are one word");
    assert_eq!(ids(&api, "main.rs", 5).await, ["rust"]);
    assert_eq!(ids(&api, "read_to_string", 5).await, ["rust"]);
    assert_eq!(ids(&api, "string", 5).await, ["rust"], "a name is its words");
    for nothing in ["the", "?!", "\u{0}", "zebra", "' or 1=1; --", "a:* & !b"] {
        assert!(ids(&api, nothing, 5).await.is_empty(), "{nothing}");
    }
    let found = api.post("/v1/indexes/docs/search", json!({"query": "castle"})).await.expect(200);
    assert_eq!(found.json()["passages"][0]["text"], PAGES[0].1);
}

/// A graph that looks passages up before it answers.
fn rag(tool: &Value) -> Value {
    json!({
        "name": "rag",
        "inputs": {"question": "str"},
        "nodes": {
            "find": {"strategy": "call", "config": {"tool": tool, "select": "[*].text"}},
            "answer": {"strategy": "predict", "signature": "passages: list[str], question -> answer"}
        },
        "edges": [
            {"from": "input.question", "to": "find.query"},
            {"from": "find.result", "to": "answer.passages"},
            {"from": "input.question", "to": "answer.question"}
        ]
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_looks_passages_up_in_runs_batches_and_evaluations() {
    let api = indexed(&PAGES).await;
    let tool = json!({"builtin": "search", "index": "docs", "k": 2});
    let made = api.post("/v1/graphs", rag(&tool)).await.expect(201).json();
    let signature = &made["nodes"]["find"]["signature"];
    assert_eq!(signature["inputs"][0]["name"], "query");
    assert_eq!(signature["outputs"][0]["type"], "list[str]", "{signature}");
    let body = json!({"inputs": {"question": "a castle in which country?"}, "trace": true});
    let run = api.post("/v1/graphs/rag/execute", body.clone()).await.expect(200).json();
    assert_eq!(run["outputs"]["answer"], "Finland");
    let spans = run["trace"]["spans"].as_array().unwrap();
    let span = spans.iter().find(|span| span["kind"] == "tool").unwrap();
    assert_eq!(span["name"], "search");
    assert_eq!(span["outputs"]["result"][0]["id"], "turku");
    assert!(span["outputs"]["result"][0]["score"].as_f64().unwrap() > 0.0);

    let path = format!("/v1/runs/{}?include=provenance", run["run_id"].as_str().unwrap());
    let lineage =
        api.get(&path).await.expect(200).json()["provenance"]["outputs"]["answer"].clone();
    assert_eq!(lineage["tool_calls"], json!([span["id"]]), "{lineage}");

    let run = api.post("/v1/graphs/rag/runs", body).await.expect(202).json();
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    let run = found("the run to end", async || {
        let run = api.get(&path).await.expect(200).json();
        run["finished_at"].is_string().then_some(run)
    });
    assert_eq!(run.await["outputs"]["answer"], "Finland");
    let qa = json!({"name": "qa", "examples": [
        {"inputs": {"question": "a castle?"}, "expected": {"answer": "Finland"}},
        {"inputs": {"question": "seven mountains?"}, "expected": {"answer": "unknown"}}]});
    api.post("/v1/datasets", qa).await.expect(201);
    let body = json!({"dataset": "qa", "metric": "exact"});
    let started = api.post("/v1/graphs/rag/evaluations", body).await.expect(202).json();
    let path = format!("/v1/evaluations/{}", started["id"].as_str().unwrap());
    let ended = found("the evaluation to end", async || {
        let read = api.get(&path).await.expect(200).json();
        read["finished_at"].is_string().then_some(read)
    });
    assert_eq!(ended.await["mean_score"], 1.0);
    let items = json!({"items": [{"question": "a castle?"}, {"question": "mountains?"}]});
    let batch = api.post("/v1/graphs/rag/batches", items).await.expect(202).json();
    let path = format!("/v1/batches/{}", batch["id"].as_str().unwrap());
    let ended = found("the batch to end", async || {
        let read = api.get(&path).await.expect(200).json();
        read["finished_at"].is_string().then_some(read)
    });
    assert_eq!(ended.await["counts"]["succeeded"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_names_an_index_that_exists() {
    let api = indexed(&PAGES).await;
    let api = &api;
    let problem = |tool| async move { api.post("/v1/graphs", rag(&tool)).await.expect(422).json() };
    let unknown = problem(json!({"builtin": "search", "index": "dogs"})).await;
    let error = &unknown["errors"][0];
    assert_eq!(error["pointer"], "/nodes/find/config/tool/index", "{unknown}");
    assert_eq!(error["detail"], "there is no index `dogs`; did you mean `docs`? known ones: docs");
    let unnamed = problem(json!("search")).await;
    assert!(unnamed["errors"][0]["detail"].as_str().unwrap().contains("`search` needs an index"));
    let vectors = problem(json!({"builtin": "search", "index": "docs", "ranking": "vector"})).await;
    assert!(vectors["errors"][0]["detail"].as_str().unwrap().contains("has no vectors"));
    let many = problem(json!({"builtin": "search", "index": "docs", "k": 0})).await;
    assert_eq!(many["errors"][0]["pointer"], "/nodes/find/config/tool/k");

    api.post("/v1/graphs", rag(&json!({"builtin": "search", "index": "docs"}))).await.expect(201);
    api.delete("/v1/indexes/docs").await.expect(204);
    api.get("/v1/indexes/docs").await.expect(404);
    let body = json!({"inputs": {"question": "a castle?"}});
    let failed = api.post("/v1/graphs/rag/execute", body).await.expect(422).json();
    assert_eq!((&failed["code"], &failed["node"]), (&json!("tool_failed"), &json!("find")));
    assert!(failed["detail"].as_str().unwrap().contains("there is no index `docs`"), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_built_again_equals_one_that_is_new() {
    let first: Vec<(String, String)> =
        (0..2500).map(|n| (format!("p{n}"), format!("passage {n} about topic{}", n % 7))).collect();
    let mut second = first.clone();
    second.truncate(2300);
    second[3].1 = "another text about topic3".to_owned();
    second.push(("new".to_owned(), "a passage about topic3 and topic4".to_owned()));
    let pages = |of: &[(String, String)]| -> Vec<Value> {
        of.iter().map(|(id, text)| json!({"id": id, "inputs": {"text": text}})).collect()
    };
    let api = Api::new().await;
    api.post("/v1/datasets", json!({"name": "pages", "examples": pages(&first)})).await.expect(201);
    api.post("/v1/indexes", json!({"name": "docs", "dataset": "pages"})).await.expect(202);
    built(&api, "docs").await;
    api.put("/v1/datasets/pages", json!({"examples": pages(&second)})).await.expect(200);
    let again = api.post("/v1/indexes/docs/builds", json!({})).await.expect(202).json();
    assert_eq!((&again["version"], &again["build"]["version"]), (&json!(1), &json!(2)));
    let again = built(&api, "docs").await;
    assert_eq!((&again["version"], &again["passages"]), (&json!(2), &json!(2301)), "{again}");
    api.post("/v1/indexes", json!({"name": "fresh", "dataset": "pages"})).await.expect(202);
    built(&api, "fresh").await;
    for query in ["topic3", "topic4 another", "passage 7", "new topic4 text"] {
        let body = json!({"query": query, "k": 100});
        let of = |name: &str| format!("/v1/indexes/{name}/search");
        let old = api.post(&of("docs"), body.clone()).await.expect(200).json();
        let new = api.post(&of("fresh"), body).await.expect(200).json();
        assert_eq!(old, new, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_of_a_request_is_reported_at_once() {
    let api = indexed(&PAGES).await;
    let body = json!({"name": "a b", "dataset": "nope", "language": "klingon", "odd": 1});
    let refused = api.post("/v1/indexes", body).await.expect(422).json();
    let places: Vec<&str> = refused["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(places, ["/name", "/language", "/odd"], "{refused}");
    let body = json!({"name": "more", "dataset": "nope", "model": "default", "odd": 1});
    let refused = api.post("/v1/indexes", body).await.expect(422).json();
    for (number, place) in ["/odd", "/dataset", "/model"].iter().enumerate() {
        assert_eq!(&refused["errors"][number]["pointer"], place, "{refused}");
    }
    let body = json!({"name": "docs", "dataset": "pages"});
    assert_eq!(api.post("/v1/indexes", body).await.expect(409).json()["code"], "already_exists");
    let body = json!({"name": "docs2", "dataset": "pages", "text": "title"});
    let refused = api.post("/v1/indexes", body).await.expect(422).json();
    assert_eq!(refused["errors"][0]["pointer"], "/text");
    assert_eq!(
        refused["errors"][0]["detail"],
        "the example `turku` has no input `title`; it has `text`"
    );
    let api = &api;
    let search =
        |body| async move { api.post("/v1/indexes/docs/search", body).await.expect(422).json() };
    assert_eq!(search(json!({"query": ""})).await["errors"][0]["pointer"], "/query");
    let vectors = search(json!({"query": "x", "ranking": "vector"})).await;
    assert!(vectors["errors"][0]["detail"].as_str().unwrap().contains("has no vectors"));
    api.post("/v1/indexes/nope/search", json!({"query": "x"})).await.expect(404);
    api.get("/v1/indexes/%00").await.expect(404);
    let again = api.post("/v1/indexes/docs/builds", json!({"version": 9})).await.expect(404).json();
    assert!(again["detail"].as_str().unwrap().contains("version"), "{again}");
    assert_eq!(
        api.post("/v1/indexes/docs/cancel", json!({})).await.expect(409).json()["code"],
        "run_finished"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_names_the_example_that_has_no_passage() {
    let api = Api::new().await;
    let examples = json!([{"inputs": {"text": "fine"}}, {"id": "odd", "inputs": {"text": 5}}]);
    api.post("/v1/datasets", json!({"name": "pages", "examples": examples})).await.expect(201);
    let body = json!({"name": "docs", "dataset": "pages"});
    api.post("/v1/indexes", body).await.expect(202);
    let index = built(&api, "docs").await;
    assert_eq!((&index["build"]["status"], &index["version"]), (&json!("failed"), &Value::Null));
    let error = &index["build"]["error"];
    assert_eq!(error["code"], "invalid_input", "{index}");
    assert_eq!(error["detail"], "the example `odd` has an integer for a passage, which is a text");
    let refused = api.post("/v1/indexes/docs/search", json!({"query": "fine"})).await.expect(409);
    assert_eq!(refused.json()["code"], "run_unfinished");
    let listed = api.get("/v1/indexes").await.expect(200).json();
    assert_eq!(listed["items"][0], index);
}
