//! The store against a real Postgres, without HTTP above it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod checkpoints;
mod engine_runs;
mod graphs;
mod group_writer;
mod idempotency;
mod isolation;
mod jobs;
mod migrations;
mod offline_queries;
mod partitions;
mod recorder;
mod replica;
mod retention;
mod run_bodies;
mod run_events;
mod runs;
mod silent_connections;
mod spending;
mod states;
mod upkeep;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use dsrs_store::graph::{self, GraphRef, GraphRow, NewGraph};
use dsrs_store::graph_version::NewGraphVersion;
use dsrs_store::id_time::first_id;
use dsrs_store::job::Ending;
use dsrs_store::run::{RunRow, RunStatus, RunStorage};
use dsrs_store::run_label::RunLabels;
use dsrs_store::run_progress::RecordedCheckpoints;
use dsrs_store::state::NewState;
use dsrs_store::{Db, PoolSettings, Scope, StoreError};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use dsrs_test::found;

/// A lease that does not expire in a test.
const HOUR: Duration = Duration::from_secs(3600);

async fn database() -> Db {
    let url = dsrs_test::test_database().await;
    Db::connect(&url, &PoolSettings::default()).await.unwrap()
}

/// So many checkpoints, which have spent nothing.
fn recorded(count: i64) -> RecordedCheckpoints {
    RecordedCheckpoints { count, ..RecordedCheckpoints::default() }
}

/// Work is stored for a request without a key.
const COMMIT: Ending = Ending::Commit(None);

/// Waits until sessions of a database have begun so often to wait for a lock on a table. The session itself may be in a
/// transaction.
async fn begun_to_wait(session: &mut PgConnection, times: usize) {
    let waits =
        "select pid, waitstart::text from pg_locks where not granted and waitstart is not null
                 and database = (select oid from pg_database where datname = current_database())";
    let mut begun = BTreeSet::new();
    found("a session to wait for a lock", async || {
        for row in sqlx::query(waits).fetch_all(&mut *session).await.unwrap() {
            begun.insert((row.get::<i32, _>("pid"), row.get::<String, _>("waitstart")));
        }
        (begun.len() >= times).then_some(())
    })
    .await;
}

fn ann() -> Scope {
    Scope::of("ann")
}

/// A time a second after the one before.
fn tick() -> DateTime<Utc> {
    static SECONDS: AtomicI64 = AtomicI64::new(0);
    let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    start + TimeDelta::seconds(SECONDS.fetch_add(1, Ordering::Relaxed))
}

/// An id that was made at a time.
fn id_at(at: DateTime<Utc>) -> Uuid {
    let random = Uuid::new_v4().as_u128() & (u128::MAX >> 48);
    Uuid::from_u128(first_id(at).as_u128() | random)
}

fn name(text: &str) -> GraphRef {
    GraphRef::Name(text.into())
}

fn version(definition: &str) -> NewGraphVersion<'_> {
    NewGraphVersion {
        description: None,
        format: 1,
        definition,
        content_hash: definition,
        expose: None,
    }
}

fn state(predictors: &str) -> NewState<'_> {
    NewState { predictors, content_hash: predictors, ..NewState::default() }
}

async fn make(db: &Db, name: &str) -> Result<GraphRow, StoreError> {
    let new = NewGraph {
        id: Uuid::now_v7(),
        name,
        version: version("{}"),
        state: state("{}"),
        at: tick(),
    };
    graph::create(&ann(), db, new).await
}

fn run(graph: &str) -> RunRow {
    let created_at = tick();
    RunRow {
        id: id_at(created_at),
        graph_id: Uuid::nil(),
        graph_name: graph.into(),
        graph_version: 1,
        state_version: 1,
        status: RunStatus::Succeeded,
        created_at,
        started_at: Some(tick()),
        finished_at: None,
        duration_ms: Some(12),
        inputs: r#"{"ticket": "it broke"}"#.into(),
        outputs: Some(r#"{"answer": "sorry"}"#.into()),
        error: None,
        usage: r#"{"lm_calls": 1}"#.into(),
        nodes: "{}".into(),
        trace: r#"{"spans": []}"#.into(),
        created_by: "ann".into(),
        labels: RunLabels::default(),
        storage: RunStorage::default(),
    }
}
