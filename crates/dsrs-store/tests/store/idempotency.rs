//! Idempotency keys: one does it, the others wait or get the same answer.

use chrono::{DateTime, TimeDelta, Utc};
use dsrs_store::idempotency::{
    KeyLease, KeyLookup, KeyRef, KeyTimes, KeyedAnswer, StoredResponse, abandon, begin, complete,
    purge,
};
use dsrs_store::job::Ending;
use dsrs_store::run::{RunFilter, RunRow, RunStatus, list};
use dsrs_store::{Db, ListQuery, Scope, StoreError, background_run};
use uuid::Uuid;

use super::{ann, database, run, tick};

const KEEP: TimeDelta = TimeDelta::hours(24);
const KEY: KeyRef<'static> = KeyRef { route: "POST /v1/graphs", key: "k-1" };

async fn begin_as(scope: &Scope, db: &Db, body: &[u8], now: DateTime<Utc>) -> KeyLookup {
    begin_with(scope, db, body, now, Uuid::now_v7()).await
}

async fn begin_with(
    scope: &Scope,
    db: &Db,
    body: &[u8],
    now: DateTime<Utc>,
    holder: Uuid,
) -> KeyLookup {
    let lease_until = now + TimeDelta::minutes(10);
    let times = KeyTimes { now, lease_until, expires_at: now + KEEP };
    begin(scope, db, &KEY, body, holder, times).await.unwrap()
}

fn lease(begun: KeyLookup) -> KeyLease {
    match begun {
        KeyLookup::New(lease) => lease,
        other => panic!("not the first: {other:?}"),
    }
}

fn answer() -> StoredResponse {
    let headers = vec![("etag".to_owned(), "\"1\"".to_owned())];
    StoredResponse { status: 201, headers, body: b"{\"a\":\"\\u0000\0\xff\"}".to_vec() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_waits_for_the_first_and_then_gets_its_answer() {
    let (db, ann, now) = (database().await, ann(), tick());
    let lease = lease(begin_as(&ann, &db, b"body", now).await);
    assert_eq!(begin_as(&ann, &db, b"body", now).await, KeyLookup::InProgress);
    assert_eq!(begin_as(&ann, &db, b"other", now).await, KeyLookup::Reused);
    assert!(complete(&ann, &db, &KEY, lease, &answer()).await.unwrap());
    assert_eq!(begin_as(&ann, &db, b"body", now).await, KeyLookup::Replay(answer()));
    assert_eq!(begin_as(&ann, &db, b"other", now).await, KeyLookup::Reused);
    assert!(matches!(begin_as(&Scope::of("bob"), &db, b"other", now).await, KeyLookup::New(_)));
    let next_day = now + KEEP;
    assert!(matches!(begin_as(&ann, &db, b"other", next_day).await, KeyLookup::New(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_answer_frees_the_key() {
    let (db, ann, now) = (database().await, ann(), tick());
    let first = lease(begin_as(&ann, &db, b"body", now).await);
    assert!(abandon(&ann, &db, &KEY, first).await.unwrap());
    lease(begin_as(&ann, &db, b"other", now).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_request_is_taken_over_after_its_lease() {
    let (db, ann, now) = (database().await, ann(), tick());
    let crashed = lease(begin_as(&ann, &db, b"body", now).await);
    let later = now + TimeDelta::minutes(10);
    assert_eq!(begin_as(&ann, &db, b"other", later).await, KeyLookup::Reused);
    let second = lease(begin_as(&ann, &db, b"body", later).await);
    assert!(!complete(&ann, &db, &KEY, crashed, &answer()).await.unwrap(), "it came too late");
    assert!(!abandon(&ann, &db, &KEY, crashed).await.unwrap());
    assert!(complete(&ann, &db, &KEY, second, &answer()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_stored_with_its_work_or_neither_is() {
    let (db, ann, now) = (database().await, ann(), tick());
    let later = now + TimeDelta::minutes(10);
    let [slow, next] = [Uuid::now_v7(), Uuid::now_v7()];
    begin_with(&ann, &db, b"body", now, slow).await;
    begin_with(&ann, &db, b"body", later, next).await;
    let start = |holder: Uuid| {
        let (db, ann) = (db.clone(), ann.clone());
        let run = RunRow { status: RunStatus::Queued, started_at: None, ..run("late") };
        let (route, key) = (KEY.route.to_owned(), KEY.key.into());
        let answer = KeyedAnswer { route, key, holder, response: answer() };
        async move { background_run::accept(&ann, &db, &run, "{}", &Ending::Commit(Some(answer))).await }
    };
    assert!(matches!(start(slow).await, Err(StoreError::KeyTaken)));
    let runs = || async {
        let filter = RunFilter::default();
        list(&ann, &db, &filter, ListQuery::new(None, 9)).await.unwrap().items.len()
    };
    assert_eq!(runs().await, 0);
    start(next).await.unwrap();
    assert_eq!(runs().await, 1);
    assert_eq!(begin_as(&ann, &db, b"body", later).await, KeyLookup::Replay(answer()));
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_one_of_many_concurrent_requests_is_the_first() {
    let (db, now) = (database().await, tick());
    let tasks: Vec<_> = (0..24)
        .map(|_| {
            let db = db.clone();
            tokio::spawn(async move { begin_as(&ann(), &db, b"body", now).await })
        })
        .collect();
    let mut first = 0;
    for task in tasks {
        match task.await.unwrap() {
            KeyLookup::New(_) => first += 1,
            other => assert_eq!(other, KeyLookup::InProgress),
        }
    }
    assert_eq!(first, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_expired_keys_are_purged() {
    let (db, ann, now) = (database().await, ann(), tick());
    begin_as(&ann, &db, b"body", now).await;
    assert_eq!(purge(&ann, &db, now + KEEP - TimeDelta::seconds(1)).await.unwrap(), 0);
    assert_eq!(purge(&ann, &db, now + KEEP).await.unwrap(), 1);
}
