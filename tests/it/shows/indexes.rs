//! Indexes of passages by meaning: a model of embeddings, a server that is killed while it builds, two orders as one.

use std::sync::Arc;

use serde_json::{Value, json};

use super::leases::{expire_leases, leased};
use super::{on, text};
use dsrs_test::{Answer, Asked, Does, FakeLm, Gate, Remote, ServerSetup, sections, test_database};

/// Vectors by meaning: of animals, of vehicles, of neither.
fn vectors(asked: &Asked) -> Does {
    let means = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    let of = |text: &Value| {
        let text = text.as_str().unwrap();
        json!([
            if means(text, &["cat", "feline", "kitten"]) { 2.0 } else { 0.1 },
            if means(text, &["car", "vehicle"]) { 2.0 } else { 0.1 },
            0.5
        ])
    };
    let texts = asked.body["input"].as_array().unwrap();
    let data = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"index": index, "embedding": of(text)}));
    let data: Vec<Value> = data.collect();
    let body = json!({"data": data, "usage": {"prompt_tokens": texts.len()}});
    Does::Answer(200, vec![], body.to_string())
}

fn with_embedder(setup: ServerSetup, embedder: &FakeLm) -> ServerSetup {
    setup
        .env("DSRS_MODELS__VECTORS__MODEL", "embed-1")
        .env("DSRS_MODELS__VECTORS__EMBEDDING", "true")
        .env("DSRS_MODELS__VECTORS__BASE_URL", &embedder.url)
        .env("DSRS_MODELS__FAST__MODEL", "fast-1")
}

async fn embedder() -> Arc<FakeLm> {
    FakeLm::by(|_, asked| vectors(asked)).await
}

/// Pages about animals and vehicles, and as many about nothing.
fn pages(count: usize) -> Value {
    let about = |number: usize| match number {
        0 => "A kitten sleeps on the sofa.".to_owned(),
        1 => "The vehicle needs new tyres.".to_owned(),
        number => format!("Page number {number} says nothing."),
    };
    let page = |number| json!({"id": format!("p{number}"), "inputs": {"text": about(number)}});
    (0..count).map(page).collect()
}

async fn index(api: &Remote, count: usize) {
    api.post("/v1/datasets", json!({"name": "pages", "examples": pages(count)})).await.expect(201);
    let body = json!({"name": "docs", "dataset": "pages", "model": "vectors"});
    api.post("/v1/indexes", body).await.expect(202);
}

async fn built(api: &Remote) -> Value {
    let ended = |answer: &Answer| answer.json()["build"]["finished_at"].is_string();
    api.until("/v1/indexes/docs", ended).await.expect(200).json()
}

async fn best(api: &Remote, body: Value) -> Vec<String> {
    let found = api.post("/v1/indexes/docs/search", body).await.expect(200).json();
    let passages = found["passages"].as_array().unwrap().clone();
    passages.iter().map(|passage| text(passage, "id").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn passages_are_found_by_their_meaning_and_an_unchanged_one_is_embedded_once() {
    let lm = FakeLm::doing([Does::Say(sections([("answer", "on the sofa")]))]).await;
    let embedder = embedder().await;
    let server = with_embedder(on(&test_database().await, &lm), &embedder).start();
    let api = Remote::new(&server.url);
    index(&api, 20).await;
    let index = built(&api).await;
    assert_eq!(index["build"]["status"], "succeeded", "{index}");
    assert_eq!((&index["build"]["requests"], &index["build"]["tokens"]), (&json!(1), &json!(20)));
    assert_eq!(best(&api, json!({"query": "where is the cat?", "k": 1})).await, ["p0"]);
    assert!(best(&api, json!({"query": "feline", "ranking": "text"})).await.is_empty());
    let both = best(&api, json!({"query": "a car with 7", "k": 2})).await;
    assert_eq!(both, ["p7", "p1"], "the first of both orders");

    let graph = json!({"name": "rag", "inputs": {"question": "str"}, "nodes": {
        "find": {"strategy": "call", "config": {
            "tool": {"builtin": "search", "index": "docs", "k": 1, "ranking": "vector"}, "select": "[*].text"}},
        "answer": {"strategy": "predict", "signature": "passages: list[str], question -> answer"}},
        "edges": [{"from": "input.question", "to": "find.query"},
            {"from": "find.result", "to": "answer.passages"}, {"from": "input.question", "to": "answer.question"}]});
    api.post("/v1/graphs", graph).await.expect(201);
    let body = json!({"inputs": {"question": "Where is the cat?"}, "trace": true});
    let run = api.post("/v1/graphs/rag/execute", body).await.expect(200).json();
    assert!(lm.asked()[0].text().contains("A kitten sleeps on the sofa."));
    assert_eq!(run["usage"]["lm_calls"], 2, "the vector of the query is paid by the run: {run}");
    let kinds: Vec<&str> =
        run["trace"]["spans"].as_array().unwrap().iter().map(|span| text(span, "kind")).collect();
    assert!(kinds.contains(&"embedding"), "{kinds:?}");

    let before = embedder.asked().len();
    let mut changed = pages(20);
    changed[1]["inputs"]["text"] = json!("The car is sold.");
    api.put("/v1/datasets/pages", json!({"examples": changed})).await.expect(200);
    api.post("/v1/indexes/docs/builds", json!({})).await.expect(202);
    let again = built(&api).await;
    assert_eq!((&again["version"], &again["passages"]), (&json!(2), &json!(20)), "{again}");
    let asked = embedder.asked();
    assert_eq!(asked[before..].len(), 1);
    assert_eq!(asked[before].body["input"], json!(["The car is sold."]));
    assert_eq!(best(&api, json!({"query": "vehicle", "k": 1, "ranking": "vector"})).await, ["p1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_continues_a_build_behind_its_last_segment() {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = FakeLm::doing([Does::Say(String::new())]).await;
    // 4,000 passages are one segment of 16 requests; the next one waits.
    let embedder = {
        let gate = gate.clone();
        FakeLm::by(move |number, asked| match number < 16 {
            true => vectors(asked),
            false => Does::StallUntil(gate.clone()),
        })
    };
    let embedder = embedder.await;
    let setup = with_embedder(leased(on(&database, &lm), &database, "worker").await, &embedder);
    let killed = setup.start();
    let api = Remote::new(&killed.url);
    index(&api, 4500).await;
    embedder.arrived(17).await;
    let half = api.get("/v1/indexes/docs").await.expect(200).json();
    assert_eq!((&half["build"]["done"], &half["passages"]), (&json!(4000), &json!(0)), "{half}");
    killed.kill();
    expire_leases(&database, "worker").await;
    gate.open();
    let embedder = self::embedder().await;
    let next =
        with_embedder(leased(on(&database, &lm), &database, "worker").await, &embedder).start();
    let api = Remote::new(&next.url);
    let index = built(&api).await;
    assert_eq!(
        (text(&index["build"], "status"), &index["passages"]),
        ("succeeded", &json!(4500)),
        "{index}"
    );
    let again: usize =
        embedder.asked().iter().map(|asked| asked.body["input"].as_array().unwrap().len()).sum();
    assert_eq!(again, 500, "only what was not stored is embedded again");
    assert_eq!(best(&api, json!({"query": "cat", "k": 1, "ranking": "vector"})).await, ["p0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_its_model_refuses_fails_and_the_build_before_answers() {
    let lm = FakeLm::doing([Does::Say(String::new())]).await;
    let embedder = FakeLm::by(|number, asked| match number {
        0 => vectors(asked),
        _ => Does::Answer(400, vec![], json!({"error": {"message": "no such model"}}).to_string()),
    });
    let embedder = embedder.await;
    let server = with_embedder(on(&test_database().await, &lm), &embedder).start();
    let api = Remote::new(&server.url);
    index(&api, 20).await;
    built(&api).await;
    api.put("/v1/datasets/pages", json!({"examples": pages(21)})).await.expect(200);
    api.post("/v1/indexes/docs/builds", json!({})).await.expect(202);
    let failed = built(&api).await;
    assert_eq!(text(&failed["build"], "status"), "failed");
    let detail = text(&failed["build"]["error"], "detail");
    assert!(detail.contains("`vectors` failed") && detail.contains("no such model"), "{detail}");
    assert_eq!((&failed["version"], &failed["passages"]), (&json!(1), &json!(20)));
    assert_eq!(
        best(&api, json!({"query": "page number 7", "k": 1, "ranking": "text"})).await,
        ["p7"]
    );
}
