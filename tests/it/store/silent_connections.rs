//! Connections to Postgres that are silent without being closed: the writer and the leases get others.

use std::path::PathBuf;
use std::time::Duration;

use dsrs_server::config::Record;
use dsrs_server::store::background_run;
use dsrs_server::store::job;
use dsrs_server::store::run::{RunRow, RunStatus};
use dsrs_server::store::run_recorder::recorder;
use dsrs_server::store::{Db, PoolSettings};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::{ann, run as new_run};
use crate::support::{After, End, Wire, test_database};

/// A group has 8 s, and a silent connection is closed after 2 s.
const PATIENCE: Duration = Duration::from_secs(60);

/// A database behind a wire.
async fn database() -> (Db, Wire) {
    let url = url::Url::parse(&test_database().await).unwrap();
    let (_, directory) = url.query_pairs().find(|(name, _)| name == "host").unwrap();
    let socket = PathBuf::from(directory.into_owned()).join(".s.PGSQL.5432");
    let wire = Wire::to(vec![End::Socket(socket)]).await;
    let (user, address, name) = (url.username(), wire.address, url.path());
    let url = format!("postgres://{user}@{address}{name}?sslmode=disable");
    (Db::connect(&url, &PoolSettings::default()).await.unwrap(), wire)
}

/// The connections of before are silent from now on, others work.
fn silence(wire: &Wire) {
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
    silence(&wire);
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
    silence(&wire);
    assert!(!renew().await);
    until_done(renew).await;
}
