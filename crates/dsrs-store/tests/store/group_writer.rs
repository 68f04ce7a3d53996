//! What background runs store goes into few transactions; no write waits for a job that another server has
//! locked, and none is stored twice.

use std::sync::Arc;

use dsrs_config::Record;
use dsrs_store::background_run;
use dsrs_store::group_writer::{self, CommitOutcome};
use dsrs_store::job::{self, Lease};
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_event;
use dsrs_store::run_progress::EventsRow;
use dsrs_store::run_progress::NodeRow;
use dsrs_store::run_recorder::recorder;
use dsrs_store::{Db, PoolSettings};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use uuid::Uuid;

use super::{HOUR, ann, database, run as new_run, tick};
use dsrs_test::{test_database, within};

fn queued() -> RunRow {
    RunRow { status: RunStatus::Queued, started_at: None, ..new_run("lasting") }
}

fn node(name: &str) -> Arc<NodeRow> {
    let (usage, trace) = ("{}".to_owned(), r#"{"spans": []}"#.to_owned());
    Arc::new(NodeRow {
        node: name.into(),
        outcome: "{}".into(),
        usage,
        trace,
        prefixes: Vec::new(),
    })
}

/// Accepts a run and claims it.
async fn claimed(db: &Db) -> (RunRow, Lease) {
    let run = queued();
    background_run::accept(&ann(), db, &run, "{}", &super::COMMIT).await.unwrap();
    let lease = Lease { job: run.id, holder: Uuid::now_v7(), workspace: ann().workspace };
    job::claim_by_id(db, lease, HOUR).await.unwrap().unwrap();
    (run, lease)
}

async fn work(db: &Db) -> Uuid {
    let (run, lease) = claimed(db).await;
    assert!(group_writer::begin(db, background_run::JOB, lease, tick()).await.unwrap());
    let checkpoint = async |name: &str| {
        background_run::record_node(&ann(), db, lease, None, &node(name), tick()).await.unwrap()
    };
    let (left, right) = tokio::join!(checkpoint("left"), checkpoint("right"));
    assert!(left && right);
    let events = Arc::new(EventsRow { last_id: 4, events: "[]".to_owned() });
    assert!(run_event::append(db, lease, &events, tick()).await.unwrap());
    let done = Arc::new(RunRow { status: RunStatus::Succeeded, outputs: Some("{}".into()), ..run });
    let end = background_run::finish(&ann(), db, lease, &done, super::recorded(2)).await.unwrap();
    assert_eq!(end, CommitOutcome::Stored);
    done.id
}

async fn count(url: &str, table: &str) -> i64 {
    let mut session = PgConnection::connect(url).await.unwrap();
    let count = format!("select count(*) from {table}");
    sqlx::query_scalar(AssertSqlSafe(count)).fetch_one(&mut session).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_gathers_while_the_writer_is_busy_is_one_transaction() {
    let url = test_database().await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let accepted: Vec<_> = (0..200)
        .map(|_| {
            let db = db.clone();
            tokio::spawn(async move {
                background_run::accept(&ann(), &db, &queued(), "{}", &super::COMMIT).await
            })
        })
        .collect();
    while recorder.queued() < 200 {
        tokio::task::yield_now().await;
    }
    let writer = tokio::spawn(writer.run());
    for accepted in accepted {
        accepted.await.unwrap().unwrap();
    }
    assert_eq!((recorder.stats().commits, recorder.stats().writes), (1, 200));
    assert_eq!((count(&url, "runs").await, count(&url, "jobs").await), (200, 200));
    recorder.close();
    writer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_background_runs_leave_their_records_and_nothing_else() {
    let url = test_database().await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let writer = tokio::spawn(writer.run());
    let workers = (0..16).map(|_| {
        let db = db.clone();
        tokio::spawn(async move {
            for _ in 0..20 {
                let id = work(&db).await;
                let run: RunRow = job::get(&ann(), &db, id).await.unwrap();
                assert_eq!(run.status, RunStatus::Succeeded);
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    recorder.close();
    writer.await.unwrap();
    assert_eq!((recorder.stats().writes, recorder.stats().lost), (320 * 6, 0));
    for (table, rows) in [("runs", 320), ("run_events", 320), ("jobs", 0), ("run_nodes", 0)] {
        assert_eq!(count(&url, table).await, rows, "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_another_server_has_locked_delays_no_other_write() {
    let url = test_database().await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let (_recorder, writer) = recorder(db.clone(), Record::Ack);
    let writer = tokio::spawn(writer.run());
    let ((run, locked), (_, free)) = (claimed(&db).await, claimed(&db).await);
    let mut frozen = PgConnection::connect(&url).await.unwrap();
    let lock = format!("begin; select from jobs where id = '{}' for update", run.id);
    sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut frozen).await.unwrap();
    let delayed = {
        let db = db.clone();
        tokio::spawn(async move {
            // An attempt repeats what the writer gives up.
            loop {
                let (ann, write) = (ann(), node("a"));
                let stored =
                    background_run::record_node(&ann, &db, locked, None, &write, tick()).await;
                if let Ok(stored) = stored {
                    return stored;
                }
            }
        })
    };
    for name in ["a", "b", "c"] {
        let (ann, write) = (ann(), node(name));
        let stored = background_run::record_node(&ann, &db, free, None, &write, tick());
        assert!(within("a write", stored).await.unwrap());
    }
    assert!(!delayed.is_finished());
    sqlx::raw_sql("rollback").execute(&mut frozen).await.unwrap();
    assert!(within("the write", delayed).await.unwrap(), "it is stored once the lock is released");
    writer.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_acceptance_is_repeated_after_its_end_is_not_queued_again() {
    let db = database().await;
    let (run, lease) = claimed(&db).await;
    let done = Arc::new(RunRow { status: RunStatus::Succeeded, ..run.clone() });
    background_run::finish(&ann(), &db, lease, &done, super::recorded(0)).await.unwrap();
    background_run::accept(&ann(), &db, &run, "{}", &super::COMMIT).await.unwrap();
    let jobs = job::claim(&db, &[background_run::JOB], &[Uuid::now_v7()], &[], HOUR).await.unwrap();
    assert!(jobs.is_empty());
    let stored: RunRow = job::get(&ann(), &db, run.id).await.unwrap();
    assert_eq!(stored.status, RunStatus::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_names_the_job_of_another_lease_or_workspace_is_lost() {
    let db = database().await;
    let ((first, lease), (second, _)) = (claimed(&db).await, claimed(&db).await);
    for foreign in [
        Lease { job: second.id, ..lease },
        Lease { workspace: Uuid::now_v7(), ..lease },
        Lease { holder: Uuid::now_v7(), ..lease },
    ] {
        let (ann, node) = (ann(), node("a"));
        let write = background_run::record_node(&ann, &db, foreign, None, &node, tick());
        assert!(!write.await.unwrap());
    }
    for run in [first, second] {
        assert!(background_run::get(&ann(), &db, run.id).await.unwrap().nodes.is_empty());
    }
}
