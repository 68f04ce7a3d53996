//! `models.NAME.max_concurrent` is the limit of all servers together, which they divide by their demand.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::{one_node, text};
use crate::support::{Answer, Does, FakeLm, Remote, ServerSetup, sections, test_database};

/// How long the model takes.
const MODEL: Duration = Duration::from_millis(100);

/// What the settings allow, and the servers of a test, each of which may always send one request.
const LIMIT: usize = 30;
const SERVERS: usize = 3;

/// A killed server has its share for 4 s, and what was in flight then ends.
const TAKEOVER: Duration = Duration::from_secs(6);

async fn slow() -> Arc<FakeLm> {
    FakeLm::by(|_, _| Does::SayLate(MODEL, sections([("answer", "yes")]))).await
}

fn limited(database: &str, lm: &FakeLm) -> ServerSetup {
    let setup = ServerSetup::new().database(database).env("DSRS_WORKER_BATCH_CONCURRENCY", "64");
    let settings = format!(
        "[models.default]\nmodel = \"fake\"\nbase_url = \"{}\"\nmax_concurrent = {LIMIT}\n",
        lm.url
    );
    fs::write(setup.directory().join("dsrs.toml"), settings).unwrap();
    setup.env("DSRS_WORKER_LEASE", "2s")
}

async fn started(api: &Remote, items: usize) -> String {
    let graph = one_node("q", "question -> answer", json!({"retries": 0}));
    api.post("/v1/graphs", graph).await.expect(201);
    let lines = [("content-type", "application/jsonl")];
    let items: String = (0..items).map(|n| format!("{{\"question\": \"number {n}\"}}\n")).collect();
    let accepted = api.send(Method::POST, "/v1/graphs/q/batches", &lines, Some(items)).await;
    format!("/v1/batches/{}", text(&accepted.expect(202).json(), "id"))
}

async fn until_ended(api: &Remote, path: &str) -> Value {
    let done = |answer: &Answer| answer.json()["finished_at"].is_string();
    api.until(path, done).await.expect(200).json()
}

/// The most requests that the model worked on at the same time, of those that arrived after an instant.
fn most_at_once(lm: &FakeLm, after: Option<Instant>) -> usize {
    let mut times: Vec<Instant> = lm.asked().iter().map(|asked| asked.at).collect();
    times.retain(|at| after.is_none_or(|after| *at >= after));
    times.sort_unstable();
    let at_once = |end: usize| {
        let last = times[end - 1];
        times[..end].iter().rev().take_while(|at| last - **at < MODEL).count()
    };
    (1..=times.len()).map(at_once).max().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn three_servers_send_as_many_requests_as_one_and_take_over_what_a_killed_one_had() {
    let (database, lm) = (test_database().await, slow().await);
    let server = limited(&database, &lm).env("DSRS_WORKER_ENABLED", "false").start();
    let api = Remote::new(&server.url);
    let path = started(&api, 4000).await;
    let mut workers: Vec<_> =
        (1..SERVERS).map(|_| limited(&database, &lm).worker().start()).collect();
    let killed = limited(&database, &lm).worker().start();
    lm.arrived(600).await;
    killed.kill();
    let taken_over = Instant::now() + TAKEOVER;
    let batch = until_ended(&api, &path).await;
    assert_eq!(batch["counts"]["succeeded"], 4000, "{batch}");
    let most = most_at_once(&lm, None);
    assert!(most <= LIMIT + SERVERS, "{most} of {LIMIT}");
    // Without the share of the killed one it would be two thirds of the limit.
    let later = most_at_once(&lm, Some(taken_over));
    assert!(later > LIMIT * 5 / 6, "{later} of {LIMIT}");
    workers.clear();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_alone_uses_the_whole_limit() {
    let (database, lm) = (test_database().await, slow().await);
    let server = limited(&database, &lm).start();
    let api = Remote::new(&server.url);
    let path = started(&api, 400).await;
    until_ended(&api, &path).await;
    let most = most_at_once(&lm, None);
    assert!((LIMIT * 5 / 6..=LIMIT).contains(&most), "{most} of {LIMIT}");
}
