//! Uploads beside other work: on a pool of two connections, neither their clients nor their storage
//! delay anything else, and their files are bounded and never outlive the server.

use std::path::Path;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres, Transaction};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::{on, one_node};
use dsrs_test::{
    Answer, Does, FakeLm, Remote, ServerSetup, found, holds, sections, test_database, within,
};

const BATCHES: &str = "/v1/graphs/q/batches";
const EXECUTE: &str = "/v1/graphs/q/execute";
const LINES: (&str, &str) = ("content-type", "application/jsonl");

async fn lm() -> std::sync::Arc<FakeLm> {
    FakeLm::doing([Does::Say(sections([("answer", "yes")]))]).await
}

/// A server with two pooled connections, which works on no job. What it has read it trusts for longer than any test
/// takes, so that no execution needs one of them because notifications are late.
fn small(database: &str, lm: &FakeLm) -> ServerSetup {
    let setup = on(database, lm).env("DSRS_DATABASE_MAX_CONNECTIONS", "2");
    let setup = setup.env("DSRS_DATABASE_MAX_STALENESS", "1h");
    setup.env("DSRS_WORKER_ENABLED", "false").env("DSRS_RUNS_RECORD", "ack")
}

/// A client of a server with a graph, which has run once.
async fn with_graph(url: &str) -> Remote {
    let api = Remote::new(url);
    let graph = one_node("q", "question -> answer", json!({}));
    api.post_when_available("/v1/graphs", graph).await.expect(201);
    let body = json!({"inputs": {"question": "?"}});
    api.post_when_available(EXECUTE, body).await.expect(200);
    api
}

async fn execute(api: &Remote) -> Answer {
    api.post(EXECUTE, json!({"inputs": {"question": "?"}})).await
}

fn lines(count: usize) -> String {
    let line = |number| json!({"question": format!("number {number}")}).to_string() + "\n";
    (0..count).map(line).collect()
}

fn start_batch(api: &Remote, body: String) -> JoinHandle<Answer> {
    let api = api.clone();
    tokio::spawn(async move { api.send(Method::POST, BATCHES, &[LINES], Some(body)).await })
}

/// Sends the head of an upload of `declared` bytes, and the beginning of its body.
async fn begin_upload(url: &str, path: &str, declared: usize, beginning: &str) -> TcpStream {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/jsonl\r\n\
         content-length: {declared}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(beginning.as_bytes()).await.unwrap();
    stream
}

/// Blocks all access to a table until dropped.
async fn lock<'c>(connection: &'c mut PgConnection, table: &str) -> Transaction<'c, Postgres> {
    let mut lock = connection.begin().await.unwrap();
    let statement = format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
    sqlx::query(AssertSqlSafe(statement)).execute(&mut *lock).await.unwrap();
    lock
}

/// Waits until this many statements on this database wait for a lock.
pub(super) async fn blocked(connection: &mut Transaction<'_, Postgres>, count: i64) {
    let sql =
        "select count(distinct pid) from pg_locks join pg_database on pg_database.oid = database
               where not granted and datname = current_database()";
    within("statements that wait for a lock", async {
        while sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut **connection).await.unwrap() < count
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_stop_in_the_middle_of_an_upload_delay_nothing() {
    let (lm, database) = (lm().await, test_database().await);
    let server = small(&database, &lm).start();
    let api = with_graph(&server.url).await;
    let body = lines(100_000);
    let half = &body[..body.len() / 2];
    let batch = begin_upload(&server.url, BATCHES, body.len(), half).await;
    let dataset = begin_upload(&server.url, "/v1/datasets?name=d", body.len(), half).await;
    api.get("/v1/graphs").await.expect(200);
    execute(&api).await.expect(200);
    drop((batch, dataset));
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_that_wait_for_the_database_delay_nothing_else() {
    let (lm, database) = (lm().await, test_database().await);
    let server = small(&database, &lm).start();
    let api = with_graph(&server.url).await;
    let mut connection = PgConnection::connect(&database).await.unwrap();
    let mut lock = lock(&mut connection, "batch_items").await;
    let uploads = [(); 2].map(|()| start_batch(&api, lines(2000)));
    blocked(&mut lock, 1).await;
    api.get("/v1/graphs").await.expect(200);
    execute(&api).await.expect(200);
    lock.rollback().await.unwrap();
    // On a slow machine the database may have given up the first ones.
    for upload in uploads {
        upload.await.unwrap();
    }
    start_batch(&api, lines(2000)).await.unwrap().expect(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_with_an_invalid_last_item_is_refused_without_waiting_for_the_database() {
    let (lm, database) = (lm().await, test_database().await);
    let server = small(&database, &lm).start();
    let api = with_graph(&server.url).await;
    let mut connection = PgConnection::connect(&database).await.unwrap();
    let lock = lock(&mut connection, "batch_items, dataset_examples, dataset_contents").await;
    let body = lines(2000) + "{}\n";
    let refused = start_batch(&api, body).await.unwrap().expect(422);
    assert_eq!(refused.errors(), ["/items/2000/question missing_field"]);
    let row = |n: usize| json!({"inputs": {"a": n}, "expected": {"b": n}}).to_string() + "\n";
    let body = (0..2000).map(row).collect::<String>() + "[]\n";
    let refused = api.send(Method::POST, "/v1/datasets?name=d", &[LINES], Some(body)).await;
    assert_eq!(refused.expect(422).errors(), ["/examples/2000 wrong_type"]);
    lock.rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_recorded_while_others_hold_every_pooled_connection() {
    let (lm, database) = (lm().await, test_database().await);
    let server = small(&database, &lm).start();
    let api = with_graph(&server.url).await;
    let mut connection = PgConnection::connect(&database).await.unwrap();
    let mut lock = lock(&mut connection, "datasets").await;
    let readers = [(); 2].map(|()| {
        let api = api.clone();
        tokio::spawn(async move { api.get("/v1/datasets").await })
    });
    blocked(&mut lock, 2).await;
    execute(&api).await.expect(200);
    lock.rollback().await.unwrap();
    for reader in readers {
        reader.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_space_of_all_uploads_is_bounded() {
    let (lm, database) = (lm().await, test_database().await);
    let setup = small(&database, &lm).env("DSRS_UPLOADS_MAX_SPOOL_BYTES", "4MiB");
    let server = setup.start();
    let api = with_graph(&server.url).await;
    let large = lines(100_000);
    assert!(large.len() > 2 << 20 && large.len() < 4 << 20, "{}", large.len());
    let before = large.len() - 1;
    let first = begin_upload(&server.url, BATCHES, large.len(), &large[..before]).await;
    let refused = until_posted(&api, &large, |answer| answer.status == 503).await;
    assert_eq!(refused.code(), "unavailable");
    let detail = refused.json()["detail"].to_string();
    assert!(detail.contains("uploads.max_spool_bytes"), "{detail}");
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 0);
    drop(first);
    until_posted(&api, &lines(10_000), |answer| answer.status == 202).await;
}

/// The open files of a process below a directory, as the system names them.
#[cfg(target_os = "linux")]
fn files_below(pid: u32, directory: &Path) -> Vec<String> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let names = open.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let names = names.filter(|name| name.starts_with(directory));
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn files_of_uploads_have_no_name_and_end_with_the_server() {
    let (lm, database) = (lm().await, test_database().await);
    let setup = small(&database, &lm);
    let spool = setup.directory().join("uploads");
    std::fs::create_dir(&spool).unwrap();
    let spool = spool.canonicalize().unwrap();
    let setup = setup.env("DSRS_UPLOADS_DIRECTORY", spool.to_str().unwrap());
    let server = setup.start();
    with_graph(&server.url).await;
    let body = lines(100_000);
    let _held = begin_upload(&server.url, BATCHES, body.len() + 1, &body).await;
    holds("a file of the upload", || !files_below(server.pid(), &spool).is_empty()).await;
    assert!(std::fs::read_dir(&spool).unwrap().next().is_none(), "the file has a name");
    server.kill();
    assert!(std::fs::read_dir(&spool).unwrap().next().is_none(), "the file is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_directory_for_uploads_cannot_be_used_does_not_start() {
    let (lm, database) = (lm().await, test_database().await);
    let setup = small(&database, &lm);
    let missing = setup.directory().join("missing");
    let setup = setup.env("DSRS_UPLOADS_DIRECTORY", missing.to_str().unwrap());
    let refused = setup.try_start().err().unwrap().stderr;
    assert!(refused.contains("uploads.directory"), "{refused}");
    assert!(refused.contains(missing.to_str().unwrap()), "{refused}");
}

/// Posts a batch of lines until the condition holds.
async fn until_posted(remote: &Remote, body: &str, done: impl Fn(&Answer) -> bool) -> Answer {
    let posted = async || Some(start_batch(remote, body.to_owned()).await.unwrap()).filter(&done);
    found("an answer", posted).await
}
