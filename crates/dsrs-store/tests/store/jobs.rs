//! Jobs: claimed by one worker at a time, with a lease, and written only by its holder.

use std::sync::Arc;
use std::time::Duration;

use dsrs_store::background_run;
use dsrs_store::cancellation::Cancellation;
use dsrs_store::group_writer::{self, CommitOutcome};
use dsrs_store::job::{self, ClaimState, Job, Lease, TakenOver};
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_progress::NodeRow;
use dsrs_store::waiting_run::{self, ParkOutcome, SignalOutcome};
use dsrs_store::{Db, PoolSettings, Scope, batch, evaluation};
use sqlx::{Connection, PgConnection};
use tokio::time::timeout;
use uuid::Uuid;

use super::{HOUR, ann, database, run as new_run, tick};
use dsrs_test::{test_database, within};

/// A queued run.
async fn queued(db: &Db) -> RunRow {
    let run = RunRow { status: RunStatus::Queued, started_at: None, ..new_run("lasting") };
    background_run::accept(&ann(), db, &run, r#"{"timeout_ms": 5}"#, &super::COMMIT).await.unwrap();
    run
}

async fn claim_many(db: &Db, count: usize) -> Vec<Job> {
    let holders: Vec<Uuid> = (0..count).map(|_| Uuid::now_v7()).collect();
    job::claim(db, &[background_run::JOB], &holders, &[], HOUR).await.unwrap()
}

async fn claim(db: &Db) -> Option<Job> {
    claim_many(db, 1).await.pop()
}

fn node(name: &str, outcome: &str) -> Arc<NodeRow> {
    let (usage, trace) = ("{}".to_owned(), r#"{"spans": []}"#.to_owned());
    Arc::new(NodeRow {
        node: name.into(),
        outcome: outcome.into(),
        usage,
        trace,
        prefixes: Vec::new(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_job_is_claimed_once_by_many_workers() {
    let db = database().await;
    let mut runs = Vec::new();
    for _ in 0..200 {
        runs.push(queued(&db).await.id);
    }
    let workers = (0..8).map(|worker| {
        let db = db.clone();
        tokio::spawn(async move {
            let mut claimed = Vec::new();
            loop {
                let jobs = claim_many(&db, 1 + worker).await;
                if jobs.is_empty() {
                    return claimed;
                }
                assert!(jobs.len() <= 1 + worker, "no more than there are slots");
                for job in jobs {
                    assert_eq!((job.attempt, job.cancelled), (1, false));
                    assert_eq!((job.scope, job.request.as_str()), (ann(), r#"{"timeout_ms": 5}"#));
                    claimed.push(job.lease);
                }
            }
        })
    });
    let mut claimed = Vec::new();
    for worker in workers {
        claimed.extend(worker.await.unwrap());
    }
    let mut jobs: Vec<Uuid> = claimed.iter().map(|lease| lease.job).collect();
    jobs.sort_unstable();
    runs.sort_unstable();
    assert_eq!(jobs, runs, "no job twice, none lost");
    let mut holders: Vec<Uuid> = claimed.iter().map(|lease| lease.holder).collect();
    holders.sort_unstable();
    holders.dedup();
    assert_eq!(holders.len(), runs.len(), "each job has a holder of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_requeue_and_finish_jobs_without_losing_any() {
    let db = database().await;
    let mut runs = Vec::new();
    for _ in 0..60 {
        runs.push(queued(&db).await.id);
    }
    // Of three jobs a worker requeues the first, lets the lease of the second expire, and finishes the
    // third, counted over all its claims, so that a single job is finished too.
    let workers = (0..6).map(|_| {
        let db = db.clone();
        tokio::spawn(async move {
            let (mut ended, mut empty, mut turn) = (Vec::new(), 0, 0);
            while empty < 20 {
                let jobs = claim_many(&db, 4).await;
                if jobs.is_empty() {
                    empty += 1;
                    job::requeue_expired(&db).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                for job in jobs {
                    let lease = job.lease;
                    turn += 1;
                    match turn % 3 {
                        1 => assert!(job::requeue(&db, lease).await.unwrap()),
                        2 => {
                            job::renew(&db, &[lease.holder], Duration::ZERO).await.unwrap();
                            job::requeue_expired(&db).await.unwrap();
                        }
                        _ => {
                            let done = Arc::new(RunRow { id: lease.job, ..new_run("lasting") });
                            let outcome = background_run::finish(
                                &ann(),
                                &db,
                                lease,
                                &done,
                                super::recorded(0),
                            )
                            .await;
                            assert_eq!(outcome.unwrap(), CommitOutcome::Stored);
                            ended.push(lease.job);
                        }
                    }
                }
            }
            ended
        })
    });
    let mut ended = Vec::new();
    for worker in workers {
        ended.extend(worker.await.unwrap());
    }
    // What the workers have left in the queue is there once.
    let mut left: Vec<Uuid> = claim_many(&db, 100).await.iter().map(|job| job.lease.job).collect();
    left.append(&mut ended);
    left.sort_unstable();
    runs.sort_unstable();
    assert_eq!(left, runs);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_jobs_are_claimed_first() {
    let db = database().await;
    let mut runs = Vec::new();
    for _ in 0..5 {
        runs.push(queued(&db).await.id);
    }
    let mut first: Vec<Uuid> = claim_many(&db, 2).await.iter().map(|job| job.lease.job).collect();
    first.sort_unstable();
    let mut oldest = runs[..2].to_vec();
    oldest.sort_unstable();
    assert_eq!(first, oldest);
    assert_eq!(claim(&db).await.unwrap().lease.job, runs[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_jobs_of_the_requested_types_are_claimed() {
    let db = database().await;
    let run = queued(&db).await;
    let holders = [Uuid::now_v7(), Uuid::now_v7()];
    let others = [batch::JOB, evaluation::JOB];
    assert!(job::claim(&db, &others, &holders, &[], HOUR).await.unwrap().is_empty());
    let claimed = claim(&db).await.unwrap();
    assert_eq!((claimed.lease.job, claimed.attempt), (run.id, 1), "that was no attempt");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_lease_returns_the_job_and_blocks_its_old_holder() {
    let db = database().await;
    let run = queued(&db).await;
    let first = claim(&db).await.unwrap().lease;
    let begin = |lease| group_writer::begin(&db, background_run::JOB, lease, tick());
    assert!(begin(first).await.unwrap());
    assert!(
        background_run::record_node(&ann(), &db, first, None, &node("a", "{}"), tick())
            .await
            .unwrap()
    );
    assert_eq!(job::requeue_expired(&db).await.unwrap(), 0, "it has not expired");
    let renewed = job::renew(&db, &[first.holder], HOUR).await.unwrap();
    assert_eq!(renewed.len(), 1);
    assert_eq!(job::requeue_expired(&db).await.unwrap(), 0);
    job::renew(&db, &[first.holder], Duration::ZERO).await.unwrap();
    assert_eq!(job::requeue_expired(&db).await.unwrap(), 1);

    let second = claim(&db).await.unwrap();
    assert_eq!((second.lease.job, second.attempt), (run.id, 2));
    assert!(!begin(first).await.unwrap());
    assert!(
        !background_run::record_node(&ann(), &db, first, None, &node("b", "{}"), tick())
            .await
            .unwrap()
    );
    assert_eq!(
        background_run::finish(&ann(), &db, first, &run.clone().into(), super::recorded(1))
            .await
            .unwrap(),
        CommitOutcome::LeaseLost
    );
    assert!(!job::requeue(&db, first).await.unwrap());
    assert!(job::renew(&db, &[first.holder], HOUR).await.unwrap().is_empty());
    let stored = background_run::get(&ann(), &db, run.id).await.unwrap().nodes;
    assert_eq!(stored.iter().map(|row| row.node.as_str()).collect::<Vec<_>>(), ["a"]);

    let done = Arc::new(RunRow { status: RunStatus::Succeeded, outputs: Some("{}".into()), ..run });
    let ann = ann();
    let finish = |known| background_run::finish(&ann, &db, second.lease, &done, known);
    assert_eq!(
        finish(super::recorded(0)).await.unwrap(),
        CommitOutcome::Behind,
        "a node has ended meanwhile"
    );
    assert_eq!(finish(super::recorded(1)).await.unwrap(), CommitOutcome::Stored);
    assert_eq!(finish(super::recorded(1)).await.unwrap(), CommitOutcome::LeaseLost, "once");
    assert_eq!(job::get::<RunRow>(&ann, &db, done.id).await.unwrap().status, RunStatus::Succeeded);
    assert!(background_run::get(&ann, &db, done.id).await.unwrap().nodes.is_empty());
    assert!(claim(&db).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requeued_job_is_claimable_and_its_attempt_does_not_count() {
    let db = database().await;
    let run = queued(&db).await;
    let first = claim(&db).await.unwrap();
    assert!(job::requeue(&db, first.lease).await.unwrap());
    let again = claim(&db).await.unwrap();
    assert_eq!((again.lease.job, again.attempt), (run.id, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_reaches_any_holder_within_the_workspace() {
    let db = database().await;
    let run = queued(&db).await;
    let stranger = Scope { workspace: Uuid::now_v7(), actor: "eve".into() };
    let cancel = async |scope: &Scope| {
        job::cancel(scope, &db, background_run::JOB, run.id, tick()).await.unwrap()
    };
    assert_eq!(cancel(&stranger).await, None);
    assert_eq!(cancel(&ann()).await, Some(ClaimState::Unclaimed));
    let workspace = ann().workspace;
    let lease = Lease { job: run.id, holder: Uuid::now_v7(), workspace };
    assert!(job::claim_by_id(&db, lease, HOUR).await.unwrap().unwrap().cancelled);
    assert_eq!(cancel(&ann()).await, Some(ClaimState::Claimed));
    let other = Lease { holder: Uuid::now_v7(), ..lease };
    assert!(job::claim_by_id(&db, other, HOUR).await.unwrap().is_none());
    let renewed = job::renew(&db, &[lease.holder], HOUR).await.unwrap();
    assert!(renewed[0].cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_reaches_other_servers_with_the_workspace_of_the_client() {
    let db = database().await;
    let mut cancellations = db.notifications().cancellations();
    let listening = tokio::spawn({
        let db = db.clone();
        async move { db.watch().await }
    });
    let stranger = Scope { workspace: Uuid::now_v7(), actor: "eve".into() };
    let run = Uuid::now_v7();
    // It listens a moment later: what is sent until then does not arrive.
    let received = async {
        loop {
            job::cancel(&stranger, &db, background_run::JOB, run, tick()).await.unwrap();
            if let Ok(received) = timeout(Duration::from_millis(200), cancellations.recv()).await {
                return received.unwrap();
            }
        }
    };
    let cancelled = within("a cancellation", received).await;
    assert_eq!(cancelled, Cancellation { run, workspace: stranger.workspace });
    listening.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_job_in_the_queue_is_still_claimable() {
    let db = database().await;
    let run = queued(&db).await;
    job::cancel(&ann(), &db, background_run::JOB, run.id, tick()).await.unwrap();
    let claimed = claim(&db).await.unwrap();
    assert_eq!((claimed.lease.job, claimed.cancelled), (run.id, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_job_is_claimable_once_its_value_arrives() {
    let db = database().await;
    let run = queued(&db).await;
    let lease = claim(&db).await.unwrap().lease;
    let waiting = ["approve".to_owned()];
    let parked = waiting_run::park(&db, lease, "{}", &waiting).await.unwrap();
    assert_eq!(parked, ParkOutcome::Done);
    assert!(claim(&db).await.is_none(), "it is parked");
    let signal = |name: &str| {
        let value = node(name, "{}");
        let (db, id) = (db.clone(), run.id);
        async move { waiting_run::signal(&ann(), &db, id, &value, tick(), None).await.unwrap() }
    };
    assert_eq!(signal("approve").await, SignalOutcome::Accepted);
    assert_eq!(signal("approve").await, SignalOutcome::Already);
    let claimed = claim(&db).await.unwrap();
    assert_eq!((claimed.lease.job, claimed.attempt), (run.id, 1));
    // The value has arrived before the run is parked again.
    waiting_run::park(&db, claimed.lease, "{}", &waiting).await.unwrap();
    assert!(claim(&db).await.is_some(), "it is queued at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_newer_release_is_left_alone() {
    let url = test_database().await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let (run, kinds) = (queued(&db).await, [background_run::JOB]);
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let format = |format: i16| format!("update jobs set format = {format}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(format(i16::MAX))).execute(&mut connection).await.unwrap();
    assert!(claim(&db).await.is_none(), "no worker of this release claims it");
    let holders = [Uuid::now_v7()];
    assert!(job::take_queued(&db, &kinds, &holders, HOUR).await.unwrap().is_empty());
    sqlx::raw_sql(sqlx::AssertSqlSafe(format(1))).execute(&mut connection).await.unwrap();
    let sent = job::take_queued(&db, &kinds, &holders, HOUR).await.unwrap();
    assert_eq!(sent[0].job, run.id);
    job::set_dispatched(&db, &holders).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(format(i16::MAX))).execute(&mut connection).await.unwrap();
    let attempt = Uuid::now_v7();
    let taken = job::take_over(&db, run.id, attempt, &kinds, &[]).await.unwrap();
    assert!(matches!(taken, TakenOver::Newer), "nor does one that the engine asks");
    sqlx::raw_sql(sqlx::AssertSqlSafe(format(1))).execute(&mut connection).await.unwrap();
    let taken = job::take_over(&db, run.id, attempt, &kinds, &[]).await.unwrap();
    let TakenOver::Job(taken) = taken else { panic!("{taken:?}") };
    assert_eq!((taken.lease.holder, taken.attempt), (attempt, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_of_the_engine_replaces_the_one_before_and_its_lease_does_not_expire() {
    let db = database().await;
    let (run, kinds) = (queued(&db).await, [background_run::JOB]);
    let holders = [Uuid::now_v7()];
    let sent = job::take_queued(&db, &kinds, &holders, Duration::ZERO).await.unwrap();
    job::set_dispatched(&db, &holders).await.unwrap();
    assert_eq!(job::requeue_expired(&db).await.unwrap(), 0, "the engine has it");
    assert_eq!(job::count_queued(&ann(), &db, background_run::JOB, 9).await.unwrap(), 1);
    let mut before = sent[0];
    for number in 1..=3 {
        let holder = Uuid::now_v7();
        let taken = job::take_over(&db, run.id, holder, &kinds, &[]).await.unwrap();
        let TakenOver::Job(taken) = taken else { panic!("{taken:?}") };
        assert_eq!(taken.attempt, number);
        assert!(!group_writer::begin(&db, background_run::JOB, before, tick()).await.unwrap());
        assert!(group_writer::begin(&db, background_run::JOB, taken.lease, tick()).await.unwrap());
        before = taken.lease;
    }
    let held = job::observe(&db, &[before.holder, holders[0]]).await.unwrap();
    assert_eq!(held.len(), 1);
    assert!(job::return_to_queue(&db, run.id).await.unwrap());
    assert!(!job::return_to_queue(&db, run.id).await.unwrap(), "it is in the queue already");
    assert!(claim(&db).await.is_some());
    let taken = job::take_over(&db, run.id, Uuid::now_v7(), &kinds, &[]).await.unwrap();
    assert!(matches!(taken, TakenOver::Job(_)), "a duplicate of the engine replaces the claim");
}
