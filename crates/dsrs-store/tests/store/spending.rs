//! What keys with a budget spend: counted once, on the day on which it is recorded, for the key that requested it.

use std::sync::Arc;

use dsrs_api::key::KeyLimits;
use dsrs_config::Record;
use dsrs_store::background_run;
use dsrs_store::group_writer::CommitOutcome;
use dsrs_store::job::{Lease, claim_by_id};
use dsrs_store::key::{self, NewKey};
use dsrs_store::key_scope::KeyScopes;
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_progress::{NodeRow, RecordedCheckpoints};
use dsrs_store::run_recorder::recorder;
use dsrs_store::run_usage::usage_of_json;
use dsrs_store::{Db, PoolSettings, Scope, waiting_run};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::{run as new_run, tick};
use dsrs_test::test_database;

/// A caller whose key has a budget.
async fn budgeted(db: &Db, label: &str) -> Scope {
    let limits = KeyLimits { cost_per_day: Some(1.0), ..KeyLimits::default() };
    let digest = Uuid::now_v7();
    let new = NewKey {
        id: Uuid::now_v7(),
        name: label,
        label,
        prefix: "",
        digest: digest.as_bytes(),
        scopes: KeyScopes::ALL,
        limits,
        expires_at: None,
        at: tick(),
    };
    key::create(&Scope::of("ann"), db, new).await.unwrap();
    Scope::of(label)
}

fn usage(tokens: u32, cost: f64) -> String {
    format!(
        r#"{{"lm_calls":1,"input_tokens":{tokens},"output_tokens":1,"cached_tokens":0,"cost":{cost}}}"#
    )
}

/// The sums of today, by actor: tokens, and cost in hundredths.
async fn spent(database: &str) -> Vec<(String, i64, i64)> {
    let mut connection = PgConnection::connect(database).await.unwrap();
    let sums = sqlx::query_as(
        "select actor, tokens, round(cost * 100)::int8 from key_spending
         where day = (clock_timestamp() at time zone 'UTC')::date order by actor",
    );
    sums.fetch_all(&mut connection).await.unwrap()
}

fn row(actor: &str, tokens: i64, cents: i64) -> (String, i64, i64) {
    (actor.to_owned(), tokens, cents)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_run_counts_once_for_a_key_with_a_budget() {
    let url = test_database().await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let (one, free) = (budgeted(&db, "one").await, Scope::of("ann"));
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let writer = tokio::spawn(writer.run());
    let run = RunRow { usage: usage(9, 0.25), ..new_run("q") };
    for scope in [&one, &one, &free] {
        // The second time it is there already, as after a commit whose answer was lost.
        recorder.record(scope, &run).await.unwrap();
    }
    recorder.record(&one, &RunRow { id: Uuid::now_v7(), ..run.clone() }).await.unwrap();
    recorder.record(&free, &RunRow { id: Uuid::now_v7(), ..run }).await.unwrap();
    assert_eq!(spent(&url).await, [row("one", 20, 50)]);
    recorder.close();
    writer.await.unwrap();
}

async fn claimed(db: &Db, scope: &Scope, run: Uuid) -> Lease {
    let lease = Lease { job: run, holder: Uuid::now_v7(), workspace: scope.workspace };
    claim_by_id(db, lease, super::HOUR).await.unwrap().unwrap();
    lease
}

/// Checkpoints in a record, and what they have spent.
fn recorded(count: i64, input: u32, cost: f64) -> RecordedCheckpoints {
    let spent = usage_of_json(&usage(input, cost));
    RecordedCheckpoints { count, spent }
}

fn checkpoint(name: &str, usage: String) -> NodeRow {
    let trace = r#"{"spans": []}"#.to_owned();
    NodeRow { node: name.into(), outcome: "{}".into(), usage, trace, prefixes: Vec::new() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_run_counts_with_each_checkpoint_and_for_the_key_that_resumes_it() {
    let url = test_database().await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let (one, two) = (budgeted(&db, "one").await, budgeted(&db, "two").await);
    let run = RunRow {
        status: RunStatus::Queued,
        usage: r#"{"input_tokens":0,"output_tokens":0,"cost":null}"#.to_owned(),
        ..new_run("q")
    };
    background_run::accept(&one, &db, &run, "{}", &super::COMMIT).await.unwrap();
    let lease = claimed(&db, &one, run.id).await;
    let first = Arc::new(checkpoint("first", usage(9, 0.1)));
    for _ in 0..2 {
        assert!(background_run::record_node(&one, &db, lease, None, &first, tick()).await.unwrap());
    }
    assert_eq!(spent(&url).await, [row("one", 10, 10)], "before the run has ended, and once");
    // A node that failed has no checkpoint: what it has spent is in the record.
    let failed = RunRow { status: RunStatus::Failed, usage: usage(29, 0.3), ..run.clone() };
    let finished =
        background_run::finish(&one, &db, lease, &failed.clone().into(), recorded(1, 9, 0.1))
            .await
            .unwrap();
    assert_eq!(finished, CommitOutcome::Stored);
    assert_eq!(spent(&url).await, [row("one", 30, 30)]);

    let resumed = background_run::ResumedRun {
        run: &RunRow { status: RunStatus::Queued, ..failed.clone() },
        checkpoints: &[checkpoint("first", usage(0, 0.0).replace(":1,", ":0,"))],
        request: "{}",
        seen: failed.finished_at,
        at: tick(),
    };
    background_run::resume(&two, &db, resumed, None).await.unwrap();
    let lease = claimed(&db, &two, run.id).await;
    let second = Arc::new(checkpoint("second", usage(4, 0.05)));
    assert!(background_run::record_node(&two, &db, lease, None, &second, tick()).await.unwrap());
    let done = RunRow { status: RunStatus::Succeeded, usage: usage(44, 0.5), ..failed };
    let known =
        background_run::finish(&two, &db, lease, &done.into(), recorded(2, 4, 0.05)).await.unwrap();
    assert_eq!(known, CommitOutcome::Stored);
    assert_eq!(spent(&url).await, [row("one", 30, 30), row("two", 15, 20)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_is_parked_counts_at_once() {
    let url = test_database().await;
    let db = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let one = budgeted(&db, "one").await;
    let run = RunRow { status: RunStatus::Waiting, usage: usage(9, 0.1), ..new_run("q") };
    waiting_run::accept(&one, &db, &run, &[], "{}").await.unwrap();
    assert_eq!(spent(&url).await, [row("one", 10, 10)]);
}
