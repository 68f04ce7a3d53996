//! Requests with an idempotency key whose server does not learn that their work was committed, or is
//! killed before it answers: a repeat receives the first answer, and nothing starts twice.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::{on, one_node, text};
use dsrs_test::{
    Answer, Cut, CutWire, Does, FakeLm, Remote, Server, ServerSetup, found, http_client, sections,
    test_database,
};

/// A request that starts work or continues it.
struct WorkRequest {
    key: String,
    path: String,
    body: Value,
}

impl WorkRequest {
    fn new(key: &str, path: impl Into<String>, body: Value) -> Self {
        Self { key: key.to_owned(), path: path.into(), body }
    }

    async fn send(&self, api: &Remote) -> Answer {
        let headers = [("idempotency-key", self.key.as_str())];
        api.send(Method::POST, &self.path, &headers, Some(self.body.to_string())).await
    }

    /// Sends the request to a server that does not live to answer it.
    async fn lose(&self, server: &str) {
        let request = http_client().post(format!("{server}{}", self.path));
        let request = request.header("idempotency-key", &self.key);
        let request = request.header("content-type", "application/json");
        request.body(self.body.to_string()).send().await.unwrap_err();
    }

    /// The answer, once no other request with the key is in progress.
    async fn settled(&self, api: &Remote) -> Answer {
        found("the end of the first request with the key", async || {
            let answer = self.send(api).await;
            if answer.status != 409 {
                return Some(answer);
            }
            assert_eq!(answer.code(), "idempotency_in_progress");
            None
        })
        .await
    }
}

/// A server that accepts jobs and works on none.
fn idle(database: &str, lm: &FakeLm) -> ServerSetup {
    on(database, lm).env("DSRS_WORKER_ENABLED", "false")
}

async fn quiet_lm() -> std::sync::Arc<FakeLm> {
    FakeLm::doing([Does::Say(sections([("answer", "a")]))]).await
}

fn start(setup: &ServerSetup) -> (Server, Remote) {
    let server = setup.start();
    let api = Remote::new(&server.url);
    (server, api)
}

/// One request of each kind, and what they need.
async fn requests(api: &Remote) -> Vec<WorkRequest> {
    api.post("/v1/graphs", one_node("q", "question -> answer", json!({}))).await.expect(201);
    let approve = json!({"strategy": "await", "signature": "topic -> approved: bool"});
    let letter = json!({"name": "letter", "nodes": {"approve": approve}});
    api.post("/v1/graphs", letter).await.expect(201);
    let example = |number| json!({"inputs": {"question": format!("q{number}?")}, "expected": {"answer": "a"}});
    let examples: Vec<_> = (0..40).map(example).collect();
    api.post("/v1/datasets", json!({"name": "easy", "examples": examples})).await.expect(201);
    let topic = json!({"inputs": {"topic": "rain"}});
    let waiting = api.post("/v1/graphs/letter/execute", topic).await.expect(202).json();
    let question = json!({"inputs": {"question": "?"}});
    let run = api.post("/v1/graphs/q/runs", &question).await.expect(202).json();
    let cancelled = format!("/v1/runs/{}", text(&run, "id"));
    api.post(&format!("{cancelled}/cancel"), "").await.expect(200);
    let tuned = json!({"optimizer": "labeled_few_shot", "trainset": "easy", "metric": "exact"});
    let items = json!({"items": [{"question": "1?"}, {"question": "2?"}]});
    vec![
        WorkRequest::new("run", "/v1/graphs/q/runs", question),
        WorkRequest::new("batch", "/v1/graphs/q/batches", items),
        WorkRequest::new(
            "evaluation",
            "/v1/graphs/q/evaluations",
            json!({"dataset": "easy", "metric": "exact"}),
        ),
        WorkRequest::new("optimization", "/v1/graphs/q/optimizations", tuned),
        WorkRequest::new(
            "signal",
            format!("/v1/runs/{}/signal", text(&waiting, "id")),
            json!({"node": "approve", "value": true}),
        ),
        WorkRequest::new("resume", format!("{cancelled}/resume"), json!({})),
    ]
}

/// The number of queued or parked jobs, and of values that were sent to them.
async fn stored(database: &str) -> i64 {
    let mut connection = PgConnection::connect(database).await.unwrap();
    let sql = "select (select count(*) from jobs) + (select count(*) from run_nodes)";
    sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_after_the_commit_starts_nothing_twice() {
    let (database, lm) = (test_database().await, quiet_lm().await);
    let wire = CutWire::to(&database).await;
    let (_server, api) = start(&idle(&wire.url, &lm));
    for (number, request) in requests(&api).await.iter().enumerate() {
        let before = stored(&database).await;
        wire.cut_next(Cut::Break);
        // The stored answer, although the transaction reported a failure.
        let first = request.send(&api).await.expect(202);
        wire.cut(number + 1).await;
        let again = request.send(&api).await.expect(202);
        assert_eq!(
            (&again.text, again.header("location")),
            (&first.text, first.header("location"))
        );
        assert_eq!(again.header("idempotent-replayed"), "true", "{}", request.key);
        assert_eq!(stored(&database).await, before + 1, "{}", request.key);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_after_the_commit_starts_nothing_twice() {
    let (database, lm) = (test_database().await, quiet_lm().await);
    let wire = CutWire::to(&database).await;
    let (_server, api) = start(&idle(&database, &lm));
    let victims = idle(&wire.url, &lm);
    for (number, request) in requests(&api).await.iter().enumerate() {
        let before = stored(&database).await;
        let victim = victims.start();
        let url = victim.url.clone();
        wire.cut_next(Cut::Silence);
        let killing = async {
            wire.cut(number + 1).await;
            tokio::task::spawn_blocking(move || victim.kill()).await.unwrap();
        };
        tokio::join!(request.lose(&url), killing);
        let first = request.send(&api).await.expect(202);
        assert_eq!(first.header("idempotent-replayed"), "true", "{}", request.key);
        let status = first.json()["status"].clone();
        assert_eq!(status, "queued", "{}", request.key);
        assert_eq!(request.send(&api).await.expect(202).text, first.text);
        assert_eq!(stored(&database).await, before + 1, "{}", request.key);
        api.get(first.header("location")).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_that_receive_a_key_at_once_start_one_job() {
    let (database, lm) = (test_database().await, quiet_lm().await);
    let setup = idle(&database, &lm);
    let ((_one, one), (_two, two)) = (start(&setup), start(&setup));
    let mut all = requests(&one).await;
    all.extend((0..10).map(|number| {
        let body = json!({"inputs": {"question": "?"}});
        WorkRequest::new(&format!("run-{number}"), "/v1/graphs/q/runs", body)
    }));
    let before = stored(&database).await;
    for request in &all {
        let (left, right) = tokio::join!(request.settled(&one), request.settled(&two));
        assert_eq!((left.status, &left.text), (202, &right.text), "{}", request.key);
        let mut replayed = [&left, &right].map(|answer| answer.header("idempotent-replayed"));
        replayed.sort_unstable();
        assert_eq!(replayed, ["", "true"], "{}", request.key);
    }
    let started = i64::try_from(all.len()).unwrap();
    assert_eq!(stored(&database).await, before + started);
}
