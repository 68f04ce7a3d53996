//! `models.NAME.max_concurrent` is the limit of all servers together, which they divide by their demand.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::leases::{LONG_LEASE, expire_some, leased, sessions_ended};
use super::{one_node, text};
use dsrs_test::{
    Answer, Asked, Does, FakeLm, Gate, Remote, ServerSetup, holds, sections, test_database,
};

/// How long the model takes while it holds nothing.
const MODEL: Duration = Duration::from_millis(50);

/// What the settings allow, and the servers of a test, each of which may always send one request.
const LIMIT: usize = 30;
const SERVERS: usize = 4;

/// Without the share of a killed server the others would have two thirds of the limit.
const NEARLY_ALL: usize = LIMIT * 5 / 6 + 1;

/// Time in which a server that ignored the limit would send more.
const TIME_FOR_MORE: Duration = Duration::from_secs(1);

/// A model that holds all requests while its gate is closed.
struct HoldingLm {
    lm: Arc<FakeLm>,
    gate: Arc<Mutex<Option<Gate>>>,
    /// The servers whose requests it holds.
    held: Arc<Mutex<Vec<String>>>,
}

impl HoldingLm {
    async fn closed() -> Self {
        let (gate, held) =
            (Arc::new(Mutex::new(Some(Gate::new()))), Arc::<Mutex<Vec<_>>>::default());
        let (closed, holds) = (gate.clone(), held.clone());
        let lm = FakeLm::by(move |_, asked| {
            let said = sections([("answer", "yes")]);
            match &*closed.lock().unwrap() {
                None => Does::SayLate(MODEL, said),
                Some(gate) => {
                    holds.lock().unwrap().push(server_of(asked));
                    Does::Hold(gate.clone(), said)
                }
            }
        });
        Self { lm: lm.await, gate, held }
    }

    fn open(&self) {
        let gate = self.gate.lock().unwrap().take();
        self.held.lock().unwrap().clear();
        gate.unwrap().open();
    }

    fn close(&self) {
        *self.gate.lock().unwrap() = Some(Gate::new());
    }

    /// The number of requests that it holds, of servers other than this one.
    fn held_beside(&self, server: &str) -> usize {
        self.held.lock().unwrap().iter().filter(|held| *held != server).count()
    }

    /// Waits for a request of this server that it holds.
    async fn holds_of(&self, server: &str) {
        holds("a request", || self.held.lock().unwrap().iter().any(|held| held == server)).await;
    }

    /// Waits until it holds so many requests of servers other than this one, and no more than all may send.
    async fn is_used(&self, count: usize, beside: &str) {
        holds("the use of the limit", || self.held_beside(beside) >= count).await;
        tokio::time::sleep(TIME_FOR_MORE).await;
        let most = self.held_beside(beside);
        assert!(most <= LIMIT + SERVERS, "{most} of {LIMIT}");
    }
}

/// The server that a request is of: each has a path of its own.
fn server_of(asked: &Asked) -> String {
    asked.path.split('/').nth(1).unwrap().to_owned()
}

fn limited(database: &str, model: &HoldingLm, server: &str) -> ServerSetup {
    let setup = ServerSetup::new().database(database).env("DSRS_WORKER_BATCH_CONCURRENCY", "64");
    let url = model.lm.url.replace("/v1", &format!("/{server}"));
    let settings = format!(
        "[models.default]\nmodel = \"fake\"\nbase_url = \"{url}\"\nmax_concurrent = {LIMIT}\n",
    );
    fs::write(setup.directory().join("dsrs.toml"), settings).unwrap();
    setup.env(LONG_LEASE.0, LONG_LEASE.1)
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

/// The holders of jobs.
async fn holders(database: &str) -> Vec<String> {
    let mut connection = PgConnection::connect(database).await.unwrap();
    let sql = "select holder::text from jobs where holder is not null";
    sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn three_servers_send_as_many_requests_as_one_and_take_over_what_a_killed_one_had() {
    let (database, model) = (test_database().await, HoldingLm::closed().await);
    let server = limited(&database, &model, "front").env("DSRS_WORKER_ENABLED", "false").start();
    let api = Remote::new(&server.url);
    let path = started(&api, 4000).await;
    let mut workers = Vec::new();
    for worker in ["one", "two"] {
        workers.push(limited(&database, &model, worker).worker().start());
        model.holds_of(worker).await;
    }
    let before = holders(&database).await;
    let killed = limited(&database, &model, "killed").worker();
    let killed = leased(killed, &database, "killed").await.start();
    model.holds_of("killed").await;
    let of_killed = holders(&database).await.into_iter().find(|holder| !before.contains(holder));
    model.open();
    let by_killed = || model.lm.asked().iter().filter(|asked| server_of(asked) == "killed").count();
    holds("requests of each server", || by_killed() >= 100).await;
    model.close();
    model.is_used(NEARLY_ALL, "").await;
    killed.kill();
    sessions_ended(&database, "killed").await;
    model.is_used(NEARLY_ALL, "killed").await;
    if let Some(holder) = of_killed {
        expire_some(&database, &format!("holder = '{holder}'")).await;
    }
    model.open();
    let batch = until_ended(&api, &path).await;
    assert_eq!(batch["counts"]["succeeded"], 4000, "{batch}");
    workers.clear();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_alone_uses_the_whole_limit() {
    let (database, model) = (test_database().await, HoldingLm::closed().await);
    let server = limited(&database, &model, "alone").start();
    let api = Remote::new(&server.url);
    let path = started(&api, 400).await;
    model.is_used(LIMIT, "").await;
    assert_eq!(model.held_beside(""), LIMIT);
    model.open();
    until_ended(&api, &path).await;
}
