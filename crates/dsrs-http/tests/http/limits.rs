//! Limits over all requests and runs, and the problems that they answer with.

use std::pin::Pin;
use std::sync::Arc;

use dsrs::lm::{DeltaSink, Lm, LmError, LmReply, LmRequest, ScriptedLm};
use reqwest::Method;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::Api;
use dsrs_test::{Answer, found, raw_request, support_reply, test_database};
use dsrs_test_api::friendly_lm;

const PARSE: &str = "/v1/parse";

/// A body of a bit more than this many bytes.
fn body_of(bytes: usize) -> String {
    json!({"type": "str", "text": "x".repeat(bytes)}).to_string()
}

/// A request that has sent this many bytes of its body and never sends the rest.
async fn unfinished_request(api: &Api, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(api.url.strip_prefix("http://").unwrap()).await.unwrap();
    let head = format!(
        "POST {PARSE} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        bytes + 1
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(" ".repeat(bytes).as_bytes()).await.unwrap();
    let gauge = format!("dsrs_body_memory_bytes {bytes}");
    api.until("/metrics", |answer| answer.text.lines().any(|line| line == gauge)).await;
    stream
}

fn assert_no_body_memory(answer: Answer) {
    let answer = answer.expect(503);
    assert_eq!(answer.code(), "unavailable");
    assert_eq!(answer.header("retry-after"), "1");
    assert!(answer.text.contains("`limits.body_memory`"), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_beyond_the_memory_for_bodies_are_refused_until_it_is_free() {
    let api = Api::with_settings(&[("DSRS_LIMITS_BODY_MEMORY", "1MiB")]).await;
    let unfinished = unfinished_request(&api, 600_000).await;
    assert_no_body_memory(api.post(PARSE, body_of(600_000)).await);
    api.post(PARSE, body_of(10)).await.expect(200);
    drop(unfinished);
    let is_free =
        |answer: &Answer| answer.text.lines().any(|line| line == "dsrs_body_memory_bytes 0");
    api.until("/metrics", is_free).await;
    assert_ne!(api.post(PARSE, body_of(600_000)).await.status, 503);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_fit_in_memory_is_refused_before_it_is_sent() {
    let api = Api::with_settings(&[("DSRS_LIMITS_BODY_MEMORY", "1MiB")]).await;
    let _unfinished = unfinished_request(&api, 600_000).await;
    let headers = [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("content-length", "600000"),
        ("expect", "100-continue"),
    ];
    let first = format!("POST {PARSE} HTTP/1.1");
    assert_no_body_memory(raw_request(&api.url, &first, &headers).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_unknown_length_is_refused_as_soon_as_it_does_not_fit_in_memory() {
    let api = Api::with_settings(&[("DSRS_LIMITS_BODY_MEMORY", "1MiB")]).await;
    let _unfinished = unfinished_request(&api, 600_000).await;
    let client = dsrs_test::http_client();
    let pieces =
        body_of(600_000).into_bytes().chunks(10_000).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let pieces = futures_util::stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
    let request = client.request(Method::POST, format!("{}{PARSE}", api.url));
    let request = request.header("content-type", "application/json");
    let answer = request.body(reqwest::Body::wrap_stream(pieces)).send().await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    assert_no_body_memory(Answer { status, headers, text: answer.text().await.unwrap() });
}

/// The graph of the description, whose two nodes call an LM once each, with settings.
async fn api_with_graph(settings: &[(&str, &str)]) -> Api {
    let api = Api::with_settings(settings).await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    api
}

const TICKET: &str = r#"{"inputs": {"ticket": "Where is it?"}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_spent_its_requests_fails_with_the_setting_the_node_and_the_trace() {
    let api = api_with_graph(&[("DSRS_LIMITS_RUN_LM_CALLS", "1")]).await;
    let refused = api.post("/v1/graphs/support-reply/execute", TICKET).await.expect(422);
    assert_eq!(refused.code(), "budget_spent");
    let problem = refused.json();
    assert_eq!(problem["node"], "reply");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("`limits.run_lm_calls` is spent: it is 1; 1 requests"), "{detail}");
    let path = format!("/v1/runs/{}", problem["run_id"].as_str().unwrap());
    let run = api.get(&path).await.expect(200).json();
    assert_eq!(run["usage"]["lm_calls"], 1);
    assert_eq!(run["nodes"]["triage"]["status"], "succeeded");
    assert!(run["trace"]["spans"].as_array().unwrap().iter().any(|span| span["kind"] == "lm"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_two_requests_fits_a_budget_of_two() {
    let settings = [("DSRS_LIMITS_RUN_LM_CALLS", "2"), ("DSRS_LIMITS_RUN_TOKENS", "100000")];
    let api = api_with_graph(&settings).await;
    for _ in 0..2 {
        api.post("/v1/graphs/support-reply/execute", TICKET).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_may_cost_more_than_the_budget_is_not_sent() {
    let cases = [
        ("DSRS_LIMITS_RUN_TOKENS", "50", "`limits.run_tokens` is spent: it is 50; 0 requests"),
        ("DSRS_LIMITS_RUN_COST", "1", "`limits.run_cost` cannot be enforced"),
    ];
    for (setting, limit, part) in cases {
        let api = api_with_graph(&[(setting, limit)]).await;
        let refused = api.post("/v1/graphs/support-reply/execute", TICKET).await.expect(422);
        assert_eq!(refused.code(), "budget_spent");
        assert!(refused.text.contains(part), "{}", refused.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_run_that_is_resumed_does_not_get_its_budget_again() {
    let api = api_with_graph(&[("DSRS_LIMITS_RUN_LM_CALLS", "1")]).await;
    let run = api.post("/v1/graphs/support-reply/runs", TICKET).await.expect(202).json();
    let id = run["id"].as_str().unwrap().to_owned();
    assert_eq!(api.ended(&id).await["error"]["code"], "budget_spent");
    api.post(&format!("/v1/runs/{id}/resume"), "{}").await.expect(202);
    let run = api.ended(&id).await;
    assert_eq!(run["error"]["code"], "budget_spent");
    assert_eq!(run["usage"]["lm_calls"], 1);
}

const RUNS: &str = "/v1/graphs/support-reply/runs";

fn assert_busy(answer: Answer, setting: &str) {
    let answer = answer.expect(429);
    assert_eq!(answer.code(), "rate_limited");
    assert_eq!(answer.header("retry-after"), "1");
    assert!(answer.text.contains(setting), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_refuses_another_background_run_until_one_has_left() {
    let settings = [("DSRS_LIMITS_MAX_QUEUED_RUNS", "2"), ("DSRS_WORKER_ENABLED", "false")];
    let api = api_with_graph(&settings).await;
    let first = api.post(RUNS, TICKET).await.expect(202).header("location").to_owned();
    api.post(RUNS, TICKET).await.expect(202);
    assert_busy(api.post(RUNS, TICKET).await, "`limits.max_queued_runs`");
    api.post(&format!("{first}/cancel"), "").await.expect(200);
    api.post(RUNS, TICKET).await.expect(202);
    assert_busy(api.post(&format!("{first}/resume"), "{}").await, "`limits.max_queued_runs`");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_follower_too_many_is_refused_until_another_has_left() {
    let settings = [("DSRS_LIMITS_MAX_FOLLOWERS", "1"), ("DSRS_WORKER_ENABLED", "false")];
    let api = api_with_graph(&settings).await;
    let run = api.post(RUNS, TICKET).await.expect(202).header("location").to_owned();
    let events = format!("{run}/events");
    let follower = api.stream(Method::GET, &events, &[], None).await;
    assert_busy(api.get(&events).await, "`limits.max_followers`");
    // The events of a run that has ended come to an end.
    api.post(&format!("{run}/cancel"), "").await.expect(200);
    drop(follower);
    api.until(&events, |answer| answer.status == 200).await;
}

/// Answers when it is allowed to.
struct HeldLm {
    turns: Arc<Semaphore>,
    lm: ScriptedLm,
}

impl Lm for HeldLm {
    fn complete<'a>(
        &'a self,
        request: &'a LmRequest,
        deltas: DeltaSink<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<LmReply, LmError>> + Send + 'a>> {
        Box::pin(async move {
            let _turn = self.turns.acquire().await.unwrap();
            self.lm.complete(request, deltas).await
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_with_as_many_executions_as_allowed_gets_no_other() {
    let turns = Arc::new(Semaphore::new(0));
    let settings = [("DSRS_LIMITS_MAX_RUNS_PER_WORKSPACE", "1")];
    let lm = Arc::new(HeldLm { turns: turns.clone(), lm: friendly_lm() });
    let api = Api::start(&test_database().await, Some(lm), &settings).await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let path = "/v1/graphs/support-reply/execute";
    // The stream begins when the run has its permit.
    let first = api.stream(Method::POST, path, &[], Some(TICKET.to_owned())).await;
    assert_busy(api.post(path, TICKET).await, "`limits.max_runs_per_workspace`");
    turns.add_permits(1);
    assert_eq!(first.rest().await.last().unwrap().kind, "run.completed");
    let is_passed_on = async || (api.post(path, TICKET).await.status == 200).then_some(());
    found("the permit", is_passed_on).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_is_too_large_in_a_graph_is_refused_with_its_setting() {
    let settings = [
        ("DSRS_LIMITS_GRAPH_NODES", "1"),
        ("DSRS_LIMITS_GRAPH_EDGES", "2"),
        ("DSRS_LIMITS_GRAPH_TYPES", "1"),
        ("DSRS_LIMITS_GRAPH_BYTES", "100"),
        ("DSRS_LIMITS_ENUM_VALUES", "1"),
        ("DSRS_LIMITS_TEXT_BYTES", "30"),
    ];
    let api = Api::with_settings(&settings).await;
    let mut graph = support_reply();
    graph["types"]["Other"] = json!({"enum": ["a"]});
    let validate = api.post("/v1/graphs/validate", &graph).await;
    let refused = api.post("/v1/graphs", graph).await.expect(422);
    assert_eq!(refused.code(), "invalid_graph");
    let expected = [
        " too_large",
        "/nodes too_large",
        "/edges too_large",
        "/types too_large",
        "/types/Mood/enum too_large",
        "/nodes/triage/signature too_large",
    ];
    assert_eq!(refused.errors(), expected);
    let named =
        ["graph_bytes", "graph_nodes", "graph_edges", "graph_types", "enum_values", "text_bytes"];
    for setting in named {
        assert!(refused.text.contains(&format!("`limits.{setting}`")), "{}", refused.text);
    }
    assert!(validate.text.contains("`limits.graph_nodes`"), "{}", validate.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_does_not_make_a_graph_too_large() {
    let api = api_with_graph(&[("DSRS_LIMITS_GRAPH_NODES", "2")]).await;
    let node = json!({"strategy": "predict", "signature": "ticket -> more"});
    let edit = json!({"edits": [
        {"op": "add_node", "name": "third", "node": node},
        {"op": "connect", "from": "input.ticket", "to": "third.ticket"}
    ]});
    let refused = api.patch("/v1/graphs/support-reply", edit).await.expect(422);
    assert_eq!(refused.errors(), ["/nodes too_large"]);
}
