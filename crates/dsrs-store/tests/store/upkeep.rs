//! The database itself: migrations, reachability, news of changes.

use dsrs_store::graph_edit::{ExpectedVersion, lock};
use dsrs_store::{Db, PoolSettings, StoreError};

use sqlx::Connection;

use super::{ann, database, make, name, state, tick};
use dsrs_test::holds;

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_migrations_are_serialized() {
    let url = dsrs_test::empty_database().await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    assert!(!db.is_migrated().await.unwrap());
    let servers: Vec<_> = (0..4)
        .map(|_| {
            let db = db.clone();
            tokio::spawn(async move { db.migrate().await })
        })
        .collect();
    for server in servers {
        server.await.unwrap().unwrap();
    }
    assert!(db.is_migrated().await.unwrap());
    make(&db, "first").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_release_starts_on_a_newer_database() {
    let url = dsrs_test::test_database().await;
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
         values (9999, 'from the future', true, '', 0)",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    db.migrate().await.unwrap();
    assert!(db.is_migrated().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_address_is_reported_at_once_without_its_password() {
    let url = "postgres://someone:s3cret@127.0.0.1:1/nowhere";
    let error = Db::connect(url, &PoolSettings::default()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("s3cret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_of_a_graph_moves_the_epoch_on_all_servers() {
    let url = dsrs_test::test_database().await;
    let here = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let there = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    assert_eq!(there.changes().epoch_of_all(), None, "nobody listens yet");
    let watch = |db: &Db| {
        let db = db.clone();
        tokio::spawn(async move { db.watch().await })
    };
    let watchers = [watch(&here), watch(&there)];
    holds("a change to be announced", || {
        here.changes().epoch_of_all().is_some() && there.changes().epoch_of_all().is_some()
    })
    .await;

    let before = (here.changes().epoch_of_all(), there.changes().epoch_of_all());
    make(&here, "reply").await.unwrap();
    assert_ne!(here.changes().epoch_of_all(), before.0, "the writer knows at once");
    holds("a change to be announced", || there.changes().epoch_of_all() != before.1).await;

    let before = there.changes().epoch_of_all();
    let locked = lock(&ann(), &here, &name("reply"), ExpectedVersion::Newest).await.unwrap();
    locked.put_state(state("{}"), tick()).await.unwrap();
    holds("a change to be announced", || there.changes().epoch_of_all() != before).await;

    for watcher in watchers {
        watcher.abort();
        assert!(watcher.await.unwrap_err().is_cancelled());
    }
    assert_eq!(here.changes().epoch_of_all(), None, "nothing may be remembered any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_answers_is_pinged() {
    database().await.ping().await.unwrap();
}
