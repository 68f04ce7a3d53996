//! Everything that a test starts: Postgres, the engine, the model and the servers, and the work that they do.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use sqlx::Row;
use tokio::task::JoinHandle;

use super::attempts::Time;
use super::caller::{Ask, Caller};
use super::cancellations;
use super::engine::{Engine, EngineKind};
use super::faults::{self, Fault};
use super::lm::Lm;
use super::pace::Pace;
use super::postgres::Postgres;
use super::runs::{self, Accepted, ENDLESS};
use super::servers::{SERVERS, Servers};
use super::signals::{self, Signalled, WAITING};
use super::size::{AT_ONCE, ITEMS_AT_ONCE, LEASE, Size, size};
use super::{audit, clock, graphs, items, optimization};
use dsrs_test::{Dice, ServerSetup, found};

/// Longer than anything takes here: what is late is no failure.
const HOUR_MS: &str = "3600000";

pub struct World {
    pub size: Size,
    pub lm: Lm,
    pub postgres: Postgres,
    pub engine: Arc<Engine>,
    pub servers: Arc<Servers>,
    pub caller: Caller,
    pub pace: Pace,
    plan: Vec<Fault>,
    seed: u64,
    began: Instant,
    began_at: SystemTime,
}

/// What the servers have accepted.
pub struct Done {
    pub diamonds: Vec<Accepted>,
    pub keyed: Vec<Accepted>,
    pub signalled: Vec<Signalled>,
    pub cancelled: Vec<Accepted>,
    pub batches: Vec<String>,
    pub evaluations: Vec<String>,
    pub optimization: String,
}

impl World {
    pub async fn start(kind: EngineKind) -> Arc<Self> {
        let (size, began, began_at) = (size(), Instant::now(), SystemTime::now());
        let seed = std::env::var("DSRS_SCALE_SEED").map_or(11, |seed| seed.parse().unwrap());
        let (lm, postgres) = (Lm::start(seed).await, Postgres::start().await);
        let engine = Arc::new(Engine::start(kind, &postgres).await);
        let setups = (0..SERVERS).map(|server| setup(server, &lm, &engine, &postgres)).collect();
        let registering = engine.clone();
        let starting = tokio::task::spawn_blocking(move || {
            let servers = Servers::start(setups);
            registering.register(&servers);
            servers
        });
        let servers = Arc::new(starting.await.unwrap());
        let plan = faults::plan(&size, engine.nodes(), &mut Dice(seed));
        let (caller, pace) = (Caller::new(servers.clone()), Pace::new(plan.len()));
        let world =
            Self { size, lm, postgres, engine, servers, caller, pace, plan, seed, began, began_at };
        for graph in graphs::graphs() {
            world.caller.start(0, "/v1/graphs", |_| graph.clone()).await;
        }
        for set in [items::dataset(size.examples), optimization::dataset(size.trainset)] {
            world.caller.start(0, "/v1/datasets", |_| set.clone()).await;
        }
        world.log("started");
        Arc::new(world)
    }

    /// Prints what happens, and when.
    pub fn log(&self, what: &str) {
        println!("{:5.1} s: {what}", self.seconds(Instant::now()));
    }

    /// The seconds since the beginning.
    pub fn seconds(&self, at: Instant) -> f64 {
        (at - self.began).as_secs_f64()
    }

    /// The same by the clock of the database.
    pub fn time(&self, at: Instant) -> Time {
        let at = self.began_at + (at - self.began);
        at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64()
    }

    /// Begins to inject the faults.
    pub fn inject_faults(self: &Arc<Self>) -> JoinHandle<()> {
        let world = self.clone();
        tokio::task::spawn_blocking(move || {
            let mut dice = Dice(world.seed + 1);
            faults::inject(&world.plan, &world, &mut dice);
            world.log("all faults have been");
        })
    }

    /// Has all work accepted, and is done with each part of it that clients have a part in.
    pub async fn accept_work(self: &Arc<Self>) -> Done {
        let (optimization, batches, evaluations, diamonds, keyed, signalled, cancelled) = tokio::join!(
            optimization::optimization(self),
            items::batches(self),
            items::evaluations(self),
            runs::diamonds(self),
            runs::keyed(self),
            signals::waiting(self),
            cancellations::cancelled(self),
        );
        self.log("all work is accepted");
        Done { diamonds, keyed, signalled, cancelled, batches, evaluations, optimization }
    }

    /// Cancels runs that never end by themselves, and of which no answer has arrived.
    pub async fn end_unknown_work(&self, done: &Done) {
        let signalled = done.signalled.iter().map(|one| &one.run);
        let known: Vec<&str> = done.cancelled.iter().chain(signalled).map(|run| &*run.id).collect();
        let unended = "select id::text, session_id as mark from runs
                       where status in ('queued', 'running', 'waiting') and session_id is not null";
        for row in self.postgres.rows(unended).await {
            let (id, mark): (String, String) = (row.get("id"), row.get("mark"));
            if (mark.starts_with(ENDLESS) || mark.starts_with(WAITING)) && !known.contains(&&*id) {
                let path = format!("/v1/runs/{id}/cancel");
                let ask = Ask { path: &path, key: None, body: Some(serde_json::json!({})) };
                self.caller.send(0, &ask).await;
            }
        }
    }

    /// Waits until everything has ended, as long as some of it does.
    pub async fn ended(&self) {
        let mut left = self.postgres.count(&audit::unended()).await;
        while left > 0 {
            left = found(&format!("one of {left} to end"), async || {
                let now = self.postgres.count(&audit::unended()).await;
                (now != left).then_some(now)
            })
            .await;
        }
        self.log("all work has ended");
    }
}

fn setup(server: usize, lm: &Lm, engine: &Engine, postgres: &Postgres) -> ServerSetup {
    let mut setup = ServerSetup::new()
        .env("OPENAI_BASE_URL", &lm.url(server))
        .env("DSRS_MODELS__DEFAULT__MODEL", "fake")
        .env("DSRS_MODELS__DEFAULT__TIMEOUT_MS", HOUR_MS)
        .env("DSRS_LIMITS_RUN_TIMEOUT_MS", HOUR_MS)
        .env("DSRS_WORKER_CONCURRENCY", &AT_ONCE.to_string())
        .env("DSRS_WORKER_BATCH_CONCURRENCY", &ITEMS_AT_ONCE.to_string())
        .env("DSRS_WORKER_EVALUATION_CONCURRENCY", &ITEMS_AT_ONCE.to_string())
        .env("DSRS_WORKER_ATTEMPTS", "100")
        .env("DSRS_WORKER_LEASE", &format!("{}s", LEASE.as_secs()))
        .env("DSRS_DATABASE_MAX_CONNECTIONS", "8");
    for (name, text) in engine.settings(server, postgres) {
        setup = setup.env(name, &text);
    }
    clock::shifted(setup, clock::SHIFTS[server])
}
