//! The rules that apply to every route: keys, bodies, request ids, problems.

use reqwest::Method;
use serde_json::json;

use crate::Api;
use dsrs_test::support_reply;

#[tokio::test(flavor = "multi_thread")]
async fn with_keys_every_api_route_requires_one() {
    let api = Api::with_settings(&[("DSRS_API_KEYS", "alpha,beta")]).await;
    for path in ["/v1/graphs", "/v1/nowhere", "/metrics"] {
        let refused = api.get(path).await.expect(401);
        assert_eq!(refused.code(), "unauthenticated");
        assert_eq!(refused.header("www-authenticate"), "Bearer");
    }
    let known = [("authorization", "Bearer beta")];
    api.send(Method::GET, "/v1/graphs", &known, None).await.expect(200);
    api.send(Method::GET, "/metrics", &known, None).await.expect(200);
    for open in ["/healthz", "/readyz", "/openapi.json", "/docs/"] {
        api.get(open).await.expect(200);
    }
    assert_eq!(api.get("/docs").await.expect(303).header("location"), "/docs/");
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_bodies_are_problems() {
    let api = Api::with_settings(&[("DSRS_LIMITS_BODY_BYTES", "2000")]).await;
    let post = |headers: &'static [(&str, &str)], body: String| {
        let api = &api;
        async move { api.send(Method::POST, "/v1/graphs", headers, Some(body)).await }
    };
    let wrong = post(&[("content-type", "text/plain")], "{}".to_owned()).await.expect(415);
    assert_eq!(wrong.code(), "unsupported_media_type");
    let wrong = post(&[], "{\n \"name\": nope}".to_owned()).await.expect(400);
    assert_eq!(wrong.code(), "invalid_json");
    assert!(wrong.json()["detail"].as_str().unwrap().contains("line 2"));
    let wrong = post(&[], "[".repeat(1000)).await.expect(400);
    assert_eq!(wrong.code(), "invalid_json");
    let wrong = post(&[], " ".repeat(3_000_000)).await.expect(413);
    assert_eq!(wrong.code(), "too_large");
    post(&[], support_reply().to_string()).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_id_is_in_the_answer_and_in_problems() {
    let api = Api::new().await;
    let own = [("x-request-id", "mine-1")];
    let answer = api.send(Method::GET, "/v1/runs/x", &own, None).await.expect(400);
    assert_eq!(answer.header("x-request-id"), "mine-1");
    assert_eq!(answer.json()["request_id"], "mine-1");
    assert_eq!(api.get("/healthz").await.header("x-request-id").len(), 36);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_routes_and_methods_are_problems() {
    let api = Api::new().await;
    assert_eq!(api.get("/nowhere").await.expect(404).code(), "not_found");
    let wrong = api.delete("/v1/graphs").await.expect(405);
    assert_eq!(wrong.code(), "method_not_allowed");
    assert!(wrong.header("allow").contains("POST"), "{}", wrong.header("allow"));
    let options = api.send(Method::OPTIONS, "/v1/graphs", &[], None).await.expect(204);
    assert!(options.header("allow").contains("GET"));
    let head = api.send(Method::HEAD, "/v1/strategies", &[], None).await.expect(200);
    assert_eq!((head.text.as_str(), head.header("content-type")), ("", "application/json"));
    assert_eq!(api.get("/v1/strategies/predict?x=1").await.expect(400).code(), "invalid_parameter");
    assert_eq!(api.get("/v1/graphs/%ff").await.expect(400).code(), "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_u0000_is_not_found() {
    let api = Api::new().await;
    let key = [("idempotency-key", "zero")];
    let body = || Some(json!({"inputs": {}}).to_string());
    for end in ["", "/state", "/versions", "/predictors/a%00"] {
        let missing = api.get(&format!("/v1/graphs/a%00b{end}")).await.expect(404);
        assert_eq!(missing.code(), "not_found", "{end}");
    }
    api.delete("/v1/graphs/a%00b").await.expect(404);
    api.put("/v1/graphs/a%00b", support_reply()).await.expect(404);
    let execute = "/v1/graphs/a%00b/execute";
    let missing = api.send(Method::POST, execute, &key, body()).await.expect(404);
    let again = api.send(Method::POST, execute, &key, body()).await.expect(404);
    assert_eq!((again.header("idempotent-replayed"), &again.text), ("true", &missing.text));
    let refused = api.get("/v1/runs?graph=a%00b").await.expect(400);
    assert_eq!(refused.code(), "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_runs_are_counted() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let body = json!({"inputs": {"ticket": "?"}});
    api.post("/v1/graphs/support-reply/execute", body).await.expect(200);
    let metrics = api.get("/metrics").await.expect(200).text;
    for line in [
        r#"dsrs_http_requests_total{route="/v1/graphs",method="POST",status="201"} 1"#,
        r#"dsrs_runs_total{graph="support-reply",outcome="succeeded"} 1"#,
        r#"dsrs_lm_requests_total{alias="default",graph="support-reply"} 2"#,
        r#"dsrs_queue_jobs{kind="run"} 0"#,
        "dsrs_recorder_runs_total 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_member_is_reported_with_all_other_problems() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let graph = r#"{"name": "g", "name": "g", "nmae": 1, "nodes": {"a": {"strategy": "predct", "signature": "x -> y"}}}"#;
    let state = r#"{"predictors": {}, "predictors": {"triag": {}}}"#;
    let execute = r#"{"inputs": {"ticket": "a", "ticket": 1}, "inptus": 2}"#;
    let render = r#"{"node": "triag", "node": "triag", "inputs": {}}"#;
    let preview = r#"{"signature": "x -> y", "signature": "x ->", "cnfig": 1}"#;
    let assignable = r#"{"from": "nope", "to": "str", "to": "strr"}"#;
    let support = "/v1/graphs/support-reply";
    for (method, path, body, code, errors) in [
        (
            Method::POST,
            "/v1/graphs",
            graph,
            "invalid_graph",
            &["/name", "/nmae", "/nodes/a/strategy"][..],
        ),
        (
            Method::POST,
            "/v1/graphs/validate",
            graph,
            "invalid_graph",
            &["/name", "/nmae", "/nodes/a/strategy"],
        ),
        (
            Method::PUT,
            support,
            graph,
            "name_mismatch",
            &["/name", "/name", "/nmae", "/nodes/a/strategy"],
        ),
        (
            Method::PUT,
            &format!("{support}/state"),
            state,
            "invalid_state",
            &["/predictors", "/predictors/triag"],
        ),
        (
            Method::POST,
            &format!("{support}/execute"),
            execute,
            "invalid_input",
            &["/inputs/ticket", "/inptus", "/inputs/ticket"],
        ),
        (Method::POST, &format!("{support}/render"), render, "invalid_input", &["/node", "/node"]),
        (
            Method::POST,
            "/v1/strategies/predict/preview",
            preview,
            "invalid_request",
            &["/signature", "/signature", "/cnfig"],
        ),
        (
            Method::POST,
            "/v1/types/assignable",
            assignable,
            "invalid_request",
            &["/to", "/from", "/to"],
        ),
    ] {
        let refused = api.send(method, path, &[], Some(body.to_owned())).await.expect(422);
        let errors_found = refused.errors();
        let pointers: Vec<&str> =
            errors_found.iter().map(|e| e.split(' ').next().unwrap()).collect();
        assert_eq!((refused.code().as_str(), pointers.as_slice()), (code, errors), "{path}");
        assert!(errors_found[0].ends_with(" duplicate_name"), "{path}: {errors_found:?}");
    }
    assert_eq!(api.get("/v1/runs").await.json()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_member_makes_a_body_an_invalid_request() {
    let api = Api::new().await;
    let mut graph = support_reply().to_string();
    graph.insert_str(1, "\"name\": \"support-reply\", ");
    let refused = api.post("/v1/graphs", graph).await.expect(422);
    assert_eq!(
        (refused.code().as_str(), refused.errors()),
        ("invalid_request", vec!["/name duplicate_name".to_owned()])
    );
}
