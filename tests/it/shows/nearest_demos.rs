//! A state whose demos are selected for each call with an embedding model.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{on, one_node};
use dsrs_test::{Answer, Does, FakeLm, Remote, Server, sections, test_database};

const STATE: &str = "/v1/graphs/q/state";

/// The vectors [1, 0], [0, 1] and [1, 1].
const THREE: &str = "AACAPwAAAAAAAAAAAACAPwAAgD8AAIA/";
/// The first two of them.
const TWO: &str = "AACAPwAAAAAAAAAAAACAPw==";

fn demo(question: &str, score: f64) -> Value {
    json!({"input": {"question": question}, "output": {"score": score}})
}

fn nearest(model: &str, vectors: &str) -> Value {
    json!({"model": model, "k": 2, "dimensions": 2, "vectors": vectors})
}

/// Every call is shown the two nearest of three demos.
fn state() -> Value {
    let demos = json!([demo("far off", 0.25), demo("opposite", 0.5), demo("between", 0.75)]);
    json!({"predictors": {"ask": {"demos": demos, "nearest": nearest("vectors", THREE)}}})
}

/// A server with the graph `q`, an LM that says 0.5, and an embedding model that does this.
async fn started(embeds: Does) -> (Server, Remote, Arc<FakeLm>, Arc<FakeLm>) {
    let lm = FakeLm::doing([Does::Say(sections([("score", "0.5")]))]).await;
    let vectors = FakeLm::doing([embeds]).await;
    let setup = on(&test_database().await, &lm)
        .env("DSRS_MODELS__VECTORS__MODEL", "embed-1")
        .env("DSRS_MODELS__VECTORS__EMBEDDING", "true")
        .env("DSRS_MODELS__VECTORS__BASE_URL", &vectors.url)
        .env("DSRS_MODELS__FAST__MODEL", "fast-1");
    let server = setup.start();
    let api = Remote::new(&server.url);
    let graph = one_node("q", "question -> score: float", json!({"retries": 0}));
    api.post("/v1/graphs", graph).await.expect(201);
    (server, api, lm, vectors)
}

/// An embedding model for which everything means nearly [1, 0].
fn embeds() -> Does {
    let body = json!({
        "data": [{"index": 0, "embedding": [0.9, 0.1]}], "usage": {"prompt_tokens": 4}
    });
    Does::Answer(200, vec![], body.to_string())
}

async fn execute(api: &Remote) -> Answer {
    let body = json!({"inputs": {"question": "near what?"}, "trace": true});
    api.post("/v1/graphs/q/execute", body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_has_the_nearest_demos_and_the_trace_names_them() {
    let (_server, api, lm, vectors) = started(embeds()).await;
    let put = api.put(STATE, state()).await.expect(200).json();
    let read = api.get(STATE).await.expect(200).json();
    assert_eq!(read, put);
    assert_eq!(read["predictors"]["ask"]["nearest"], nearest("vectors", THREE));
    let one = api.get("/v1/graphs/q/predictors/ask").await.expect(200).json();
    assert_eq!(one["nearest"], nearest("vectors", THREE));
    let same = api.put(STATE, json!({"predictors": read["predictors"]})).await.expect(200);
    assert_eq!(same.json()["version"], 2, "what was read can be put back");

    let run = execute(&api).await.expect(200).json();
    assert_eq!(run["outputs"]["score"], 0.5);
    assert_eq!(vectors.asked()[0].body["input"], json!(["question: near what?"]));
    let said = lm.asked()[0].body["messages"].as_array().unwrap().clone();
    let shown: Vec<&str> = said
        .iter()
        .filter(|said| said["role"] == "user")
        .map(|said| said["content"].as_str().unwrap().lines().nth(1).unwrap())
        .collect();
    assert_eq!(shown, ["between", "far off", "near what?"]);
    let spans = run["trace"]["spans"].as_array().unwrap();
    let kinds: Vec<_> = spans.iter().map(|span| span["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["node", "predictor", "embedding", "lm"]);
    let embedding = &spans[2];
    assert_eq!(
        (&embedding["name"], &embedding["predictor"], &embedding["inputs"]),
        (&json!("embed-1"), &json!("ask"), &json!({"text": "question: near what?"}))
    );
    assert_eq!(
        embedding["outputs"]["nearest"],
        json!([{"demo": 2, "likeness": 0.7809}, {"demo": 0, "likeness": 0.9939}])
    );
    assert_eq!(embedding["usage"]["input_tokens"], 4);
    assert_eq!(run["usage"]["lm_calls"], 2);

    let id = run["id"].as_str().unwrap();
    let path = format!("/v1/runs/{id}?include=provenance");
    let score = api.get(&path).await.expect(200).json()["provenance"]["outputs"]["score"].clone();
    assert_eq!(score["parameters"].as_array().unwrap().len(), 1, "{score}");
    assert_eq!(score["lm_calls"], json!([4]), "{score}");
    let diff = api.get(&format!("{STATE}/versions/2/diff")).await.expect(200).json();
    let after = &diff["predictors"]["ask"]["nearest"]["after"];
    assert_eq!((&after["model"], &after["demos"]), (&json!("vectors"), &json!(3)), "{diff}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_whose_vectors_do_not_fit_is_refused() {
    let (_server, api, _, vectors) = started(embeds()).await;
    for (given, error) in [
        (nearest("vectors", TWO), "/predictors/ask/nearest/vectors invalid_value"),
        (nearest("fast", THREE), "/predictors/ask/nearest/model unknown_model"),
        (nearest("vectors", "?"), "/predictors/ask/nearest/vectors invalid_value"),
    ] {
        let mut wanted = state();
        wanted["predictors"]["ask"]["nearest"] = given;
        let refused = api.put(STATE, wanted).await.expect(422);
        assert_eq!(refused.errors(), [error]);
    }
    api.put(STATE, state()).await.expect(200);
    let predictor = "/v1/graphs/q/predictors/ask";
    let demos = json!([demo("another", 0.5), demo("one more", 0.5)]);
    let refused = api.patch(predictor, json!({"demos": demos})).await.expect(422);
    assert_eq!(refused.errors(), ["/nearest missing_field"]);
    let both = json!({"demos": demos, "nearest": nearest("vectors", TWO)});
    api.patch(predictor, both).await.expect(200);
    let all = api.patch(predictor, json!({"nearest": null})).await.expect(200).json();
    assert_eq!((all["demos"].as_array().unwrap().len(), all.get("nearest")), (2, None));
    execute(&api).await.expect(200);
    assert!(vectors.asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_fails_with_its_embedding_model_by_name() {
    let (_server, api, lm, _) = started(Does::Answer(401, vec![], "{}".to_owned())).await;
    api.put(STATE, state()).await.expect(200);
    let failed = execute(&api).await;
    assert_eq!(failed.code(), "lm_error", "{}", failed.text);
    assert!(failed.text.contains("the embedding model `vectors` failed: "), "{}", failed.text);
    assert!(lm.asked().is_empty());
}
