//! `Idempotency-Key`: repeats receive the first answer.

use dsrs::lm::{LmErrorKind, OpenAi, OpenAiConfig, ScriptedAnswer, ScriptedLm};
use reqwest::Method;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;

use crate::Api;
use dsrs_test::{Does, FakeLm, Gate, found, one_node, sections, support_reply, test_database};
use dsrs_test_api::friendly_lm;

const KEY: [(&str, &str); 1] = [("idempotency-key", "k-1")];

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_create_receives_the_complete_first_answer() {
    let api = Api::new().await;
    let body = || Some(support_reply().to_string());
    let first = api.send(Method::POST, "/v1/graphs", &KEY, body()).await.expect(201);
    assert_eq!(first.header("idempotent-replayed"), "");
    let again = api.send(Method::POST, "/v1/graphs", &KEY, body()).await.expect(201);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.text, first.text);
    for name in ["etag", "location", "content-type"] {
        assert_eq!(again.header(name), first.header(name), "{name}");
    }
    let other = Some(one_node("other", "a -> b").to_string());
    let refused = api.send(Method::POST, "/v1/graphs", &KEY, other).await.expect(422);
    assert_eq!(refused.code(), "idempotency_key_reused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_execution_runs_once() {
    let lm = Arc::new(friendly_lm());
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let ask = || {
        let body = Some(json!({"inputs": {"question": "?"}}).to_string());
        api.send(Method::POST, "/v1/graphs/q/execute", &KEY, body)
    };
    let first = ask().await.expect(200);
    assert_eq!(ask().await.expect(200).text, first.text);
    assert_eq!(lm.requests().len(), 1);
    let labelled = [KEY[0], ("x-dsrs-user-id", "u-17")];
    let body = Some(json!({"inputs": {"question": "?"}}).to_string());
    let other = api.send(Method::POST, "/v1/graphs/q/execute", &labelled, body).await.expect(422);
    assert_eq!(other.code(), "idempotency_key_reused", "labels in headers are of the request");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_stored_and_a_provider_failure_is_not() {
    let lm = ScriptedLm::answering([
        ScriptedAnswer::fail(LmErrorKind::Provider, "broken").status(500),
        ScriptedAnswer::from("[[ ## answer ## ]]\nfine\n\n[[ ## completed ## ]]"),
    ]);
    let api = Api::with_lm(lm).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let ask = |body: serde_json::Value, key: &'static str| {
        let api = &api;
        async move {
            let headers = [("idempotency-key", key)];
            api.send(Method::POST, "/v1/graphs/q/execute", &headers, Some(body.to_string())).await
        }
    };
    for (key, misfit) in [("bad", json!({"inputs": {}})), ("misshapen", json!({"input": {}}))] {
        let bad = ask(misfit.clone(), key).await.expect(422);
        let again = ask(misfit, key).await.expect(422);
        assert_eq!(
            (again.text.as_str(), again.header("idempotent-replayed")),
            (bad.text.as_str(), "true")
        );
    }
    let fine = json!({"inputs": {"question": "?"}});
    ask(fine.clone(), "fine").await.expect(502);
    ask(fine, "fine").await.expect(200);
}

fn question() -> Option<String> {
    Some(json!({"inputs": {"question": "?"}}).to_string())
}

const EXECUTE: &str = "/v1/graphs/q/execute";

/// A graph whose model answers `slow` once the gate is open.
async fn holding(settings: &[(&str, &str)]) -> (Api, Arc<FakeLm>, Gate) {
    let gate = Gate::new();
    let lm = FakeLm::doing([Does::Hold(gate.clone(), sections([("answer", "slow")]))]).await;
    let openai = OpenAi::new(OpenAiConfig::new(&*lm.url, "m")).unwrap();
    let api = Api::start(&test_database().await, Some(Arc::new(openai)), settings).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    (api, lm, gate)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_for_want_of_room_frees_its_key() {
    let (api, lm, gate) = holding(&[("DSRS_LIMITS_MAX_CONCURRENT_RUNS", "1")]).await;
    let ask = || api.send(Method::POST, EXECUTE, &KEY, question());
    let busy = async {
        lm.arrived(1).await;
        let refused = ask().await;
        gate.open();
        refused
    };
    let (first, refused) = tokio::join!(api.send(Method::POST, EXECUTE, &[], question()), busy);
    first.expect(200);
    let refused = refused.expect(429);
    assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("rate_limited", "1"));
    assert_eq!(ask().await.expect(200).header("idempotent-replayed"), "");
    assert_eq!(ask().await.expect(200).header("idempotent-replayed"), "true");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_provider_frees_the_key() {
    let lm = ScriptedLm::answering([
        ScriptedAnswer::fail(LmErrorKind::RateLimited, "busy").status(429),
        ScriptedAnswer::fail(LmErrorKind::RateLimited, "busy").status(429),
        ScriptedAnswer::from("[[ ## answer ## ]]\nfine\n\n[[ ## completed ## ]]"),
    ]);
    let api = Api::with_lm(lm).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let refused = api.send(Method::POST, EXECUTE, &KEY, question()).await.expect(429);
    assert_eq!(refused.code(), "rate_limited");
    let stream = api.stream(Method::POST, EXECUTE, &KEY, question()).await;
    assert_eq!(stream.header("idempotent-replayed"), "");
    assert_eq!(stream.rest().await.pop().unwrap().data["code"], "rate_limited");
    api.send(Method::POST, EXECUTE, &KEY, question()).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_a_client_cancels_is_the_answer_of_its_key() {
    let never = ScriptedAnswer::from("").after(Duration::from_secs(3600));
    let lm = Arc::new(ScriptedLm::always(never));
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let mut stream = api.stream(Method::POST, EXECUTE, &KEY, question()).await;
    let id = stream.next().await.unwrap().data["run_id"].as_str().unwrap().to_owned();
    // The answer does not wait for the end on a slow machine.
    api.post(&format!("/v1/runs/{id}/cancel"), "").await;
    assert_eq!(stream.rest().await.pop().unwrap().kind, "run.cancelled");
    let again = api.send(Method::POST, EXECUTE, &KEY, question()).await.expect(409);
    assert_eq!(
        (again.code().as_str(), again.header("idempotent-replayed")),
        ("run_cancelled", "true")
    );
    assert_eq!(lm.requests().len(), 1);
}

/// Text that does not compress.
fn long_text() -> String {
    (0..150).map(|number: u32| format!("{:x}", Sha256::digest(number.to_be_bytes()))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_works_with_the_longest_paths_and_queries() {
    let api = Api::new().await;
    let long = long_text();
    let path = format!("/v1/graphs/{long}/execute");
    let ask = |path: String| {
        let api = &api;
        async move { api.send(Method::POST, &path, &KEY, question()).await.expect(404) }
    };
    let first = ask(path.clone()).await;
    let again = ask(path).await;
    assert_eq!((&again.text, again.header("idempotent-replayed")), (&first.text, "true"));
    let other = ask(format!("/v1/graphs/{long}0/execute")).await;
    assert_eq!(other.header("idempotent-replayed"), "", "it is another route");

    let headers = [KEY[0], ("content-type", "application/jsonl")];
    let upload = |query: String| {
        let (api, body) = (&api, r#"{"inputs": {"a": "b"}}"#.to_owned());
        async move { api.send(Method::POST, &query, &headers, Some(body)).await }
    };
    let query = format!("/v1/datasets?name=d&description={long}");
    let first = upload(query.clone()).await.expect(201);
    let again = upload(query).await.expect(201);
    assert_eq!((&again.text, again.header("idempotent-replayed")), (&first.text, "true"));
    upload(format!("/v1/datasets?name=d&description={long}0")).await.expect(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_body_uses_its_key() {
    let api = Api::with_settings(&[("DSRS_LIMITS_BODY_BYTES", "2000")]).await;
    let (json, text) = (("content-type", "application/json"), ("content-type", "text/plain"));
    let (short, long) = ("{\"name\": ".to_owned(), " ".repeat(3000));
    for path in ["/v1/graphs", "/v1/graphs/q/execute"] {
        for (key, kind, body, status) in
            [("a", json, &short, 400), ("b", text, &short, 415), ("c", json, &long, 413)]
        {
            let headers = [("idempotency-key", key), kind];
            let send = |body: &str| {
                let (api, body) = (&api, Some(body.to_owned()));
                async move { api.send(Method::POST, path, &headers, body).await }
            };
            let first = send(body).await.expect(status);
            let again = send(body).await.expect(status);
            let replayed = again.header("idempotent-replayed");
            assert_eq!((&again.text, replayed), (&first.text, "true"), "{path} {status}");
            let other = send("{}").await.expect(422);
            assert_eq!(other.code(), "idempotency_key_reused", "{path} {status}");
        }
        let odd = format!("{path}?odd=1");
        let headers = [("idempotency-key", "d")];
        api.send(Method::POST, &odd, &headers, Some("{}".to_owned())).await.expect(400);
        let again = api.send(Method::POST, &odd, &headers, Some("{}".to_owned())).await.expect(400);
        assert_eq!(again.header("idempotent-replayed"), "true");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_during_the_first_request_is_refused_until_it_ends() {
    let (api, lm, gate) = holding(&[]).await;
    let ask = || api.send(Method::POST, EXECUTE, &KEY, question());
    // The client of the first request leaves.
    tokio::select! {
        _ = ask() => panic!("the model answers nothing yet"),
        () = lm.arrived(1) => {}
    }
    let early = ask().await.expect(409);
    assert_eq!(early.code(), "idempotency_in_progress");
    gate.open();
    let answer = found("the first answer", async || Some(ask().await).filter(|a| a.status != 409));
    let answer = answer.await.expect(200);
    assert_eq!(answer.header("idempotent-replayed"), "true");
    assert_eq!(answer.json()["outputs"]["answer"], "slow");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_key_is_refused() {
    let api = Api::new().await;
    for odd in ["", "two words", &"k".repeat(256)] {
        let body = Some(support_reply().to_string());
        let headers = [("idempotency-key", odd)];
        let refused = api.send(Method::POST, "/v1/graphs", &headers, body).await.expect(400);
        assert_eq!(refused.code(), "invalid_parameter");
    }
}
