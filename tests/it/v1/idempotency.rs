//! `Idempotency-Key`: repeats receive the first answer.

use dsrs::lm::{LmErrorKind, ScriptedAnswer, ScriptedLm};
use reqwest::Method;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

use crate::support::{Api, friendly_lm, one_node, support_reply, test_database};

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
    let slow = ScriptedAnswer::from("[[ ## answer ## ]]\nslow\n\n[[ ## completed ## ]]")
        .after(Duration::from_millis(700));
    let api = Api::with_lm(ScriptedLm::always(slow)).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let ask = || {
        let body = Some(json!({"inputs": {"question": "?"}}).to_string());
        api.send(Method::POST, "/v1/graphs/q/execute", &KEY, body)
    };
    assert!(tokio::time::timeout(Duration::from_millis(300), ask()).await.is_err());
    let early = ask().await.expect(409);
    assert_eq!(early.code(), "idempotency_in_progress");
    let found = async {
        loop {
            let answer = ask().await;
            if answer.status != 409 {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(30), found).await.unwrap().expect(200);
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
