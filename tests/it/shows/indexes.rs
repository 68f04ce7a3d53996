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
    // One request more for the length of the vectors.
    assert_eq!((&index["build"]["requests"], &index["build"]["tokens"]), (&json!(2), &json!(21)));
    assert_eq!(best(&api, json!({"query": "where is the cat?", "k": 1})).await, ["p0"]);
    assert!(best(&api, json!({"query": "feline", "ranking": "text"})).await.is_empty());
    let both = best(&api, json!({"query": "a car with 7", "k": 2})).await;
    assert_eq!(both, ["p1", "p7"], "the first of both orders, which count the same");

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
    let inputs: Vec<&Value> = asked[before..].iter().map(|asked| &asked.body["input"]).collect();
    assert_eq!(inputs, [&json!(["passage"]), &json!(["The car is sold."])]);
    assert_eq!(best(&api, json!({"query": "vehicle", "k": 1, "ranking": "vector"})).await, ["p1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_continues_a_build_behind_its_last_segment() {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = FakeLm::doing([Does::Say(String::new())]).await;
    // The length of the vectors, then 4,000 passages in 16 requests, which are one segment; the next request waits.
    let embedder = {
        let gate = gate.clone();
        FakeLm::by(move |number, asked| match number < 17 {
            true => vectors(asked),
            false => Does::StallUntil(gate.clone()),
        })
    };
    let embedder = embedder.await;
    let setup = with_embedder(leased(on(&database, &lm), &database, "worker").await, &embedder);
    let killed = setup.start();
    let api = Remote::new(&killed.url);
    index(&api, 4500).await;
    embedder.arrived(18).await;
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
    assert_eq!(again, 501, "only what was not stored is embedded again");
    assert_eq!(best(&api, json!({"query": "cat", "k": 1, "ranking": "vector"})).await, ["p0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_its_model_refuses_fails_and_the_build_before_answers() {
    let lm = FakeLm::doing([Does::Say(String::new())]).await;
    let embedder = FakeLm::by(|number, asked| match number {
        0 | 1 => vectors(asked),
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

/// Vectors of so many equal numbers.
fn flat(asked: &Asked, length: usize) -> Does {
    let texts = asked.body["input"].as_array().unwrap().len();
    let data: Vec<Value> =
        (0..texts).map(|index| json!({"index": index, "embedding": vec![0.5; length]})).collect();
    Does::Answer(200, vec![], json!({"data": data, "usage": {"prompt_tokens": 1}}).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn passages_of_one_score_are_in_the_order_of_their_ids_by_words_and_by_vectors() {
    let lm = FakeLm::doing([Does::Say(String::new())]).await;
    let embedder = FakeLm::by(|_, asked| flat(asked, 4)).await;
    let server = with_embedder(on(&test_database().await, &lm), &embedder).start();
    let api = Remote::new(&server.url);
    let page =
        |n: usize| json!({"id": format!("z{:02}", 29 - n), "inputs": {"text": "the same needle"}});
    let examples: Vec<Value> = (0..30).map(page).collect();
    api.post("/v1/datasets", json!({"name": "pages", "examples": examples})).await.expect(201);
    let body = json!({"name": "docs", "dataset": "pages", "model": "vectors"});
    api.post("/v1/indexes", body).await.expect(202);
    built(&api).await;
    for ranking in ["text", "vector", "hybrid"] {
        let found = best(&api, json!({"query": "needle", "k": 4, "ranking": ranking})).await;
        assert_eq!(found, ["z00", "z01", "z02", "z03"], "{ranking}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_built_again_when_its_model_returns_longer_vectors() {
    let lm = FakeLm::doing([Does::Say(String::new())]).await;
    let gate = Arc::new(std::sync::atomic::AtomicUsize::new(4));
    let length = gate.clone();
    let embedder =
        FakeLm::by(move |_, asked| flat(asked, length.load(std::sync::atomic::Ordering::SeqCst)));
    let embedder = embedder.await;
    let server = with_embedder(on(&test_database().await, &lm), &embedder).start();
    let api = Remote::new(&server.url);
    index(&api, 20).await;
    built(&api).await;
    gate.store(6, std::sync::atomic::Ordering::SeqCst);
    let search = json!({"query": "kitten", "ranking": "vector"});
    let refused = api.post("/v1/indexes/docs/search", search.clone()).await.expect(422).json();
    assert!(text(&refused, "detail").contains("build the index again"), "{refused}");
    api.post("/v1/indexes/docs/builds", json!({})).await.expect(202);
    assert_eq!(text(&built(&api).await["build"], "status"), "succeeded");
    api.post("/v1/indexes/docs/search", search).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_passages_while_builds_replace_each_other() {
    let lm = FakeLm::doing([Does::Say(String::new())]).await;
    let embedder = embedder().await;
    let server = with_embedder(on(&test_database().await, &lm), &embedder).start();
    let api = Remote::new(&server.url);
    index(&api, 30).await;
    built(&api).await;
    let searching = async {
        for round in 0..60 {
            let ranking = if round % 2 == 0 { "text" } else { "vector" };
            let found = best(&api, json!({"query": "kitten", "k": 1, "ranking": ranking})).await;
            assert_eq!(found, ["p0"], "{ranking} in round {round}");
        }
    };
    let building = async {
        for round in 0..8 {
            let mut changed = pages(30);
            changed[5]["inputs"]["text"] = json!(format!("round {round}"));
            api.put("/v1/datasets/pages", json!({"examples": changed})).await.expect(200);
            api.post("/v1/indexes/docs/builds", json!({})).await.expect(202);
            built(&api).await;
        }
    };
    tokio::join!(searching, building);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_behind_the_alias_is_refused_until_the_index_is_built_again() {
    let database = test_database().await;
    let lm = FakeLm::doing([Does::Say(String::new())]).await;
    let embedder = embedder().await;
    let server = with_embedder(on(&database, &lm), &embedder).start();
    let api = Remote::new(&server.url);
    index(&api, 20).await;
    built(&api).await;
    server.stop();
    let other =
        with_embedder(on(&database, &lm), &embedder).env("DSRS_MODELS__VECTORS__MODEL", "embed-2");
    let server = other.start();
    let api = Remote::new(&server.url);
    let search = json!({"query": "kitten", "k": 1});
    let refused = api.post("/v1/indexes/docs/search", search.clone()).await.expect(422).json();
    assert!(
        text(&refused, "detail").contains("`embed-1`, and `vectors` is `embed-2` now"),
        "{refused}"
    );
    assert_eq!(best(&api, json!({"query": "kitten", "k": 1, "ranking": "text"})).await, ["p0"]);
    api.post("/v1/indexes/docs/builds", json!({})).await.expect(202);
    built(&api).await;
    assert_eq!(best(&api, search).await, ["p0"]);
}
