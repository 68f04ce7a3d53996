//! `/v1/graphs/{graph}/execute`: the outcomes of runs, and their records.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{LmErrorKind, ScriptedAnswer, ScriptedLm};
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{holds, one_node, support_reply, test_database};
use dsrs_test_api::friendly_lm;

const EXECUTE: &str = "/v1/graphs/support-reply/execute";

fn ticket() -> Value {
    json!({"inputs": {"ticket": "Where is it?"}})
}

/// Executes `ask` with this LM and reads the record.
async fn failure(lm: ScriptedLm, body: Value) -> (dsrs_test::Answer, Value) {
    let api = Api::with_lm(lm).await;
    api.post("/v1/graphs", one_node("q", "question -> score: float")).await.expect(201);
    let answer = api.post("/v1/graphs/q/execute", body).await;
    let id = answer.json()["run_id"].as_str().unwrap().to_owned();
    let run = api.get(&format!("/v1/runs/{id}")).await.expect(200).json();
    assert_eq!(run["error"], answer.json(), "the record has the problem that was answered");
    (answer, run)
}

fn question() -> Value {
    json!({"inputs": {"question": "?"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_and_the_record_of_a_run_are_equal() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let mut body = ticket();
    body["trace"] = json!(true);
    let run = api.post(EXECUTE, body).await.expect(200).json();
    assert_eq!(run["status"], "succeeded");
    assert_eq!(run["outputs"], json!({"answer": "Dear customer", "mood": "calm"}));
    assert_eq!(run["usage"]["lm_calls"], 2);
    assert_eq!(run["nodes"]["triage"]["outputs"]["topics"], json!(["parcel"]));
    let kinds: Vec<_> =
        run["trace"]["spans"].as_array().unwrap().iter().map(|s| s["kind"].clone()).collect();
    assert_eq!(kinds, ["node", "predictor", "lm", "node", "predictor", "lm"]);
    assert_eq!(run["trace"]["spans"][4]["predictor"], "reply.predict");
    let mut recorded = run.clone();
    recorded.as_object_mut().unwrap().remove("run_id").unwrap();
    let path = format!("/v1/runs/{}", run["run_id"].as_str().unwrap());
    let mut found = api.get(&path).await.expect(200).json();
    found.as_object_mut().unwrap().remove("feedback").unwrap();
    assert_eq!(found, recorded);
    let plain = api.post(EXECUTE, ticket()).await.expect(200).json();
    assert!(plain.get("trace").is_none(), "{plain}");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_inputs_are_refused_with_pointers_and_start_no_run() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let refused = api.post(EXECUTE, json!({"inputs": {"tickt": 1}})).await.expect(422);
    assert_eq!(refused.code(), "invalid_input");
    let errors = refused.errors();
    assert!(errors.contains(&"/inputs/tickt unknown_field".to_owned()), "{errors:?}");
    assert!(errors.contains(&"/inputs/ticket missing_field".to_owned()), "{errors:?}");
    let refused = api.post(EXECUTE, json!({"inputs": {"ticket": 1}})).await.expect(422);
    assert_eq!(refused.errors(), ["/inputs/ticket wrong_type"]);
    let refused = api.post(EXECUTE, json!({"inptus": {}, "trace": 1, "version": 0})).await;
    assert_eq!(
        refused.expect(422).errors(),
        [
            "/inputs missing_field",
            "/version invalid_value",
            "/trace wrong_type",
            "/inptus unknown_field"
        ]
    );
    let body = json!({"inputs": {"tickt": 1}, "trace": 1, "timeout_ms": 0, "more": 1});
    let refused = api.post(EXECUTE, body).await.expect(422);
    assert_eq!(refused.code(), "invalid_input");
    assert_eq!(
        refused.errors(),
        [
            "/trace wrong_type",
            "/timeout_ms invalid_value",
            "/more unknown_field",
            "/inputs/ticket missing_field",
            "/inputs/tickt unknown_field"
        ]
    );
    // The inputs cannot be checked without a valid version.
    let refused = api.post(EXECUTE, json!({"inputs": {"tickt": 1}, "version": "x"})).await;
    assert_eq!(refused.expect(422).errors(), ["/version wrong_type"]);
    assert_eq!(api.get("/v1/runs").await.json()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn graph_version_and_state_must_exist_and_belong_together() {
    let api = Api::new().await;
    assert_eq!(api.post(EXECUTE, ticket()).await.expect(404).code(), "not_found");
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let mut changed = support_reply();
    changed["description"] = json!("two");
    api.put("/v1/graphs/support-reply", changed).await.expect(200);
    let with = |member: &str, value: i32| {
        let mut body = ticket();
        body[member] = json!(value);
        body
    };
    api.post(EXECUTE, with("version", 9)).await.expect(404);
    api.post(EXECUTE, with("state_version", 9)).await.expect(404);
    let misfit = api.post(EXECUTE, with("state_version", 1)).await.expect(422);
    assert_eq!(misfit.code(), "state_mismatch");
    let old = api.post(EXECUTE, with("version", 1)).await.expect(200).json();
    assert_eq!((&old["version"], &old["state_version"]), (&json!(1), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_provider_is_an_lm_error() {
    let lm =
        ScriptedLm::always(ScriptedAnswer::fail(LmErrorKind::Provider, "it broke").status(500));
    let (answer, run) = failure(lm, question()).await;
    let answer = answer.expect(502);
    assert_eq!(answer.code(), "lm_error");
    assert_eq!([&answer.json()["unmeasured"], &run["error"]["unmeasured"]], [&json!(true); 2]);
    assert_eq!((&run["status"], &run["error"]["node"]), (&json!("failed"), &json!("ask")));
    assert_eq!(run["error"]["predictor"], "ask");
    assert_eq!(run["nodes"]["ask"]["status"], "failed");
    assert_eq!(run["outputs"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_succeeds_if_a_node_handles_the_failure_of_another() {
    let lm =
        ScriptedLm::always(ScriptedAnswer::fail(LmErrorKind::Provider, "it broke").status(500));
    let api = Api::with_lm(lm).await;
    let mut graph = one_node("q", "question -> answer");
    graph["nodes"]["or"] = json!({"strategy": "unwrap_or", "config": {"default": "later"}});
    graph["nodes"]["failed"] = json!({"strategy": "is_error"});
    graph["edges"] = json!([{"from": "ask.answer", "to": "or.value"},
                            {"from": "ask.answer", "to": "failed.value"}]);
    graph["outputs"] = json!({"answer": "or.value", "failed": "failed.value"});
    api.post("/v1/graphs", graph).await.expect(201);
    let run = api.post("/v1/graphs/q/execute", question()).await.expect(200).json();
    assert_eq!((&run["status"], &run["error"]), (&json!("succeeded"), &Value::Null));
    assert_eq!(run["outputs"], json!({"answer": "later", "failed": true}));
    let path = format!("/v1/runs/{}", run["run_id"].as_str().unwrap());
    let recorded = api.get(&path).await.expect(200).json();
    let ask = &recorded["nodes"]["ask"];
    assert_eq!((&ask["status"], &ask["error"]["code"]), (&json!("failed"), &json!("lm_error")));
    let spans = recorded["trace"]["spans"].as_array().unwrap();
    let node = |name: &str| {
        let span = |span: &&Value| span["kind"] == "node" && span["node"] == name;
        spans.iter().find(span).unwrap()
    };
    assert_eq!(node("or")["inputs"]["value"]["code"], "lm_error");
    assert_eq!(node("or")["inputs"]["value"]["node"], "ask");
    assert_eq!(node("failed")["status"], "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_quota_is_rate_limited_with_the_providers_wait() {
    let busy = ScriptedAnswer::fail(LmErrorKind::RateLimited, "slow down")
        .status(429)
        .retry_after(Duration::from_secs(7));
    let (answer, _) = failure(ScriptedLm::always(busy), question()).await;
    let answer = answer.expect(429);
    assert_eq!((answer.code().as_str(), answer.header("retry-after")), ("rate_limited", "7"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_lm_is_a_timeout() {
    let mut body = question();
    body["timeout_ms"] = json!(80);
    let (answer, run) = failure(ScriptedLm::always(ScriptedAnswer::hang()), body).await;
    assert_eq!(answer.expect(504).code(), "timeout");
    assert_eq!(run["status"], "failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unparsable_answer_is_a_parse_error_with_the_raw_text() {
    let nonsense = "[[ ## score ## ]]\nlots \u{0}\n\n[[ ## completed ## ]]";
    let (answer, run) = failure(ScriptedLm::always(nonsense), question()).await;
    let answer = answer.expect(422);
    assert_eq!(answer.code(), "parse_error");
    assert_eq!(answer.json()["raw"], nonsense);
    assert_eq!([&answer.json()["unmeasured"], &run["error"]["unmeasured"]], [&Value::Null; 2]);
    assert_eq!(run["trace"]["spans"][2]["raw"], nonsense);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trace_of_a_successful_run_lists_every_leniency() {
    let degraded = "<think>hm</think>\n**[[ ## score ## ]]**\nabout 1.200,50 €";
    let api = Api::with_lm(ScriptedLm::always(degraded)).await;
    api.post("/v1/graphs", one_node("q", "question -> score: float")).await.expect(201);
    let run = api.post("/v1/graphs/q/execute", traced()).await.expect(200).json();
    assert_eq!(run["outputs"], json!({"score": 1200.5}));
    let recorded = api.get(&format!("/v1/runs/{}", run["id"].as_str().unwrap())).await.json();
    for trace in [&run["trace"], &recorded["trace"]] {
        let spans = trace["spans"].as_array().unwrap();
        let predictor = spans.iter().find(|span| span["kind"] == "predictor").unwrap();
        let report = predictor["parse_report"].as_array().unwrap();
        let kinds: Vec<_> = report.iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["reasoning", "prose", "number", "unit", "layout"]);
        let unit = json!({"field": "score", "path": "", "kind": "unit",
            "read": "about 1.200,50 €", "became": 1200.5, "penalty": 1});
        assert_eq!(report[3], unit);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parse_error_names_field_reason_and_repairs_so_far() {
    let degraded = "**[[ ## answer ## ]]**\nyes\n[[ ## score ## ]]\n3 out of 10";
    let api = Api::with_lm(ScriptedLm::always(degraded)).await;
    api.post("/v1/graphs", one_node("q", "question -> answer, score: int")).await.expect(201);
    let problem = api.post("/v1/graphs/q/execute", traced()).await.expect(422).json();
    assert_eq!((&problem["code"], &problem["field"]), (&json!("parse_error"), &json!("score")));
    assert_eq!(problem["reason"], "expected a whole number, found `3 out of 10` (several numbers)");
    assert_eq!((&problem["raw"], &problem["node"]), (&json!(degraded), &json!("ask")));
    let leniency = (&problem["report"][0]["field"], &problem["report"][0]["kind"]);
    assert_eq!(leniency, (&json!("answer"), &json!("layout")));
    let run = problem["run_id"].as_str().unwrap();
    let recorded = api.get(&format!("/v1/runs/{run}")).await.json();
    let lm = &recorded["trace"]["spans"][2];
    assert_eq!((&lm["kind"], &lm["parse_report"]), (&json!("lm"), &problem["report"]));
}

/// A question whose answer includes the trace.
fn traced() -> Value {
    let mut body = question();
    body["trace"] = json!(true);
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_only_the_execution_of_a_graph_fails() {
    let database = test_database().await;
    let api = Api::start(&database, None, &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let answer = api.post("/v1/graphs/q/execute", question()).await.expect(422);
    assert_eq!(answer.code(), "no_model");
}

/// A graph whose LM never answers.
async fn hanging() -> (Api, Arc<ScriptedLm>) {
    let lm = Arc::new(ScriptedLm::always(ScriptedAnswer::hang()));
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    (api, lm)
}

/// Waits for an LM request.
async fn asked(lm: &ScriptedLm) {
    holds("an LM request", || !lm.requests().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_cancelled_and_recorded_if_its_client_disconnects() {
    let (api, lm) = hanging().await;
    tokio::select! {
        _ = api.post("/v1/graphs/q/execute", question()) => panic!("the LM never answers"),
        () = asked(&lm) => {}
    }
    let is_recorded = |answer: &dsrs_test::Answer| answer.json()["items"][0].is_object();
    let runs = api.until("/v1/runs?status=cancelled", is_recorded).await.json();
    assert_eq!(runs["items"][0]["error"]["code"], "run_cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_cancels_runs_and_refuses_new_ones() {
    let (api, lm) = hanging().await;
    let running = api.post("/v1/graphs/q/execute", question());
    let stopping = async {
        asked(&lm).await;
        api.shutdown.begin();
        let ready = api.get("/readyz").await.expect(503);
        assert_eq!(ready.code(), "unavailable");
        let refused = api.post("/v1/graphs/q/execute", question()).await.expect(503);
        assert!(!refused.header("retry-after").is_empty());
        api.shutdown.cancel();
    };
    let (cancelled, ()) = tokio::join!(running, stopping);
    assert_eq!(cancelled.expect(409).code(), "run_cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_concurrent_clients_each_receive_their_own_run() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let call = |number: usize| {
        let body = json!({"inputs": {"ticket": format!("ticket {number}")}});
        let api = &api;
        async move { (number, api.post(EXECUTE, body).await.expect(200).json()) }
    };
    let runs = futures_util::future::join_all((0..16).map(call)).await;
    for (number, run) in runs {
        assert_eq!(run["inputs"]["ticket"], format!("ticket {number}"));
    }
    let listed = api.get("/v1/runs?graph=support-reply").await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 16);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_execution_uses_new_demos() {
    let lm = Arc::new(friendly_lm());
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    api.post(EXECUTE, ticket()).await.expect(200);
    let state = json!({"predictors": {"triage": {
        "demos": [{"input": {"ticket": "A demo!"}, "output": {"mood": "angry", "topics": []}}]
    }}});
    api.put("/v1/graphs/support-reply/state", state).await.expect(200);
    let run = api.post(EXECUTE, ticket()).await.expect(200).json();
    assert_eq!(run["state_version"], 2);
    let requests = lm.requests();
    let shown = |at: usize| requests[at].chat.messages().any(|m| m.content.contains("A demo!"));
    assert!(!shown(0) && shown(2));
}
