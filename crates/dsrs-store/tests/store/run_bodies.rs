//! The compact form of runs: prompts that are stored once, dictionaries of graphs, and runs of the release before.

use std::sync::Arc;

use dsrs::lm::{Message, Prefix};
use dsrs_config::Record;
use dsrs_store::run::{RunRow, RunStorage};
use dsrs_store::run_recorder::recorder;
use dsrs_store::{Db, PoolSettings, dictionary_training, job, run_move, shared_text};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::{ann, run as new_run, tick};
use dsrs_test::test_database;

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
    }
    recorder.close();
    writer.await.unwrap();
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
    assert_eq!(dictionary_training::train_due(&db).await.unwrap(), 1);
    // It is due again only after as many runs.
    assert_eq!(dictionary_training::train_due(&db).await.unwrap(), 0);
    let later: Vec<RunRow> = (0..5).map(|_| prompted(&prefix, "what is left to say?")).collect();
    record(&db, &later).await;
    are_read_back(&db, &runs).await;
    are_read_back(&db, &later).await;
    let sizes = "select octet_length(body)::int8 from runs order by id";
    let sizes: Vec<i64> = sqlx::query_scalar(sizes).fetch_all(&mut owner).await.unwrap();
    assert!(sizes[124] * 2 < sizes[119], "{} {}", sizes[119], sizes[124]);
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_counted_once_whatever_form_a_run_has() {
    let (db, mut owner) = database().await;
    let prefix = instructions();
    let runs: Vec<RunRow> = (0..3).map(|_| prompted(&prefix, "why?")).collect();
    record(&db, &runs).await;
    // As after a commit whose answer was lost: two are there already.
    record(&db, &[runs[0].clone(), prompted(&prefix, "how?"), runs[2].clone()]).await;
    let former = "insert into runs (id, workspace_id, graph_id, graph_name, graph_version, state_version, status,
            created_at, finished_at, duration_ms, inputs, usage, nodes, trace, created_by, model_usage)
        select gen_random_uuid(), workspace_id, graph_id, graph_name, graph_version, state_version, status,
            created_at, finished_at, duration_ms, '{}', '{\"lm_calls\":1,\"input_tokens\":300,\"output_tokens\":7,\"cost\":0.25}',
            '{}', '{\"spans\":[]}', created_by, '[{\"alias\":\"fast\",\"lm_calls\":1,\"input_tokens\":300,\"output_tokens\":7,\"cost\":0.25}]'
        from runs limit 1";
    sqlx::raw_sql(former).execute(&mut owner).await.unwrap();
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
    for run in &runs {
        let inserted = sqlx::query(
            "insert into runs (id, workspace_id, graph_id, graph_name, graph_version, state_version, status, created_at,
                               started_at, finished_at, duration_ms, inputs, outputs, usage, nodes, trace, created_by)
             values ($1, $2, $3, $4, 1, 1, $5, $6, $7, $8, $9, $10::json, $11::json, $12::json, $13::json, $14::json, $15)",
        );
        let inserted = inserted.bind(run.id).bind(ann().workspace).bind(run.graph_id);
        let inserted =
            inserted.bind(&run.graph_name).bind(run.status.as_str()).bind(run.created_at);
        let inserted = inserted.bind(run.started_at).bind(run.finished_at).bind(run.duration_ms);
        let inserted = inserted.bind(&run.inputs).bind(&run.outputs).bind(&run.usage);
        let inserted = inserted.bind(&run.nodes).bind(&run.trace).bind(&run.created_by);
        inserted.execute(&mut owner).await.unwrap();
    }
    are_read_back(&db, &runs).await;
    let counted = count(&mut owner, COUNTED).await;
    assert!(counted > 0);

    let before = tick();
    assert_eq!(run_move::step(&db, runs[0].finished_at.unwrap()).await.unwrap().moved, 0);
    let mut moved = 0;
    loop {
        let step = run_move::step(&db, before).await.unwrap();
        moved += step.moved;
        if step.is_complete {
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
    let age = "update prompt_prefixes set used_on = '2020-01-05'; update runs set created_at = '2020-01-06'";
    sqlx::raw_sql(age).execute(&mut owner).await.unwrap();
    assert_eq!(shared_text::purge(&db).await.unwrap(), 0);
    are_unchanged(&db, &runs).await;
    let newer = "update runs set created_at = '2020-01-08'";
    sqlx::raw_sql(newer).execute(&mut owner).await.unwrap();
    assert_eq!(shared_text::purge(&db).await.unwrap(), 1);
}

/// Compares the documents.
async fn are_unchanged(db: &Db, runs: &[RunRow]) {
    for run in runs {
        assert_eq!(job::get::<RunRow>(&ann(), db, run.id).await.unwrap().trace, run.trace);
    }
}
