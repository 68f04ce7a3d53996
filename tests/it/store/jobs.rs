//! Jobs: taken by one at a time, held by a lease, written only by the holder.

use std::time::Duration;

use dsrs_server::store::background_run::{self, Finished, NodeRow};
use dsrs_server::store::job::{self, Held, Job, JobKind, Lease};
use dsrs_server::store::run::{self, RunRow, RunStatus};
use dsrs_server::store::{Db, Scope};
use uuid::Uuid;

use super::{ann, database, run as new_run, tick};

/// A run that was accepted.
async fn accepted(db: &Db) -> RunRow {
    let run = RunRow { status: RunStatus::Queued, started_at: None, ..new_run("lasting") };
    background_run::accept(&ann(), db, &run, r#"{"timeout_ms": 5}"#).await.unwrap();
    run
}

const MINUTE: Duration = Duration::from_secs(60);

async fn take(db: &Db) -> Option<Job> {
    let queue = db.queue().await.unwrap();
    job::take(db, &queue, Uuid::now_v7(), MINUTE).await.unwrap()
}

fn node(name: &str, outcome: &str) -> NodeRow {
    let (usage, trace) = ("{}".to_owned(), r#"{"spans": []}"#.to_owned());
    NodeRow { node: name.into(), outcome: outcome.into(), usage, trace }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_job_is_taken_once_however_many_take() {
    let db = database().await;
    let mut runs = Vec::new();
    for _ in 0..20 {
        runs.push(accepted(&db).await.id);
    }
    let takers = (0..8).map(|_| {
        let db = db.clone();
        tokio::spawn(async move {
            let mut taken = Vec::new();
            while let Some(job) = take(&db).await {
                assert_eq!((job.attempt, job.cancelled), (1, false));
                assert_eq!((job.scope, job.request.as_str()), (ann(), r#"{"timeout_ms": 5}"#));
                taken.push(job.lease.job);
            }
            taken
        })
    });
    let mut taken = Vec::new();
    for taker in takers {
        taken.extend(taker.await.unwrap());
    }
    taken.sort_unstable();
    runs.sort_unstable();
    assert_eq!(taken, runs);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lapsed_lease_goes_to_another_and_its_holder_writes_nothing_any_more() {
    let db = database().await;
    let run = accepted(&db).await;
    let first = take(&db).await.unwrap().lease;
    assert!(background_run::begin(&db, first, tick()).await.unwrap());
    assert!(background_run::keep(&db, first, &node("a", "{}"), tick()).await.unwrap());
    assert_eq!(job::reclaim(&db).await.unwrap(), 0, "it has not lapsed");
    let renewed = job::renew(&db, &[first.holder], MINUTE).await.unwrap();
    assert_eq!(renewed.len(), 1);
    assert_eq!(job::reclaim(&db).await.unwrap(), 0);
    job::renew(&db, &[first.holder], Duration::ZERO).await.unwrap();
    assert_eq!(job::reclaim(&db).await.unwrap(), 1);

    let second = take(&db).await.unwrap();
    assert_eq!((second.lease.job, second.attempt), (run.id, 2));
    assert!(!background_run::begin(&db, first, tick()).await.unwrap());
    assert!(!background_run::keep(&db, first, &node("b", "{}"), tick()).await.unwrap());
    assert_eq!(background_run::finish(&db, first, &run, 1).await.unwrap(), Finished::Lost);
    assert!(!job::give_back(&db, first).await.unwrap());
    assert!(job::renew(&db, &[first.holder], MINUTE).await.unwrap().is_empty());
    let kept = background_run::nodes(&ann(), &db, run.id).await.unwrap();
    assert_eq!(kept.iter().map(|row| row.node.as_str()).collect::<Vec<_>>(), ["a"]);

    let done = RunRow { status: RunStatus::Succeeded, outputs: Some("{}".into()), ..run };
    let finish = |known| background_run::finish(&db, second.lease, &done, known);
    assert_eq!(finish(0).await.unwrap(), Finished::Behind, "a node has ended meanwhile");
    assert_eq!(finish(1).await.unwrap(), Finished::Done);
    assert_eq!(finish(1).await.unwrap(), Finished::Lost, "once");
    assert_eq!(run::get(&ann(), &db, done.id).await.unwrap().status, RunStatus::Succeeded);
    assert!(background_run::nodes(&ann(), &db, done.id).await.unwrap().is_empty());
    assert!(take(&db).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_given_back_is_next_again_and_was_no_attempt() {
    let db = database().await;
    let run = accepted(&db).await;
    let first = take(&db).await.unwrap();
    assert!(job::give_back(&db, first.lease).await.unwrap());
    let again = take(&db).await.unwrap();
    assert_eq!((again.lease.job, again.attempt), (run.id, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_told_to_stop_whoever_holds_it_and_only_within_its_workspace() {
    let db = database().await;
    let run = accepted(&db).await;
    let stranger = Scope { workspace: Uuid::now_v7(), actor: "eve".into() };
    assert_eq!(job::cancel(&stranger, &db, JobKind::Run, run.id).await.unwrap(), None);
    assert_eq!(job::cancel(&ann(), &db, JobKind::Run, run.id).await.unwrap(), Some(Held::ByNobody));
    let lease = Lease { job: run.id, holder: Uuid::now_v7() };
    assert!(job::seize(&db, lease, MINUTE).await.unwrap().unwrap().cancelled);
    assert_eq!(
        job::cancel(&ann(), &db, JobKind::Run, run.id).await.unwrap(),
        Some(Held::BySomeone)
    );
    let other = Lease { holder: Uuid::now_v7(), ..lease };
    assert!(job::seize(&db, other, MINUTE).await.unwrap().is_none());
    let renewed = job::renew(&db, &[lease.holder], MINUTE).await.unwrap();
    assert!(renewed[0].cancelled);
}
