//! Connections to Postgres that are silent without being closed: the writer, the leases and everything else get others.

use std::path::PathBuf;
use std::time::Duration;

use dsrs_server::config::Record;
use dsrs_server::store::background_run;
use dsrs_server::store::graph::{self, VersionSelection};
use dsrs_server::store::job;
use dsrs_server::store::run::{RunRow, RunStatus};
use dsrs_server::store::run_recorder::recorder;
use dsrs_server::store::{Db, PoolSettings, StoreError};
use futures_util::future::join_all;
use sqlx::{Connection, PgConnection};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::{ann, make, name, run as new_run};
use crate::support::{After, End, Wire, test_database};

/// A group has 8 s, and a silent connection is closed after 2 s.
const PATIENCE: Duration = Duration::from_secs(60);

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
async fn silence(wire: &Wire) {
    sleep(Duration::from_millis(300)).await;
    wire.cut(0);
    wire.heal(0, After::Silent);
}

/// Repeats an operation, as its callers do, until it succeeds.
async fn until_done(operation: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !operation().await {
        assert!(begun.elapsed() < PATIENCE, "it does not succeed");
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_writer_opens_another_connection_when_its_own_is_silent() {
    let (db, wire) = database().await;
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let writer = tokio::spawn(writer.run());
    let accept = async || {
        let run = RunRow { status: RunStatus::Queued, started_at: None, ..new_run("accepted") };
        background_run::accept(&ann(), &db, &run, "{}", None).await.is_ok()
    };
    assert!(accept().await);
    silence(&wire).await;
    until_done(accept).await;
    recorder.close();
    writer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_of_leases_that_was_given_up_leaves_its_connection() {
    let (db, wire) = database().await;
    let renew = async || {
        let holders = [Uuid::nil()];
        let renewing = job::renew(&db, &holders, PATIENCE);
        timeout(Duration::from_secs(1), renewing).await.is_ok_and(|renewed| renewed.is_ok())
    };
    assert!(renew().await);
    silence(&wire).await;
    assert!(!renew().await);
    until_done(renew).await;
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
    silence(&wire).await;
    for answer in timeout(PATIENCE, look_up(&db)).await.expect("an answer") {
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
    let mut waiting = Box::pin(look_up(&db));
    assert!(timeout(Duration::from_secs(1), &mut waiting).await.is_err(), "the table is locked");
    silence(&wire).await;
    locked.rollback().await.unwrap();
    assert!(timeout(Duration::from_secs(1), &mut waiting).await.is_err(), "nothing arrives");
    drop(waiting);
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
    let mut here = Box::pin(background_run::accept(&ann, &db, &run, "{}", None));
    assert!(timeout(Duration::from_secs(1), &mut here).await.is_err(), "the table is locked");
    wire.cut(0);
    locked.rollback().await.unwrap();
    sleep(Duration::from_millis(300)).await;

    let there = background_run::accept(&ann, &other, &run, "{}", None);
    timeout(Duration::from_secs(15), there).await.expect("the group of the other server").unwrap();
    wire.heal(0, After::Broken);
    here.await.unwrap();
    recorder_here.close();
    recorder_there.close();
    for writer in writers {
        writer.await.unwrap();
    }
}
