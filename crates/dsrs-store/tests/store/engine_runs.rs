//! Runs whose progress is in the engine: written while they have not ended and have no job, by nothing else.

use std::sync::Arc;

use dsrs_store::job::{self, ClaimState, Lease};
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_progress::{EventsRow, NodeRow};
use dsrs_store::{Db, background_run, engine_run, run_event};
use uuid::Uuid;

use super::{ann, database, run as new_run, tick};

fn queued() -> Arc<RunRow> {
    let run = RunRow { status: RunStatus::Queued, started_at: None, ..new_run("engine") };
    Arc::new(RunRow { finished_at: None, duration_ms: None, outputs: None, ..run })
}

fn ended(run: &RunRow, status: RunStatus) -> Arc<RunRow> {
    Arc::new(RunRow { status, finished_at: Some(tick()), duration_ms: Some(1), ..run.clone() })
}

fn node(name: &str) -> NodeRow {
    let (usage, trace) = ("{}".to_owned(), r#"{"spans": []}"#.to_owned());
    NodeRow { node: name.into(), outcome: "{}".into(), usage, trace, prefixes: Vec::new() }
}

async fn give_back(db: &Db, run: &RunRow, parked: Option<&str>) -> bool {
    let checkpoints = [node("a")];
    let checkpoints = &checkpoints[..];
    let returned = engine_run::ReturnedRun { run, request: "{}", checkpoints, parked, at: tick() };
    engine_run::give_back(&ann(), db, returned).await.unwrap()
}

async fn status(db: &Db, run: Uuid) -> RunStatus {
    job::status_of::<RunRow>(&ann(), db, run).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_begins_with_or_without_its_row_and_ends_once() {
    let db = database().await;
    for is_stored in [true, false] {
        let run = queued();
        if is_stored {
            engine_run::accept(&ann(), &db, &run).await.unwrap();
        }
        assert!(engine_run::begin(&ann(), &db, &run, tick()).await.unwrap());
        assert!(engine_run::begin(&ann(), &db, &run, tick()).await.unwrap(), "safe to repeat");
        engine_run::accept(&ann(), &db, &run).await.unwrap();
        assert_eq!(status(&db, run.id).await, RunStatus::Running, "the late row changes nothing");
        let done = ended(&run, RunStatus::Succeeded);
        assert!(engine_run::end(&ann(), &db, &done).await.unwrap());
        assert!(!engine_run::end(&ann(), &db, &ended(&run, RunStatus::Failed)).await.unwrap());
        assert!(!engine_run::begin(&ann(), &db, &run, tick()).await.unwrap());
        assert!(!give_back(&db, &run, None).await);
        assert_eq!(status(&db, run.id).await, RunStatus::Succeeded);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_of_the_engine_writes_nothing_once_the_run_has_a_job() {
    let db = database().await;
    for parked in [None, Some(r#"{"a": {"status": "waiting"}}"#)] {
        let run = queued();
        assert!(engine_run::begin(&ann(), &db, &run, tick()).await.unwrap());
        assert!(give_back(&db, &run, parked).await);
        assert!(!give_back(&db, &run, parked).await, "another attempt gave it back");
        assert!(!engine_run::begin(&ann(), &db, &run, tick()).await.unwrap());
        assert!(!engine_run::end(&ann(), &db, &ended(&run, RunStatus::Failed)).await.unwrap());
        let events = Arc::new(EventsRow { last_id: 1, events: "[]".to_owned() });
        let lease = engine_run::lease(&ann(), run.id);
        assert!(!run_event::append(&db, lease, &events, tick()).await.unwrap());
        let expected = if parked.is_some() { RunStatus::Waiting } else { RunStatus::Queued };
        assert_eq!(status(&db, run.id).await, expected);
        let stored = background_run::get(&ann(), &db, run.id).await.unwrap();
        assert_eq!(stored.nodes, [node("a")]);
        let cancelled = job::cancel(&ann(), &db, background_run::JOB, run.id, tick()).await;
        assert_eq!(cancelled.unwrap(), Some(ClaimState::Unclaimed));
    }
}

/// The runs that a worker takes to have no checkpoints when it claims these.
async fn unstarted(db: &Db, run: &RunRow) -> Vec<Uuid> {
    let lease = Lease { job: run.id, holder: Uuid::now_v7(), workspace: ann().workspace };
    let job = job::claim_by_id(db, lease, super::HOUR).await.unwrap().unwrap();
    let runs = background_run::unstarted(db, &[job]).await.unwrap();
    runs.into_iter().map(|run| run.id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_returns_with_checkpoints_counts_as_started_even_if_its_start_was_lost() {
    let db = database().await;
    let returned = queued();
    assert!(give_back(&db, &returned, None).await);
    assert!(unstarted(&db, &returned).await.is_empty());
    let new = queued();
    background_run::accept(&ann(), &db, &new, "{}", &super::COMMIT).await.unwrap();
    assert_eq!(unstarted(&db, &new).await, [new.id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_another_workspace_is_not_written() {
    let db = database().await;
    let run = queued();
    assert!(engine_run::begin(&ann(), &db, &run, tick()).await.unwrap());
    let foreign = dsrs_store::Scope { workspace: Uuid::now_v7(), ..ann() };
    let done = ended(&run, RunStatus::Succeeded);
    assert!(!engine_run::end(&foreign, &db, &done).await.unwrap());
    assert_eq!(status(&db, run.id).await, RunStatus::Running);
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_runs_of_the_engine_are_counted() {
    let db = database().await;
    for _ in 0..3 {
        engine_run::accept(&ann(), &db, &queued()).await.unwrap();
    }
    assert_eq!(engine_run::count_queued(&ann(), &db, 2).await.unwrap(), 2);
    assert_eq!(engine_run::count_queued(&ann(), &db, 10).await.unwrap(), 3);
}
