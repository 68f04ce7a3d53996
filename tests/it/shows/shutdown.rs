//! Interrupted work: the server stops, the client disconnects, one of several nodes fails.

use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{on, one_node, text};
use dsrs_test::{Answer, Does, FakeLm, Gate, Remote, sections, test_database};

const EXECUTE: &str = "/v1/graphs/q/execute";

fn question() -> Value {
    json!({"inputs": {"question": "?"}})
}

/// Starts an execution; it has reached the provider when this returns.
async fn started_execution(api: &Remote, lm: &FakeLm) -> tokio::task::JoinHandle<Answer> {
    api.post("/v1/graphs", one_node("q", "question -> answer", json!({}))).await.expect(201);
    let api = api.clone();
    let running = tokio::spawn(async move { api.post(EXECUTE, question()).await });
    lm.arrived(1).await;
    running
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_reports_it_and_finishes_running_work() {
    let gate = Gate::new();
    let said = sections([("answer", "at last")]);
    let lm = FakeLm::doing([Does::Hold(gate.clone(), said)]).await;
    let setup = on(&test_database().await, &lm).env("DSRS_SHUTDOWN_TIMEOUT", "120s");
    let mut server = setup.start();
    let api = Remote::new(&server.url);
    let running = started_execution(&api, &lm).await;

    server.signal(Signal::TERM);
    let gone = api.until("/readyz", |answer| answer.status != 200).await.expect(503);
    assert_eq!((gone.code().as_str(), gone.header("retry-after")), ("unavailable", "1"));
    api.get("/healthz").await.expect(200);
    let refused = api.post(EXECUTE, question()).await.expect(503);
    assert_eq!(refused.code(), "unavailable");
    assert!(!running.is_finished());

    gate.open();
    let run = running.await.unwrap().expect(200).json();
    assert_eq!(run["outputs"]["answer"], "at last");
    assert!(server.wait().success());
    let server = setup.start();
    let path = format!("/v1/runs/{}", text(&run, "id"));
    let recorded = Remote::new(&server.url).get(&path).await.expect(200).json();
    assert_eq!((text(&recorded, "status"), &recorded["outputs"]), ("succeeded", &run["outputs"]));
    assert_eq!(lm.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_cancelled_after_the_shutdown_timeout() {
    let lm = FakeLm::doing([Does::Stall]).await;
    let setup = on(&test_database().await, &lm).env("DSRS_SHUTDOWN_TIMEOUT", "500ms");
    let mut server = setup.start();
    let running = started_execution(&Remote::new(&server.url), &lm).await;

    server.signal(Signal::TERM);
    let answer = running.await.unwrap().expect(409);
    assert_eq!(answer.code(), "run_cancelled");
    lm.abandoned(1).await;
    assert!(server.wait().success());
    let server = setup.start();
    let path = format!("/v1/runs/{}", text(&answer.json(), "run_id"));
    let recorded = Remote::new(&server.url).get(&path).await.expect(200).json();
    assert_cancelled(&recorded);
    assert_eq!(recorded["error"], answer.json());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_a_shutdown_cancels_is_not_the_answer_of_its_key() {
    let said = Does::Say(sections([("answer", "at last")]));
    let lm = FakeLm::doing([Does::Stall, Does::Stall, said]).await;
    let setup = on(&test_database().await, &lm).env("DSRS_SHUTDOWN_TIMEOUT", "300ms");
    let mut server = setup.start();
    let mut api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("q", "question -> answer", json!({}))).await.expect(201);
    let ask = |api: &Remote, accept: &'static str| {
        let (api, body) = (api.clone(), Some(question().to_string()));
        let headers = [("idempotency-key", "once"), ("accept", accept)];
        tokio::spawn(async move { api.send(Method::POST, EXECUTE, &headers, body).await })
    };
    for (number, accept) in ["application/json", "text/event-stream"].into_iter().enumerate() {
        let running = ask(&api, accept);
        lm.arrived(number + 1).await;
        server.signal(Signal::TERM);
        let answer = running.await.unwrap();
        assert!(answer.text.contains("\"code\":\"run_cancelled\""), "{}", answer.text);
        assert!(server.wait().success());
        server = setup.start();
        api = Remote::new(&server.url);
    }
    for replayed in ["", "true"] {
        let answer = ask(&api, "application/json").await.unwrap().expect(200);
        assert_eq!(answer.json()["outputs"]["answer"], "at last");
        assert_eq!(answer.header("idempotent-replayed"), replayed);
    }
    assert_eq!(lm.asked().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disconnect_cancels_the_request_to_the_provider() {
    let lm = FakeLm::doing([Does::Stall]).await;
    let server = on(&test_database().await, &lm).start();
    let api = Remote::new(&server.url);
    let running = started_execution(&api, &lm).await;

    running.abort();
    lm.abandoned(1).await;
    let found = |answer: &Answer| answer.json()["items"][0].is_object();
    let item = api.until("/v1/runs", found).await.json()["items"][0].clone();
    let path = format!("/v1/runs/{}", text(&item, "id"));
    assert_cancelled(&api.get(&path).await.expect(200).json());
    assert_eq!(lm.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_request_does_not_delay_the_shutdown() {
    let lm = FakeLm::doing([Does::Stall]).await;
    let server = on(&test_database().await, &lm).start();
    let address = server.url.trim_start_matches("http://").to_owned();
    let mut half = tokio::net::TcpStream::connect(&address).await.unwrap();
    half.write_all(b"POST /v1/graphs HTTP/1.1\r\ncontent-length: 9\r\n").await.unwrap();
    let mut idle = tokio::net::TcpStream::connect(&address).await.unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: us\r\n\r\n").await.unwrap();
    assert!(idle.read(&mut [0; 64]).await.unwrap() > 0);
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_node_cancels_the_requests_of_its_siblings() {
    let gate = Gate::new();
    let opened = gate.clone();
    let lm = FakeLm::by(move |_, asked| match asked.text().contains("Fail!") {
        true => Does::Hold(opened.clone(), "nonsense".to_owned()),
        false => Does::Stall,
    })
    .await;
    let server = on(&test_database().await, &lm).start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", three_nodes()).await.expect(201);
    let running = tokio::spawn({
        let api = api.clone();
        async move { api.post(EXECUTE, question()).await }
    });
    lm.arrived(2).await;
    gate.open();
    let answer = running.await.unwrap().expect(422);
    assert_eq!((answer.code().as_str(), text(&answer.json(), "node")), ("parse_error", "failing"));
    lm.abandoned(1).await;
    let path = format!("/v1/runs/{}", text(&answer.json(), "run_id"));
    let run = api.get(&path).await.expect(200).json();
    let status = |node: &str| text(&run["nodes"][node], "status").to_owned();
    assert_eq!(["failing", "stalling", "after"].map(status), ["failed", "cancelled", "skipped"]);
    assert_nothing_running(&run);
    assert_eq!(lm.asked().len(), 2);
}

/// Two concurrent nodes, one of which fails, and one that depends on the other.
fn three_nodes() -> Value {
    let failing = json!({
        "instructions": "Fail!",
        "inputs": [{"name": "question"}], "outputs": [{"name": "score", "type": "int"}]
    });
    json!({
        "name": "q",
        "nodes": {
            "failing": {"strategy": "predict", "signature": failing, "parse_retries": 0},
            "stalling": {"strategy": "predict", "signature": "question -> answer"},
            "after": {"strategy": "predict", "signature": "answer -> end"}
        },
        "edges": [{"from": "stalling.answer", "to": "after.answer"}]
    })
}

fn assert_cancelled(run: &Value) {
    assert_eq!((text(run, "status"), &run["outputs"]), ("cancelled", &Value::Null));
    assert_eq!(text(&run["nodes"]["ask"], "status"), "cancelled");
    assert_eq!(text(&run["error"], "code"), "run_cancelled");
    assert_nothing_running(run);
}

fn assert_nothing_running(run: &Value) {
    let spans = run["trace"]["spans"].as_array().unwrap();
    let running = spans.iter().filter(|span| span["status"] == "running").count();
    assert_eq!(running, 0, "no span of a finished run is under way: {spans:?}");
}
