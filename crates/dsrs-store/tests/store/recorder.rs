//! Group commit: few transactions, no run lost, no innocent run refused.

use dsrs_config::Record;
use dsrs_store::run::{self, RunFilter};
use dsrs_store::run_recorder::recorder;
use dsrs_store::{Db, ListQuery, PoolSettings, StoreError};

use super::{ann, database, run as new_run};
use dsrs_test::{PATIENCE, holds, within};

async fn count(db: &Db) -> usize {
    let mut cursor = None;
    let mut count = 0;
    loop {
        let page = run::list(&ann(), db, &RunFilter::default(), ListQuery::new(cursor, 1000))
            .await
            .unwrap();
        count += page.items.len();
        cursor = page.next;
        if cursor.is_none() {
            return count;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn five_thousand_acknowledged_runs_need_few_transactions() {
    let db = database().await;
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let callers: Vec<_> = (0..5000)
        .map(|_| {
            let recorder = recorder.clone();
            tokio::spawn(async move { recorder.record(&ann(), &new_run("busy")).await.unwrap() })
        })
        .collect();
    // They wait for a writer, as behind one that is slow: how many arrive meanwhile is not up to the machine.
    holds("all runs to be queued", || recorder.queued() == 5000).await;
    let writer = tokio::spawn(writer.run());
    for caller in callers {
        caller.await.unwrap();
    }
    let stats = recorder.stats();
    assert_eq!((stats.runs, stats.lost), (5000, 0));
    assert!(stats.commits <= 10, "{} transactions", stats.commits);
    assert_eq!(count(&db).await, 5000);
    recorder.close();
    writer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_row_does_not_affect_others() {
    let db = database().await;
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let (recorder, mut run) = (recorder.clone(), new_run("mixed"));
            if number == 7 {
                run.error = Some("{not json".into());
            }
            tokio::spawn(async move { recorder.record(&ann(), &run).await })
        })
        .collect();
    // the writer starts last, so that all of them are in its first batch
    while recorder.queued() < 20 {
        tokio::task::yield_now().await;
    }
    let writer = tokio::spawn(writer.run());
    for (number, task) in tasks.into_iter().enumerate() {
        match task.await.unwrap() {
            Ok(()) => assert_ne!(number, 7),
            Err(error) => {
                assert_eq!(number, 7);
                assert!(matches!(error, StoreError::Internal(_)), "{error}");
            }
        }
    }
    assert_eq!(count(&db).await, 19);
    assert_eq!(recorder.stats().lost, 1);
    recorder.close();
    writer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_recorded_twice_is_stored_once() {
    let db = database().await;
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let writer = tokio::spawn(writer.run());
    let run = new_run("again");
    recorder.record(&ann(), &run).await.unwrap();
    recorder.record(&ann(), &run).await.unwrap();
    assert_eq!(count(&db).await, 1);
    recorder.close();
    writer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_writes_accepted_runs_and_refuses_new_ones() {
    let db = database().await;
    let (recorder, writer) = recorder(db.clone(), Record::Async);
    for _ in 0..1500 {
        recorder.record(&ann(), &new_run("queued")).await.unwrap();
    }
    recorder.close();
    writer.run().await;
    assert_eq!(count(&db).await, 1500);
    let late = recorder.record(&ann(), &new_run("late")).await.unwrap_err();
    assert!(matches!(late, StoreError::Unavailable { .. }), "{late}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_recorded_when_recording_is_off() {
    let db = database().await;
    let (recorder, writer) = recorder(db.clone(), Record::Off);
    recorder.record(&ann(), &new_run("unseen")).await.unwrap();
    recorder.close();
    writer.run().await;
    assert_eq!(count(&db).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_database_callers_get_an_error_and_do_not_hang() {
    let url = dsrs_test::test_database().await;
    let settings = PoolSettings { acquire_timeout: PATIENCE, ..PoolSettings::default() };
    let db = Db::connect(&url, &settings).await.unwrap();
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let writer = tokio::spawn(writer.run());
    recorder.record(&ann(), &new_run("before")).await.unwrap();
    dsrs_test::drop_database(&url).await;
    let lost = within("an error", recorder.record(&ann(), &new_run("after"))).await.unwrap_err();
    assert!(matches!(lost, StoreError::Unavailable { .. }), "{lost}");
    assert!(matches!(db.ping().await.unwrap_err(), StoreError::Unavailable { .. }));
    let read =
        run::list(&ann(), &db, &RunFilter::default(), ListQuery::new(None, 1)).await.unwrap_err();
    assert!(matches!(read, StoreError::Unavailable { .. }), "{read}");
    recorder.close();
    writer.await.unwrap();
}
