//! Several models behind one server: fallbacks, cached replies and limits of concurrent requests.

use std::time::Duration;

use serde_json::{Value, json};

use super::{on, one_node, text};
use dsrs_test::{Does, FakeLm, Gate, Remote, ServerSetup, sections, test_database};

fn score() -> Does {
    Does::Say(sections([("score", "0.5")]))
}

/// Runs the graph `q` once; returns the run with its trace.
async fn execute(api: &Remote) -> Value {
    let body = json!({"inputs": {"question": "?"}, "trace": true});
    api.post("/v1/graphs/q/execute", body).await.expect(200).json()
}

/// The spans of the requests of a run.
fn requests(run: &Value) -> Vec<Value> {
    let spans = run["trace"]["spans"].as_array().unwrap().iter();
    spans.filter(|span| span["kind"] == "lm").cloned().collect()
}

async fn started(setup: ServerSetup) -> (impl Sized, Remote) {
    let server = setup.start();
    let api = Remote::new(&server.url);
    let graph = one_node("q", "question -> score: float", json!({"retries": 0}));
    api.post("/v1/graphs", graph).await.expect(201);
    (server, api)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unavailable_model_is_replaced_by_its_fallback() {
    let down = FakeLm::doing([Does::Answer(503, vec![], "{}".to_owned())]).await;
    let good = FakeLm::doing([score()]).await;
    let setup = on(&test_database().await, &down)
        .env("DSRS_MODELS__BIG__MODEL", "big-1")
        .env("DSRS_MODELS__BIG__FALLBACK", "small")
        .env("DSRS_MODELS__SMALL__MODEL", "small-1")
        .env("DSRS_MODELS__SMALL__BASE_URL", &good.url)
        .env("DSRS_DEFAULT_MODEL", "big");
    let (_server, api) = started(setup).await;
    let run = execute(&api).await;
    assert_eq!(run["outputs"]["score"], 0.5);
    let requested: Vec<_> = requests(&run)
        .iter()
        .map(|span| format!("{} {}", text(span, "model"), text(span, "status")))
        .collect();
    assert_eq!(requested[0], "big-1 failed");
    assert!(requested[1].ends_with(" succeeded") && requested.len() == 2, "{requested:?}");
    assert_eq!(good.asked()[0].body["model"], "small-1");
    let models = api.get("/v1/models").await.expect(200).json();
    assert_eq!(models["items"][0]["fallback"], json!(["small"]));
    assert_eq!(models["items"][1]["fallback"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_requested_through_the_proxy_of_the_environment() {
    let proxy = FakeLm::doing([score()]).await;
    let setup = ServerSetup::new()
        .database(&test_database().await)
        .env("OPENAI_BASE_URL", "http://model.invalid/v1")
        .env("HTTP_PROXY", proxy.url.trim_end_matches("/v1"));
    let (_server, api) = started(setup).await;
    assert_eq!(execute(&api).await["outputs"]["score"], 0.5);
    assert_eq!(proxy.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedding_model_is_listed_and_cannot_answer() {
    let lm = FakeLm::doing([score()]).await;
    let setup = on(&test_database().await, &lm)
        .env("DSRS_MODELS__VECTORS__MODEL", "embed-1")
        .env("DSRS_MODELS__VECTORS__EMBEDDING", "true")
        .env("DSRS_MODELS__FAST__MODEL", "fast-1");
    let server = setup.start();
    let api = Remote::new(&server.url);
    let models = api.get("/v1/models").await.expect(200).json();
    let of = |alias: &str| {
        let found = models["items"].as_array().unwrap().iter().find(|item| item["name"] == alias);
        found.map(|found| (found["capabilities"].clone(), found["default"].clone()))
    };
    assert_eq!(of("vectors"), Some((json!(["embeddings"]), json!(false))));
    assert_eq!(of("fast"), Some((json!([]), json!(true))));

    let graph = one_node("q", "question -> score: float", json!({"lm": {"model": "vectors"}}));
    api.post("/v1/graphs", graph).await.expect(201);
    let refused = api.post("/v1/graphs/q/execute", json!({"inputs": {"question": "?"}})).await;
    assert!(refused.text.contains("`vectors` is an embedding model"), "{}", refused.text);
    assert_eq!(lm.asked().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_cache_an_equal_request_is_not_sent_again() {
    let lm = FakeLm::doing([score()]).await;
    let setup = on(&test_database().await, &lm)
        .env("DSRS_MODELS__FAST__MODEL", "fast-1")
        .env("DSRS_MODELS__FAST__CACHE_BYTES", "1MiB")
        .env("DSRS_MODELS__FAST__INPUT_PRICE", "1")
        .env("DSRS_MODELS__FAST__OUTPUT_PRICE", "1");
    let (_server, api) = started(setup).await;
    let (first, again) = (execute(&api).await, execute(&api).await);
    assert_eq!((first["usage"]["lm_calls"].clone(), lm.asked().len()), (json!(1), 1));
    assert_eq!(again["outputs"], first["outputs"]);
    assert_eq!(again["usage"]["lm_calls"], 0);
    assert_eq!(
        (&again["usage"]["input_tokens"], &again["usage"]["cost"]),
        (&json!(0), &json!(0.0))
    );
    let (sent, cached) = (&requests(&first)[0], &requests(&again)[0]);
    assert_eq!((sent.get("cached"), &cached["cached"]), (None, &json!(true)));
    assert_eq!(cached["raw"], sent["raw"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_limit_requests_in_flight() {
    let gate = Gate::new();
    let held = Does::Hold(gate.clone(), sections([("score", "0.5")]));
    let lm = FakeLm::doing([held, score()]).await;
    let setup = on(&test_database().await, &lm).env("DSRS_LIMITS_MAX_CONCURRENT_LM_REQUESTS", "1");
    let (_server, api) = started(setup).await;
    let node = json!({"strategy": "predict", "signature": "question -> score: float"});
    let to = |node: &str| json!({"from": "input.question", "to": format!("{node}.question")});
    let both = json!({
        "name": "both", "inputs": {"question": "str"}, "nodes": {"one": node, "two": node},
        "edges": [to("one"), to("two")], "outputs": {"one": "one.score", "two": "two.score"}
    });
    api.post("/v1/graphs", both).await.expect(201);
    let opened = async {
        lm.arrived(1).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(lm.asked().len(), 1, "the other waits for its turn");
        gate.open();
    };
    let body = json!({"inputs": {"question": "?"}, "trace": true});
    let (run, ()) = tokio::join!(api.post("/v1/graphs/both/execute", body), opened);
    let sent = requests(&run.expect(200).json());
    let waits: Vec<_> = sent.iter().map(|span| span["queued_ms"].as_u64()).collect();
    // The span of a request begins when it is sent.
    assert!(waits[0].is_none() && waits[1].is_some_and(|waited| waited >= 50), "{waits:?}");
}

#[cfg(feature = "genai")]
#[tokio::test(flavor = "multi_thread")]
async fn a_model_of_another_provider_uses_its_protocol() {
    let said = sections([("score", "0.5")]);
    let answer = json!({
        "id": "m1", "type": "message", "role": "assistant", "model": "claude-7",
        "content": [{"type": "text", "text": said}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 2}
    });
    let lm = FakeLm::doing([Does::Answer(200, vec![], answer.to_string())]).await;
    let setup = ServerSetup::new()
        .database(&test_database().await)
        .env("DSRS_MODELS__CLAUDE__PROVIDER", "anthropic")
        .env("DSRS_MODELS__CLAUDE__MODEL", "claude-latest")
        .env("DSRS_MODELS__CLAUDE__BASE_URL", &lm.url)
        .env("DSRS_MODELS__CLAUDE__API_KEY", "k");
    let (_server, api) = started(setup).await;
    let run = execute(&api).await;
    assert_eq!((&run["outputs"]["score"], &run["usage"]["input_tokens"]), (&json!(0.5), &json!(9)));
    assert_eq!(text(&requests(&run)[0], "model"), "claude-7");
    let asked = &lm.asked()[0].body;
    assert!(asked["system"].is_string() || asked["system"].is_array(), "{asked}");
    let models = api.get("/v1/models").await.expect(200).json();
    assert_eq!(models["items"][0]["provider"], "anthropic");
}
