//! The compact form of checkpoints: one body, from which the documents are rebuilt byte for byte, beside those of the
//! release before.

use std::sync::Arc;

use dsrs::lm::{Message, Prefix};
use dsrs_config::Record;
use dsrs_store::background_run::{self, ResumedRun};
use dsrs_store::group_writer::CommitOutcome;
use dsrs_store::job::{self, Lease};
use dsrs_store::run::{RunRow, RunStatus, RunStorage};
use dsrs_store::run_progress::{NodeRow, RecordedCheckpoints};
use dsrs_store::run_recorder::recorder;
use dsrs_store::run_usage::usage_of_json;
use dsrs_store::waiting_run::{self, SignalOutcome};
use dsrs_store::{Db, PoolSettings, dictionary_training, run_form};
use sqlx::{Connection, PgConnection};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::{ann, run as new_run, tick};
use dsrs_test::test_database;

const USAGE: &str = r#"{"lm_calls":1,"input_tokens":300,"output_tokens":7,"reasoning_tokens":3,"cached_tokens":0,"cache_write_tokens":0,"cost":0.25}"#;

async fn server(url: &str) -> Db {
    Db::connect(url, &PoolSettings::default()).await.unwrap()
}

async fn owner(url: &str) -> PgConnection {
    let mut owner = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql("set dsrs.workspace = '*'").execute(&mut owner).await.unwrap();
    owner
}

async fn count(owner: &mut PgConnection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(owner).await.unwrap()
}

/// A queued run, claimed.
async fn claimed(db: &Db) -> (RunRow, Lease) {
    let run = RunRow { status: RunStatus::Queued, started_at: None, ..new_run("q") };
    background_run::accept(&ann(), db, &run, "{}", &super::COMMIT).await.unwrap();
    let lease = Lease { job: run.id, holder: Uuid::now_v7(), workspace: ann().workspace };
    job::claim_by_id(db, lease, super::HOUR).await.unwrap().unwrap();
    (run, lease)
}

/// The trace of an LM call with a prompt of this prefix: `more` are further members of its span.
fn traced(prefix: &Prefix, turn: &str, more: &str) -> String {
    format!(
        r#"{{"spans":[{{"id":1,"kind":"node"}},{{"id":2,"parent_id":1,"kind":"lm","messages":[{},{{"role":"user","content":"{turn}"}}]{more},"usage":{USAGE}}}]}}"#,
        prefix.json()
    )
}

fn instructions() -> Message {
    Message::system("Answer in one word, \"please\" \u{0} ü. ".repeat(20))
}

/// A checkpoint for each form of a prompt and of an answer.
fn forms() -> (Vec<NodeRow>, Vec<Arc<Prefix>>) {
    let plain = Prefix::of([instructions()]);
    let demos =
        Prefix::of([instructions(), Message::user("one?"), Message::assistant("\\u0000 two")]);
    let traces = [
        ("plain", traced(&plain, "why?", r#","raw":"because\u0000""#)),
        ("thinking", traced(&plain, "ü?", r#","raw":"so","reasoning":"let me see\n…""#)),
        ("demos", traced(&demos, "\\\"", r#","raw":"two""#)),
        (
            "schema",
            traced(&demos, "{}", r#","raw":"{\"answer\": 1.50}","constraint":"json_schema""#),
        ),
        ("tools", traced(&plain, "go", r#","tool_calls":[{"name":"f","arguments":"{}"}]"#)),
        ("none", r#"{"spans":[]}"#.to_owned()),
    ];
    let row = |(name, trace): (&str, String)| NodeRow {
        node: name.to_owned(),
        outcome: format!(
            r#"{{"status":"succeeded","outputs":{{"z" :1.50, "a":"\u0000{name}"}},"error":null}}"#
        ),
        usage: USAGE.to_owned(),
        trace,
        prefixes: vec![plain.clone(), demos.clone()],
    };
    (traces.into_iter().map(row).collect(), vec![plain, demos])
}

/// Records runs of the graph, until the beginnings of its prompts and a dictionary are stored. Returns the writer.
async fn learn(db: &Db, prefixes: &[Arc<Prefix>]) -> JoinHandle<()> {
    let (recorder, writer) = recorder(db.clone(), Record::Ack);
    let writer = tokio::spawn(writer.run());
    for number in 0..120 {
        let trace = traced(&prefixes[number % 2], &format!("question {number}"), "");
        let storage = RunStorage::with_prefixes(prefixes.to_vec());
        let run = RunRow { trace, storage, finished_at: Some(tick()), ..new_run("q") };
        recorder.record(&ann(), &run).await.unwrap();
    }
    assert_eq!(dictionary_training::train_due(db).await.unwrap(), 1);
    writer
}

/// What is read of a checkpoint.
fn read_back(rows: &[NodeRow]) -> Vec<NodeRow> {
    let mut rows = rows.to_vec();
    rows.iter_mut().for_each(|row| row.prefixes.clear());
    rows
}

async fn store(db: &Db, run: &RunRow, lease: Lease, rows: &[NodeRow]) {
    for row in rows {
        let (row, graph) = (Arc::new(row.clone()), run.graph());
        let stored = background_run::record_node(&ANN, db, lease, Some(&graph), &row, tick());
        assert!(stored.await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoints_of_every_form_of_a_prompt_are_rebuilt_byte_for_byte() {
    let url = test_database().await;
    let (db, mut owner) = (server(&url).await, owner(&url).await);
    let (rows, prefixes) = forms();
    let (first, lease) = claimed(&db).await;
    store(&db, &first, lease, &rows).await;
    let writer = learn(&db, &prefixes).await;
    let (second, lease) = claimed(&db).await;
    store(&db, &second, lease, &rows).await;
    assert_eq!(
        count(&mut owner, "select count(*) from run_nodes where body is null or trace is not null")
            .await,
        0
    );
    let sizes =
        "select sum(octet_length(body))::int8 from run_nodes group by run_id order by run_id";
    let sizes: Vec<i64> = sqlx::query_scalar(sizes).fetch_all(&mut owner).await.unwrap();
    assert!(sizes[1] * 3 < sizes[0] * 2, "{sizes:?}");
    // Another server continues, which has seen none of it.
    for db in [&db, &server(&url).await] {
        for run in [&first, &second] {
            let stored = background_run::get(&ann(), db, run.id).await.unwrap();
            assert_eq!(stored.nodes, read_back(&rows));
        }
    }
    writer.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_continues_from_checkpoints_of_both_forms() {
    let url = test_database().await;
    let (db, mut owner) = (server(&url).await, owner(&url).await);
    let former = "update installation set compact_runs = false";
    sqlx::raw_sql(former).execute(&mut owner).await.unwrap();
    run_form::refresh_form(&db).await.unwrap();
    let (rows, _) = forms();
    let (run, lease) = claimed(&db).await;
    store(&db, &run, lease, &rows[..2]).await;
    let with_json =
        "select count(*) from run_nodes where body is null and trace::text like '%messages%'";
    assert_eq!(count(&mut owner, with_json).await, 2);
    run_form::make_compact(&db).await.unwrap();
    store(&db, &run, lease, &rows[2..]).await;
    assert_eq!(count(&mut owner, "select count(*) from run_nodes where body is not null").await, 4);
    let stored = background_run::get(&ann(), &db, run.id).await.unwrap();
    assert_eq!(stored.nodes, read_back(&rows));

    let spent = usage_of_json(USAGE);
    let known = |count| RecordedCheckpoints { count, spent };
    let failed = Arc::new(RunRow { status: RunStatus::Failed, finished_at: Some(tick()), ..run });
    let finish = |known| background_run::finish(&ANN, &db, lease, &failed, known);
    assert_eq!(finish(known(5)).await.unwrap(), CommitOutcome::Behind);
    assert_eq!(count(&mut owner, "select count(*) from run_nodes").await, 6);
    assert_eq!(finish(known(6)).await.unwrap(), CommitOutcome::Stored);
    assert_eq!(count(&mut owner, "select count(*) from run_nodes").await, 0);
    let again = RunRow { status: RunStatus::Queued, ..(*failed).clone() };
    let seen = failed.finished_at;
    let resumed = ResumedRun { run: &again, checkpoints: &rows, request: "{}", seen, at: tick() };
    background_run::resume(&ann(), &db, resumed, None).await.unwrap();
    let stored = background_run::get(&ann(), &db, again.id).await.unwrap();
    let mut expected = read_back(&rows);
    expected.sort_by(|one, other| one.node.cmp(&other.node));
    assert_eq!(stored.nodes, expected);
}

static ANN: std::sync::LazyLock<dsrs_store::Scope> = std::sync::LazyLock::new(ann);

#[tokio::test(flavor = "multi_thread")]
async fn the_value_of_a_signal_is_stored_once() {
    let url = test_database().await;
    let (db, mut owner) = (server(&url).await, owner(&url).await);
    let (rows, _) = forms();
    let run = RunRow { status: RunStatus::Waiting, finished_at: None, ..new_run("q") };
    waiting_run::accept(&ann(), &db, &run, &rows[..1], "{}").await.unwrap();
    let signal = || waiting_run::signal(&ANN, &db, run.id, &rows[1], tick(), None);
    assert_eq!(signal().await.unwrap(), SignalOutcome::Accepted);
    assert_eq!(signal().await.unwrap(), SignalOutcome::Already);
    assert_eq!(count(&mut owner, "select count(*) from run_nodes where body is not null").await, 2);
    let mut stored = background_run::get(&ann(), &db, run.id).await.unwrap().nodes;
    stored.sort_by_key(|row| row.node != "plain");
    assert_eq!(stored, read_back(&rows[..2]));
}
