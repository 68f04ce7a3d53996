//! Events of running runs: they are stored for an hour, their count as long as the run.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use dsrs_store::group_writer::CommitOutcome;
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_event;
use dsrs_store::run_progress::EventsRow;
use dsrs_store::{Db, background_run, job};
use uuid::Uuid;

use super::{ann, database, run as new_run, tick};

async fn last_ids(db: &Db, run: Uuid) -> Vec<i64> {
    let rows = run_event::after(&ann(), db, run, 0).await.unwrap();
    rows.into_iter().map(|row| row.last_id).collect()
}

/// Removes everything older than an hour at that time.
async fn purge(db: &Db, at: DateTime<Utc>) {
    while run_event::purge(db, at).await.unwrap() > 0 {}
}

#[tokio::test(flavor = "multi_thread")]
async fn old_events_are_removed_except_the_newest_of_an_unfinished_run() {
    let db = database().await;
    let run = RunRow { status: RunStatus::Queued, started_at: None, ..new_run("lasting") };
    background_run::accept(&ann(), &db, &run, "{}", &super::COMMIT).await.unwrap();
    let start = tick();
    let until = Duration::from_secs(3 * 3600);
    let jobs =
        job::claim(&db, &[background_run::JOB], &[Uuid::now_v7()], &[], until).await.unwrap();
    let lease = jobs[0].lease;
    for last_id in [2, 5, 9] {
        let row = Arc::new(EventsRow { last_id, events: "[]".to_owned() });
        assert!(run_event::append(&db, lease, &row, start).await.unwrap());
    }
    let streamed = Uuid::now_v7();
    run_event::count(&ann(), &db, streamed, 7, start).await.unwrap();

    purge(&db, start + TimeDelta::minutes(59)).await;
    assert_eq!(last_ids(&db, run.id).await, [2, 5, 9]);
    assert_eq!(run_event::newest(&ann(), &db, streamed).await.unwrap(), Some(7));
    let later = start + TimeDelta::minutes(61);
    purge(&db, later).await;
    assert_eq!(last_ids(&db, run.id).await, [9], "the next attempt counts on from it");
    assert_eq!(run_event::newest(&ann(), &db, streamed).await.unwrap(), None);

    let done = Arc::new(RunRow { status: RunStatus::Succeeded, outputs: Some("{}".into()), ..run });
    let finished =
        background_run::finish(&ann(), &db, lease, &done, super::recorded(0)).await.unwrap();
    assert_eq!(finished, CommitOutcome::Stored);
    purge(&db, later).await;
    assert_eq!(run_event::newest(&ann(), &db, done.id).await.unwrap(), None);
}
