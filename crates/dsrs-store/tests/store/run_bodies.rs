//! The compact form of runs: prompts that are stored once, dictionaries of graphs, and runs of the release before.

use std::sync::Arc;

use dsrs::lm::{Message, Prefix, Usage};
use dsrs_config::Record;
use dsrs_store::background_run::{self, ResumedRun};
use dsrs_store::job::Lease;
use dsrs_store::run::{RunRow, RunStatus, RunStorage};
use dsrs_store::run_recorder::recorder;
use dsrs_store::run_usage::usage_json;
use dsrs_store::{
    Db, PoolSettings, Scope, dictionary_training, engine_run, job, run_form, run_move,
    run_text_removal,
};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::{ann, run as new_run, tick};
use dsrs_test::{holds, test_database};

/// A database, and a session of its owner that sees every row.
async fn database() -> (Db, PgConnection) {
    let url = test_database().await;
    (server(&url).await, owner(&url).await)
}

/// What a server knows of a database.
async fn server(url: &str) -> Db {
    Db::connect(url, &PoolSettings::default()).await.unwrap()
}

async fn owner(url: &str) -> PgConnection {
    let mut owner = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql("set dsrs.workspace = '*'").execute(&mut owner).await.unwrap();
    owner
}

/// Records runs one after another: what one lacks is there for the next.
async fn record(db: &Db, runs: &[RunRow]) {
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let writer = tokio::spawn(writer.run());
    for run in runs {
        recorder.record(&ann(), run).await.unwrap();
        dictionary_training::train_due(db).await.unwrap();
    }
    recorder.close();
    writer.await.unwrap();
}

/// Records runs in few groups.
async fn record_together(db: &Db, runs: &[RunRow]) {
    let (recorder, writer) = recorder(db.clone(), Record::Async);
    for run in runs {
        recorder.record(&ann(), run).await.unwrap();
    }
    recorder.close();
    writer.run().await;
}

/// A run whose trace has a prompt of this prefix.
fn prompted(prefix: &Arc<Prefix>, question: &str) -> RunRow {
    let id = Uuid::now_v7();
    let trace = format!(
        r#"{{"spans":[{{"id":1,"kind":"lm","messages":[{},{{"role":"user","content":"{question} {id}"}}],"alias":"fast","usage":{{"lm_calls":1,"input_tokens":300,"output_tokens":7,"reasoning_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"cost":0.25}}}}]}}"#,
        prefix.json()
    );
    let usage = r#"{"lm_calls":1,"input_tokens":300,"output_tokens":7,"reasoning_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"cost":0.25}"#;
    RunRow {
        id,
        trace,
        usage: usage.to_owned(),
        finished_at: Some(tick()),
        storage: RunStorage::with_prefixes(vec![prefix.clone()]),
        ..new_run("q")
    }
}

/// Makes a database one that servers of the release before use.
const FORMER: &str = "update installation set compact_runs = false";

const COUNTED: &str = "select (sum(runs) * 1000000 + sum(input_tokens))::int8 from usage_hours";

fn instructions() -> Arc<Prefix> {
    Prefix::of([Message::system("Answer the question in one word, and be kind. ".repeat(20))])
}

async fn count(owner: &mut PgConnection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(owner).await.unwrap()
}

/// Compares what is read with what was recorded.
async fn are_read_back(db: &Db, runs: &[RunRow]) {
    for run in runs {
        let expected = RunRow { storage: RunStorage::default(), ..run.clone() };
        assert_eq!(job::get::<RunRow>(&ann(), db, run.id).await.unwrap(), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_beginning_of_a_prompt_is_stored_once() {
    let url = test_database().await;
    let (db, mut owner) = (server(&url).await, owner(&url).await);
    let prefix = instructions();
    let runs: Vec<RunRow> = (0..6).map(|_| prompted(&prefix, "why?")).collect();
    record(&db, &runs).await;
    are_read_back(&db, &runs).await;
    assert_eq!(count(&mut owner, "select count(*) from prompt_prefixes").await, 1);
    let sizes = "select octet_length(body)::int8 from runs order by id";
    let sizes: Vec<i64> = sqlx::query_scalar(sizes).fetch_all(&mut owner).await.unwrap();
    assert!(sizes[5] < sizes[0], "{sizes:?}");

    // Another server reads them, which has seen none of the prompts.
    are_read_back(&server(&url).await, &runs).await;
    // A prefix of one run alone is in the run.
    let lonely = Prefix::of([Message::system("only here ".repeat(50))]);
    record(&db, &[prompted(&lonely, "when?")]).await;
    assert_eq!(count(&mut owner, "select count(*) from prompt_prefixes").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_with_many_runs_gets_a_dictionary_and_its_runs_become_smaller() {
    let (db, mut owner) = database().await;
    let prefix = instructions();
    let runs: Vec<RunRow> = (0..120).map(|_| prompted(&prefix, "what is left to say?")).collect();
    record(&db, &runs).await;
    assert_eq!(count(&mut owner, "select count(*) from run_dictionaries").await, 1);
    let later: Vec<RunRow> = (0..5).map(|_| prompted(&prefix, "what is left to say?")).collect();
    record(&db, &later).await;
    are_read_back(&db, &runs).await;
    are_read_back(&db, &later).await;
    let sizes = "select octet_length(body)::int8 from runs order by id";
    let sizes: Vec<i64> = sqlx::query_scalar(sizes).fetch_all(&mut owner).await.unwrap();
    assert!(sizes[124] * 2 < sizes[50], "{} {}", sizes[50], sizes[124]);
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_counted_once_whatever_form_a_run_has() {
    let (db, mut owner) = database().await;
    let prefix = instructions();
    let runs: Vec<RunRow> = (0..3).map(|_| prompted(&prefix, "why?")).collect();
    record(&db, &runs).await;
    // As after a commit whose answer was lost: two are there already.
    record(&db, &[runs[0].clone(), prompted(&prefix, "how?"), runs[2].clone()]).await;
    // A run of a database that is not compact yet.
    sqlx::raw_sql(FORMER).execute(&mut owner).await.unwrap();
    run_form::refresh_form(&db).await.unwrap();
    record(&db, &[prompted(&prefix, "when?")]).await;
    assert_eq!(count(&mut owner, "select count(*) from runs where body is null").await, 1);
    let sums: Vec<(String, i64, i64, i64, String)> = sqlx::query_as(
        "select dimension, sum(runs)::int8, sum(lm_calls)::int8, sum(input_tokens)::int8, sum(cost)::text
         from usage_hours group by dimension order by dimension",
    )
    .fetch_all(&mut owner)
    .await
    .unwrap();
    let sum = |dimension: &str| (dimension.to_owned(), 5, 5, 1500, "1.25".to_owned());
    assert_eq!(sums, [sum("model"), sum("whole")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_the_release_before_are_moved_and_read_back_alike() {
    let (db, mut owner) = database().await;
    let prefix = instructions();
    let mut runs: Vec<RunRow> = (0..450).map(|_| prompted(&prefix, "ü?")).collect();
    runs[7].outputs = None;
    runs[8].inputs = "{\"z\" :\"\\u0000\", \"a\":1.50}".into();
    sqlx::raw_sql(FORMER).execute(&mut owner).await.unwrap();
    run_form::refresh_form(&db).await.unwrap();
    record_together(&db, &runs).await;
    assert!(!run_move::is_possible(&db).await.unwrap());
    are_read_back(&db, &runs).await;
    let counted = count(&mut owner, COUNTED).await;
    assert!(counted > 0);

    run_form::make_compact(&db).await.unwrap();
    assert!(run_move::is_possible(&db).await.unwrap());
    let before = tick();
    let none = run_move::step(&db, None, runs[0].finished_at.unwrap()).await.unwrap();
    assert_eq!((none.moved, none.last), (0, None));
    let (mut moved, mut last) = (0, None);
    loop {
        let step = run_move::step(&db, last, before).await.unwrap();
        (moved, last) = (moved + step.moved, step.last);
        if last.is_none() {
            break;
        }
    }
    assert_eq!(moved, 450);
    assert_eq!(count(&mut owner, "select count(*) from runs where body is null").await, 0);
    are_read_back(&db, &runs).await;
    // What was counted stays.
    assert_eq!(count(&mut owner, COUNTED).await, counted);
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_removed_once_no_run_can_refer_to_them() {
    let (db, mut owner) = database().await;
    let prefix = instructions();
    let runs: Vec<RunRow> = (0..4).map(|_| prompted(&prefix, "why?")).collect();
    record(&db, &runs).await;
    let age = "update prompt_prefixes set used_on = '2020-01-05'; update runs set created_at = '2020-01-11'";
    sqlx::raw_sql(age).execute(&mut owner).await.unwrap();
    assert_eq!(run_text_removal::purge(&db).await.unwrap(), 0);
    are_unchanged(&db, &runs).await;
    let newer = "update runs set created_at = '2020-01-13'";
    sqlx::raw_sql(newer).execute(&mut owner).await.unwrap();
    assert_eq!(run_text_removal::purge(&db).await.unwrap(), 1);
}

/// Compares the documents.
async fn are_unchanged(db: &Db, runs: &[RunRow]) {
    for run in runs {
        assert_eq!(job::get::<RunRow>(&ann(), db, run.id).await.unwrap().trace, run.trace);
    }
}

/// The sums of a database by graph version and key: runs and input tokens.
async fn sums(owner: &mut PgConnection) -> Vec<(i32, String, i64, i64)> {
    let sums = "select graph_version, created_by, sum(runs)::int8, sum(input_tokens)::int8 from usage_hours
        where dimension = 'whole' group by 1, 2 having sum(runs) <> 0 or sum(input_tokens) <> 0 order by 1, 2";
    sqlx::query_as(sums).fetch_all(owner).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_run_counts_for_its_creator_and_its_newest_version() {
    let (db, mut owner) = database().await;
    let other = Scope { workspace: ann().workspace, actor: "eve".into() };
    let run = RunRow {
        status: RunStatus::Queued,
        usage: usage_text(0),
        trace: r#"{"spans":[]}"#.to_owned(),
        finished_at: None,
        storage: RunStorage::default(),
        ..prompted(&instructions(), "?")
    };
    background_run::accept(&ann(), &db, &run, "{}", &super::COMMIT).await.unwrap();
    let failed = RunRow {
        status: RunStatus::Failed,
        finished_at: Some(tick()),
        usage: usage_text(30),
        ..run.clone()
    };
    let lease = claimed(&db, run.id).await;
    background_run::finish(&ann(), &db, lease, &failed.clone().into(), super::recorded(0))
        .await
        .unwrap();
    assert_eq!(sums(&mut owner).await, [(1, "ann".to_owned(), 1, 30)]);

    let again = RunRow { status: RunStatus::Queued, graph_version: 2, ..failed.clone() };
    let seen = failed.finished_at;
    let resumed = ResumedRun { run: &again, checkpoints: &[], request: "{}", seen, at: tick() };
    background_run::resume(&other, &db, resumed, None).await.unwrap();
    assert_eq!(sums(&mut owner).await, [(2, "ann".to_owned(), 0, 30)]);
    let done = RunRow {
        status: RunStatus::Succeeded,
        finished_at: Some(tick()),
        usage: usage_text(45),
        ..again
    };
    let lease = claimed(&db, run.id).await;
    background_run::finish(&other, &db, lease, &done.clone().into(), super::recorded(0))
        .await
        .unwrap();
    assert_eq!(sums(&mut owner).await, [(2, "ann".to_owned(), 1, 45)]);
    are_read_back(&db, &[done]).await;
}

fn usage_text(input: u64) -> String {
    usage_json(&Usage { lm_calls: 1, input_tokens: input, ..Usage::default() })
}

async fn claimed(db: &Db, run: Uuid) -> Lease {
    let lease = Lease { job: run, holder: Uuid::now_v7(), workspace: ann().workspace };
    job::claim_by_id(db, lease, super::HOUR).await.unwrap().unwrap();
    lease
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_ends_of_a_run_that_arrive_together_one_counts() {
    let (db, mut owner) = database().await;
    let done = prompted(&instructions(), "?");
    let (usage, trace) = (usage_text(0), r#"{"spans":[]}"#.to_owned());
    let queued =
        RunRow { status: RunStatus::Queued, finished_at: None, usage, trace, ..done.clone() };
    // Without a writer yet: alone.
    engine_run::accept(&ann(), &db, &queued).await.unwrap();
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let end = |status| {
        let run = Arc::new(RunRow { status, finished_at: Some(tick()), ..done.clone() });
        let db = db.clone();
        tokio::spawn(async move { engine_run::end(&ann(), &db, &run).await.unwrap() })
    };
    let [one, other] = [end(RunStatus::Cancelled), end(RunStatus::Succeeded)];
    holds("both ends to be queued", || recorder.queued() == 2).await;
    let writer = tokio::spawn(writer.run());
    assert_ne!(one.await.unwrap(), other.await.unwrap());
    assert_eq!(sums(&mut owner).await, [(1, "ann".to_owned(), 1, 300)]);
    recorder.close();
    writer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_another_server_begins_to_use_stays() {
    let url = test_database().await;
    let (db, mut other) = (server(&url).await, owner(&url).await);
    let prefix = instructions();
    let runs: Vec<RunRow> = (0..4).map(|_| prompted(&prefix, "why?")).collect();
    record(&db, &runs).await;
    let old = "delete from runs; update prompt_prefixes set used_on = '2020-01-05'";
    sqlx::raw_sql(old).execute(&mut other).await.unwrap();
    let used = "begin; update prompt_prefixes set used_on = current_date";
    sqlx::raw_sql(used).execute(&mut other).await.unwrap();
    assert_eq!(run_text_removal::purge(&db).await.unwrap(), 0);
    sqlx::raw_sql("commit").execute(&mut other).await.unwrap();
    assert_eq!(run_text_removal::purge(&db).await.unwrap(), 0);
}
