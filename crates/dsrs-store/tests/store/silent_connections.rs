//! Connections to Postgres that are silent without being closed: the writer, the leases and everything else get others.

use std::path::PathBuf;
use std::time::Duration;

use dsrs_config::Record;
use dsrs_store::background_run;
use dsrs_store::graph::{self, VersionSelection};
use dsrs_store::job;
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_recorder::recorder;
use dsrs_store::{Db, PoolSettings, StoreError};
use futures_util::future::join_all;
use sqlx::{Connection, PgConnection};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::{HOUR, ann, begun_to_wait, make, name, run as new_run};
use dsrs_test::{After, End, Wire, found, holds, test_database, within};

/// When Postgres ends the transaction of a session that sends nothing more, unless it is one of the writer.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// A database behind a wire.
async fn database() -> (Db, Wire) {
    database_at(&test_database().await).await
}

async fn database_at(url: &str) -> (Db, Wire) {
    let url = url::Url::parse(url).unwrap();
    let (_, directory) = url.query_pairs().find(|(name, _)| name == "host").unwrap();
    let socket = PathBuf::from(directory.into_owned()).join(".s.PGSQL.5432");
    let wire = Wire::to(vec![End::Socket(socket)]).await;
    let (user, address, name) = (url.username(), wire.address, url.path());
    let url = format!("postgres://{user}@{address}{name}?sslmode=disable");
    (Db::connect(&url, &PoolSettings::default()).await.unwrap(), wire)
}

/// The connections of before are silent from now on, others work. The test that a pool makes itself of a returned
/// connection has no limit (sqlx), so none is in progress then.
async fn silence(db: &Db, wire: &Wire) {
    holds("connections to be idle", || db.pool_sizes().iter().all(|pool| pool.idle == pool.open))
        .await;
    hush(wire);
}

fn hush(wire: &Wire) {
    wire.cut(0);
    wire.heal(0, After::Silent);
}

/// Repeats an operation, as its callers do, until it succeeds.
async fn until_done(operation: impl AsyncFn() -> bool) {
    found("an operation to succeed", async || operation().await.then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_writer_opens_another_connection_when_its_own_is_silent() {
    let (db, wire) = database().await;
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let writer = tokio::spawn(writer.run());
    let accept = async || {
        let run = RunRow { status: RunStatus::Queued, started_at: None, ..new_run("accepted") };
        background_run::accept(&ann(), &db, &run, "{}", &super::COMMIT).await.is_ok()
    };
    assert!(accept().await);
    silence(&db, &wire).await;
    until_done(accept).await;
    recorder.close();
    writer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_of_leases_that_was_given_up_leaves_its_connection() {
    let (db, wire) = database().await;
    let renew = async || job::renew(&db, &[Uuid::nil()], HOUR).await.is_ok();
    assert!(renew().await);
    silence(&db, &wire).await;
    assert!(timeout(Duration::from_secs(1), renew()).await.is_err(), "nothing arrives");
    until_done(renew).await;
}

/// Counts the other sessions of the database in a state.
async fn sessions(session: &mut PgConnection, state: &str) -> i64 {
    let count = "select count(*) from pg_stat_activity
                 where datname = current_database() and state = $1 and pid <> pg_backend_pid()";
    sqlx::query_scalar(count).bind(state).fetch_one(session).await.unwrap()
}

async fn until_a_session_is(session: &mut PgConnection, state: &str) {
    let is_there = async || (sessions(session, state).await > 0).then_some(());
    found(&format!("a session that is {state}"), is_there).await;
}

async fn until_no_session_is(session: &mut PgConnection, state: &str) {
    let is_gone = async || (sessions(session, state).await == 0).then_some(());
    found(&format!("no session that is {state}"), is_gone).await;
}

/// Looks up the graph over every connection of the pool at once.
async fn look_up(db: &Db) -> Vec<Result<(), StoreError>> {
    let graph = name("asked");
    let get = async || graph::get(&ann(), db, &graph, VersionSelection::NEWEST).await.map(drop);
    join_all((0..PoolSettings::default().max_connections).map(|_| get())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pool_replaces_connections_that_turned_silent_while_they_were_idle() {
    let (db, wire) = database().await;
    make(&db, "asked").await.unwrap();
    assert!(look_up(&db).await.iter().all(Result::is_ok));
    silence(&db, &wire).await;
    for answer in within("an answer", look_up(&db)).await {
        assert!(matches!(answer, Ok(()) | Err(StoreError::Unavailable { .. })), "{answer:?}");
    }
    until_done(async || look_up(&db).await.iter().all(Result::is_ok)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_in_flight_that_is_given_up_leaves_its_place_in_the_pool() {
    let url = test_database().await;
    let (db, wire) = database_at(&url).await;
    make(&db, "asked").await.unwrap();
    let mut owner = PgConnection::connect(&url).await.unwrap();
    let mut locked = owner.begin().await.unwrap();
    sqlx::raw_sql("lock table graphs").execute(&mut *locked).await.unwrap();
    let waiting = tokio::spawn({
        let db = db.clone();
        async move { look_up(&db).await }
    });
    begun_to_wait(&mut locked, PoolSettings::default().max_connections as usize).await;
    hush(&wire);
    locked.rollback().await.unwrap();
    until_no_session_is(&mut owner, "active").await;
    assert!(!waiting.is_finished(), "nothing arrives");
    waiting.abort();
    let _ = waiting.await;
    until_done(async || look_up(&db).await.iter().all(Result::is_ok)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_a_server_that_is_cut_off_delays_the_writers_of_others_for_seconds_only() {
    let url = test_database().await;
    let (db, wire) = database_at(&url).await;
    let other = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let (recorder_here, writer) = recorder(db.clone(), Record::Ack);
    let (recorder_there, other_writer) = recorder(other.clone(), Record::Ack);
    let writers = [tokio::spawn(writer.run()), tokio::spawn(other_writer.run())];
    let run = RunRow { status: RunStatus::Queued, started_at: None, ..new_run("accepted") };
    let ann = ann();

    let mut owner = PgConnection::connect(&url).await.unwrap();
    let mut locked = owner.begin().await.unwrap();
    sqlx::raw_sql("lock table jobs in share mode").execute(&mut *locked).await.unwrap();
    let here = tokio::spawn({
        let (ann, run) = (ann.clone(), run.clone());
        async move { background_run::accept(&ann, &db, &run, "{}", &super::COMMIT).await }
    });
    begun_to_wait(&mut locked, 1).await;
    wire.cut(0);
    locked.rollback().await.unwrap();
    until_a_session_is(&mut owner, "idle in transaction").await;

    let begun = Instant::now();
    let there =
        async || background_run::accept(&ann, &other, &run, "{}", &super::COMMIT).await.is_ok();
    until_done(there).await;
    assert!(begun.elapsed() < FORGOTTEN, "the group has waited for a forgotten transaction");
    wire.heal(0, After::Broken);
    // Its own group may be given up by now.
    let _ = here.await.unwrap();
    recorder_here.close();
    recorder_there.close();
    for writer in writers {
        writer.await.unwrap();
    }
}
