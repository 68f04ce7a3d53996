//! A replica answers lists of runs and look-ups of runs that have succeeded; if it fails or is late, the database
//! itself does. The replicas here are databases of their own, so that one sees which of them answered; a real one
//! is in `scripts/replica-test.sh`.

use std::time::Duration;

use dsrs_store::run::{RunFilter, RunRow, RunStatus};
use dsrs_store::{Db, ListQuery, PoolSettings, ReplicaSettings, StoreError, background_run, run};
use uuid::Uuid;

use super::{ann, run as new_run};
use dsrs_test::{drop_database, found, test_database};

/// The database with a replica, the replica as a database of its own, and its URL.
async fn pair() -> (Db, Db, String) {
    let (url, replica_url) = (test_database().await, test_database().await);
    let replica =
        ReplicaSettings { url: replica_url.clone().into(), max_lag: Duration::from_secs(5) };
    let settings = PoolSettings { replica: Some(replica), ..PoolSettings::default() };
    let db = Db::connect(&url, &settings).await.unwrap();
    let other = Db::connect(&replica_url, &PoolSettings::default()).await.unwrap();
    (db, other, replica_url)
}

async fn store(db: &Db, status: RunStatus) -> RunRow {
    let row = RunRow { status, ..new_run("q") };
    background_run::accept(&ann(), db, &row, "{}", &super::COMMIT).await.unwrap();
    row
}

async fn listed(db: &Db) -> Vec<Uuid> {
    let list = ListQuery::new(None, 10);
    let page = run::list(&ann(), db, &RunFilter::default(), list).await.unwrap();
    page.items.iter().map(|row| row.id).collect()
}

async fn watched(db: &Db) {
    let db = db.clone();
    tokio::spawn(async move { db.watch().await });
}

async fn until_listed(db: &Db, expected: &[Uuid]) {
    let is_listed = async || (listed(db).await == expected).then_some(());
    found(&format!("a list of {expected:?}"), is_listed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_answers_lists_and_runs_that_have_succeeded() {
    let (db, replica, _) = pair().await;
    let here = store(&db, RunStatus::Queued).await;
    let there = store(&replica, RunStatus::Succeeded).await;
    assert_eq!(listed(&db).await, [here.id], "it was not looked at yet");
    watched(&db).await;
    until_listed(&db, &[there.id]).await;
    // It is asked while its last look was in time.
    let get = async || background_run::get(&ann(), &db, there.id).await.ok();
    let found = found("the run of the replica", get).await;
    assert_eq!((found.run.id, found.run.status), (there.id, RunStatus::Succeeded));
    let found = background_run::get(&ann(), &db, here.id).await.unwrap();
    assert_eq!(found.run.status, RunStatus::Queued, "the replica does not have it");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_change_is_read_from_the_database_itself() {
    let (db, replica, _) = pair().await;
    watched(&db).await;
    for status in [RunStatus::Queued, RunStatus::Waiting, RunStatus::Failed, RunStatus::Cancelled] {
        let there = store(&replica, status).await;
        until_listed(&db, &listed(&replica).await).await;
        let found = background_run::get(&ann(), &db, there.id).await;
        assert!(matches!(found, Err(StoreError::NotFound { .. })), "{status}: {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_workspace_sees_nothing_of_the_replica() {
    let (db, replica, _) = pair().await;
    let there = store(&replica, RunStatus::Succeeded).await;
    watched(&db).await;
    until_listed(&db, &[there.id]).await;
    let eve = dsrs_store::Scope { workspace: Uuid::now_v7(), actor: "eve".into() };
    let found = background_run::get(&eve, &db, there.id).await;
    assert!(matches!(found, Err(StoreError::NotFound { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_replica_the_database_answers() {
    let (db, replica, url) = pair().await;
    let here = store(&db, RunStatus::Succeeded).await;
    let there = store(&replica, RunStatus::Succeeded).await;
    watched(&db).await;
    until_listed(&db, &[there.id]).await;
    replica.close().await;
    drop_database(&url).await;
    assert_eq!(listed(&db).await, [here.id]);
    background_run::get(&ann(), &db, here.id).await.unwrap();
}
