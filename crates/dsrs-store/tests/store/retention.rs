//! Old rows are removed in steps; others stay.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use dsrs_store::batch::{self, BatchRow, ItemCounts, UsageTotals};
use dsrs_store::batch_upload::BatchUpload;
use dsrs_store::dataset;
use dsrs_store::dataset_edit::{self, NewDatasetVersion, NewExample};
use dsrs_store::evaluation::{self, EvaluationRow, EvaluationTotals, JudgingTotals};
use dsrs_store::group_writer::CommitOutcome;
use dsrs_store::job::{self, JobEnd, JobType, Lease, claim_by_id, finish};
use dsrs_store::optimization::{self, OptimizationRow};
use dsrs_store::recorded_call;
use dsrs_store::retention::{ExpiredRows, Expiry, remove};
use dsrs_store::run::{self, RunFilter, RunRow, RunStatus};
use dsrs_store::run_label::RunLabels;
use dsrs_store::{Db, ListQuery, StoreError, background_run};
use sqlx::Connection;
use uuid::Uuid;

use super::{ann, database, run, tick};
use dsrs_test::test_database;

async fn ids(db: &Db) -> Vec<Uuid> {
    let page =
        run::list(&ann(), db, &RunFilter::default(), ListQuery::new(None, 200)).await.unwrap();
    page.items.iter().map(|run| run.id).collect()
}

fn ended_before(before: DateTime<Utc>) -> Expiry {
    Expiry { before, below: Uuid::max() }
}

/// The number of removed rows of a kind that ended before now, at most 10 at a time.
async fn steps(db: &Db, old: ExpiredRows) -> Vec<u64> {
    let before = ended_before(tick());
    let mut steps = vec![remove(&ann(), db, old, before, 10).await.unwrap()];
    while steps.last() == Some(&10) {
        steps.push(remove(&ann(), db, old, before, 10).await.unwrap());
    }
    steps
}

async fn ended(db: &Db) -> Uuid {
    let row = run("q");
    let row = RunRow { finished_at: Some(tick()), ..row };
    background_run::accept(&ann(), db, &row, "{}", &super::COMMIT).await.unwrap();
    let workspace = ann().workspace;
    let lease = Lease { job: row.id, holder: Uuid::now_v7(), workspace };
    claim_by_id(db, lease, super::HOUR).await.unwrap().unwrap();
    let row = Arc::new(row);
    let finished =
        background_run::finish(&ann(), db, lease, &row, super::recorded(0)).await.unwrap();
    assert_eq!(finished, CommitOutcome::Stored);
    row.id
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_ended_long_ago_go_step_by_step_and_others_stay() {
    let db = database().await;
    let waiting = run("q");
    background_run::accept(&ann(), &db, &waiting, "{}", &super::COMMIT).await.unwrap();
    for _ in 0..24 {
        ended(&db).await;
    }
    let before = ended_before(tick());
    let young = ended(&db).await;
    for count in [10, 10, 4, 0] {
        assert_eq!(remove(&ann(), &db, ExpiredRows::Runs, before, 10).await.unwrap(), count);
    }
    assert_eq!(ids(&db).await, [young, waiting.id], "one that has not ended is never old");
}

#[tokio::test(flavor = "multi_thread")]
async fn old_runs_whose_partition_is_removed_as_a_whole_are_not_removed_one_by_one() {
    let db = database().await;
    let (first, second) = (ended(&db).await, ended(&db).await);
    let expiry = Expiry { before: tick(), below: second };
    assert_eq!(remove(&ann(), &db, ExpiredRows::Runs, expiry, 10).await.unwrap(), 1);
    assert_eq!(ids(&db).await, [second], "not {first}");
}

async fn batch_of(db: &Db, items: usize) -> Uuid {
    let id = Uuid::now_v7();
    let scope = ann();
    let mut upload = BatchUpload::begin(&scope, db, id).await.unwrap();
    upload.add(&vec!["{}".to_owned(); items]).await.unwrap();
    let row = BatchRow {
        id,
        graph_id: Uuid::nil(),
        graph_name: "q".to_owned(),
        graph_version: 1,
        state_version: 1,
        status: RunStatus::Queued,
        concurrency: None,
        dedupe: false,
        counts: ItemCounts { total: i32::try_from(items).unwrap(), ..ItemCounts::default() },
        spent: UsageTotals::default(),
        error: None,
        created_at: tick(),
        started_at: None,
        finished_at: None,
        labels: RunLabels::default(),
        created_by: "ann".to_owned(),
    };
    upload.accept(&row, "{}", &super::COMMIT).await.unwrap();
    id
}

async fn end(db: &Db, kind: JobType, id: Uuid) {
    let workspace = ann().workspace;
    let lease = Lease { job: id, holder: Uuid::now_v7(), workspace };
    claim_by_id(db, lease, super::HOUR).await.unwrap().unwrap();
    let end = JobEnd { status: RunStatus::Cancelled, error: None, at: tick() };
    assert!(finish(db, kind, lease, end).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_hidden_at_once_and_its_items_are_removed_in_steps() {
    let db = database().await;
    let (old, other) = (batch_of(&db, 25).await, batch_of(&db, 3).await);
    end(&db, batch::JOB, old).await;
    for kind in [ExpiredRows::BatchItems, ExpiredRows::EmptyBatches, ExpiredRows::Runs] {
        assert_eq!(steps(&db, kind).await, [0], "{kind:?}: it is still seen");
    }
    assert_eq!(steps(&db, ExpiredRows::Batches).await, [1]);
    let gone = job::get::<BatchRow>(&ann(), &db, old).await;
    assert!(matches!(gone, Err(StoreError::NotFound { .. })));
    assert_eq!(steps(&db, ExpiredRows::EmptyBatches).await, [0], "it is not empty yet");
    assert_eq!(steps(&db, ExpiredRows::BatchItems).await, [10, 10, 5]);
    assert_eq!(steps(&db, ExpiredRows::EmptyBatches).await, [1]);
    assert_eq!(job::get::<BatchRow>(&ann(), &db, other).await.unwrap().counts.open(), 3);
    assert_eq!(
        batch::results(&ann(), &db, other, ListQuery::new(None, 10)).await.unwrap().items.len(),
        3
    );
}

async fn dataset_of(db: &Db, name: &str, examples: usize) {
    let id = Uuid::now_v7();
    let mut edit = dataset_edit::create(&ann(), db, id, name, tick()).await.unwrap();
    let examples: Vec<NewExample> = (0..examples)
        .map(|number| NewExample {
            id: number.to_string(),
            hash: vec![u8::try_from(number).unwrap()],
            split: None,
            size: 2,
            inputs: "{}".to_owned(),
            expected: "{}".to_owned(),
            cells: false,
        })
        .collect();
    edit.add(&examples).await.unwrap();
    let version = NewDatasetVersion {
        description: None,
        bytes: 2,
        splits: "{}",
        content_hash: "hash",
        at: tick(),
    };
    edit.finish(version).await.unwrap();
}

const OF_DATASETS: [ExpiredRows; 4] = [
    ExpiredRows::Examples,
    ExpiredRows::ExampleTexts,
    ExpiredRows::DatasetVersions,
    ExpiredRows::EmptyDatasets,
];

#[tokio::test(flavor = "multi_thread")]
async fn an_old_deleted_dataset_is_removed_when_no_job_uses_it() {
    let url = test_database().await;
    let db = Db::connect(&url, &dsrs_store::PoolSettings::default()).await.unwrap();
    for name in ["old", "other"] {
        dataset_of(&db, name, 12).await;
    }
    for kind in OF_DATASETS {
        assert_eq!(steps(&db, kind).await, [0], "{kind:?}: it is still there");
    }
    let before = ended_before(tick());
    dataset_edit::lock(&ann(), &db, "old").await.unwrap().delete(tick()).await.unwrap();
    for kind in OF_DATASETS {
        assert_eq!(remove(&ann(), &db, kind, before, 10).await.unwrap(), 0, "{kind:?}: too early");
    }
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    let job = "insert into jobs (id, workspace_id, kind, request, created_at, created_by)
               select gen_random_uuid(), workspace_id, 'evaluation', '{}', created_at, 'ann'
               from datasets limit 1";
    sqlx::raw_sql(job).execute(&mut connection).await.unwrap();
    for kind in OF_DATASETS {
        assert_eq!(steps(&db, kind).await, [0], "{kind:?}: a job may read it");
    }
    sqlx::raw_sql("delete from jobs").execute(&mut connection).await.unwrap();
    assert_eq!(steps(&db, ExpiredRows::EmptyDatasets).await, [0], "it is not empty yet");
    assert_eq!(steps(&db, ExpiredRows::DatasetVersions).await, [0], "its examples are there");
    assert_eq!(steps(&db, ExpiredRows::Examples).await, [10, 2]);
    assert_eq!(steps(&db, ExpiredRows::ExampleTexts).await, [10, 2]);
    assert_eq!(steps(&db, ExpiredRows::DatasetVersions).await, [1]);
    assert_eq!(steps(&db, ExpiredRows::EmptyDatasets).await, [1]);
    assert_eq!(dataset::get(&ann(), &db, "other", None).await.unwrap().version.count, 12);
    for kind in OF_DATASETS {
        assert_eq!(steps(&db, kind).await, [0], "{kind:?}: only that one");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_calls_are_removed_once_they_are_old() {
    let db = database().await;
    for key in 0..12_u8 {
        recorded_call::record(&ann(), &db, &[key], "{}", tick()).await.unwrap();
    }
    let before = ended_before(tick());
    recorded_call::record(&ann(), &db, b"new", "7", tick()).await.unwrap();
    let removed =
        async || remove(&ann(), &db, ExpiredRows::RecordedCalls, before, 10).await.unwrap();
    assert_eq!((removed().await, removed().await, removed().await), (10, 2, 0));
    let found = recorded_call::find(&ann(), &db, b"new").await.unwrap();
    assert_eq!(found.as_deref(), Some("7"));
    assert_eq!(recorded_call::find(&ann(), &db, &[3]).await.unwrap(), None);
}

async fn evaluation(db: &Db) -> Uuid {
    let row = EvaluationRow {
        id: Uuid::now_v7(),
        graph_id: Uuid::nil(),
        graph_name: "q".to_owned(),
        graph_version: 1,
        state_version: 1,
        dataset: "{}".to_owned(),
        metric: "{}".to_owned(),
        status: RunStatus::Queued,
        concurrency: None,
        max_errors: None,
        max_unmeasured: None,
        timeout_ms: None,
        record: false,
        reuse_calls: false,
        tally: EvaluationTotals { total: 12, ..EvaluationTotals::default() },
        spent: UsageTotals::default(),
        judging: JudgingTotals::default(),
        error: None,
        created_at: tick(),
        started_at: None,
        finished_at: None,
        created_by: "ann".to_owned(),
    };
    evaluation::create(&ann(), db, &row, "{}", &super::COMMIT).await.unwrap();
    row.id
}

async fn optimization(db: &Db) -> Uuid {
    let row = OptimizationRow {
        id: Uuid::now_v7(),
        graph_id: Uuid::nil(),
        graph_name: "q".to_owned(),
        graph_version: 1,
        state_version: 1,
        optimizer: "copro".to_owned(),
        request: "{}".to_owned(),
        status: RunStatus::Queued,
        spent: UsageTotals::default(),
        seconds: 0.0,
        candidates: 0,
        result: None,
        best: None,
        found_state: None,
        activated: None,
        error: None,
        created_at: tick(),
        started_at: None,
        finished_at: None,
        created_by: "ann".to_owned(),
    };
    optimization::accept(&ann(), db, &row, "{}", &super::COMMIT).await.unwrap();
    row.id
}

/// Twelve results of each evaluation and twelve candidates of each optimization.
const FILL: &str = "
    insert into evaluation_results (evaluation_id, position, workspace_id, example_id, score, usage,
                                    judging, parse_reports, duration_ms)
    select id, position, workspace_id, position::text, 1, '{}', '{}', '{}', 1
    from evaluations, generate_series(1, 12) position;
    insert into optimization_candidates (optimization_id, number, workspace_id, parents, origin, scores,
                                         state)
    select id, number, workspace_id, '{}', '{}', '{}', '{}'
    from optimizations, generate_series(1, 12) number";

#[tokio::test(flavor = "multi_thread")]
async fn old_evaluations_and_optimizations_are_hidden_at_once_and_removed_in_steps() {
    let url = test_database().await;
    let db = Db::connect(&url, &dsrs_store::PoolSettings::default()).await.unwrap();
    let evaluations = [evaluation(&db).await, evaluation(&db).await];
    let optimizations = [optimization(&db).await, optimization(&db).await];
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(FILL).execute(&mut connection).await.unwrap();
    let kinds = || ExpiredRows::OF_EVALUATIONS.iter().chain(ExpiredRows::OF_OPTIMIZATIONS);
    for kind in kinds() {
        assert_eq!(steps(&db, *kind).await, [0], "{kind:?}: none has ended");
    }
    let before = ended_before(tick());
    end(&db, evaluation::JOB, evaluations[0]).await;
    end(&db, optimization::JOB, optimizations[0]).await;
    for kind in kinds() {
        assert_eq!(remove(&ann(), &db, *kind, before, 10).await.unwrap(), 0, "{kind:?}: too early");
    }
    assert_eq!(steps(&db, ExpiredRows::Evaluations).await, [1]);
    let hidden = job::get::<EvaluationRow>(&ann(), &db, evaluations[0]).await;
    assert!(matches!(hidden, Err(StoreError::NotFound { .. })));
    assert_eq!(steps(&db, ExpiredRows::EmptyEvaluations).await, [0], "it is not empty yet");
    assert_eq!(steps(&db, ExpiredRows::EvaluationResults).await, [10, 2]);
    assert_eq!(steps(&db, ExpiredRows::EmptyEvaluations).await, [1]);
    assert_eq!(steps(&db, ExpiredRows::Optimizations).await, [1]);
    let hidden = job::get::<OptimizationRow>(&ann(), &db, optimizations[0]).await;
    assert!(matches!(hidden, Err(StoreError::NotFound { .. })));
    assert_eq!(steps(&db, ExpiredRows::EmptyOptimizations).await, [0], "it is not empty yet");
    assert_eq!(steps(&db, ExpiredRows::Candidates).await, [10, 2]);
    assert_eq!(steps(&db, ExpiredRows::EmptyOptimizations).await, [1]);
    job::get::<EvaluationRow>(&ann(), &db, evaluations[1]).await.unwrap();
    let other = job::get::<OptimizationRow>(&ann(), &db, optimizations[1]).await.unwrap();
    assert_eq!(other.candidates, 12);
    for kind in kinds() {
        assert_eq!(steps(&db, *kind).await, [0], "{kind:?}: only those");
    }
}
