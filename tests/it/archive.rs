//! Runs that retention removes go to the archive, where look-ups find them: from a partition, or one by one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsrs::lm::ScriptedLm;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::Api;
use dsrs_test::{
    Answer, ServerSetup, age_run, divide_runs, holds, one_node, scratch_dir, test_database,
};

/// A directory of its own, which is removed with its value.
struct ArchiveDirectory(PathBuf);

impl ArchiveDirectory {
    fn new() -> Self {
        let directory = scratch_dir().join(format!("archive-{}", Uuid::now_v7()));
        std::fs::create_dir_all(&directory).unwrap();
        Self(directory)
    }

    fn url(&self) -> String {
        format!("file://{}", self.0.display())
    }

    /// The files by their names, sorted.
    fn files(&self) -> Vec<String> {
        fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap().is_dir() {
                    true => walk(&entry.path(), found),
                    false => found.push(entry.path()),
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.0, &mut found);
        let name = |file: &PathBuf| file.strip_prefix(&self.0).unwrap().display().to_string();
        let mut names: Vec<String> = found.iter().map(name).collect();
        names.sort();
        names
    }
}

impl Drop for ArchiveDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn start(database: &str, archive: &ArchiveDirectory, retention: &str) -> Api {
    let lm = ScriptedLm::sections([("answer", "so it is")]);
    let settings = [("DSRS_RETENTION_RUNS", retention), ("DSRS_ARCHIVE_URL", &archive.url())];
    Api::start(database, Some(Arc::new(lm)), &settings).await
}

async fn executed(api: &Api, question: &str) -> String {
    let answer = api.post("/v1/graphs/q/execute", json!({"inputs": {"question": question}})).await;
    answer.expect(200).json()["id"].as_str().unwrap().to_owned()
}

async fn archived(api: &Api, run: &str) -> Value {
    let is_archived = |answer: &Answer| answer.json()["archived"] == true;
    api.until(&format!("/v1/runs/{run}"), is_archived).await.json()
}

/// A run as the archive has it.
fn without_feedback(mut run: Value) -> Value {
    run.as_object_mut().unwrap().remove("feedback");
    run
}

fn graph() -> Value {
    one_node("q", "question -> answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_run_is_found_in_the_archive_by_its_workspace_alone() {
    let (url, directory) = (test_database().await, ArchiveDirectory::new());
    let api = start(&url, &directory, "365d").await;
    api.post("/v1/graphs", graph()).await.expect(201);
    let run = executed(&api, "\u{0} \"quoted\" and ü?").await;
    let before = without_feedback(api.get(&format!("/v1/runs/{run}")).await.expect(200).json());
    api.stop().await;
    let api = start(&url, &directory, "1s").await;
    let mut found = archived(&api, &run).await;
    assert_eq!(found.as_object_mut().unwrap().remove("archived"), Some(json!(true)));
    assert_eq!(found, before);
    assert_eq!(api.get("/v1/runs").await.expect(200).json()["items"], json!([]));
    let files = directory.files();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    assert!(file.starts_with(&format!("runs/removed/{run}/")), "{file}");
    let provenance = format!("/v1/runs/{run}?include=provenance");
    assert!(api.get(&provenance).await.expect(200).json()["provenance"].is_object());
    api.post(&format!("/v1/runs/{run}/resume"), json!({})).await.expect(404);
    let missing = format!("/v1/runs/{}", Uuid::now_v7());
    assert_eq!(api.get(&missing).await.expect(404).json()["code"], "not_found");
    // The same file, as if it had a run of another workspace.
    let mut database = PgConnection::connect(&url).await.unwrap();
    let owner: Uuid = sqlx::query_scalar("select workspace_id from run_archives")
        .fetch_one(&mut database)
        .await
        .unwrap();
    let moved = "update run_archives set workspace_id = gen_random_uuid()";
    sqlx::raw_sql(moved).execute(&mut database).await.unwrap();
    api.get(&format!("/v1/runs/{run}")).await.expect(404);
    let back = sqlx::query("update run_archives set workspace_id = $1").bind(owner);
    back.execute(&mut database).await.unwrap();
    api.get(&format!("/v1/runs/{run}")).await.expect(200);
    let whole = std::fs::read(directory.0.join(file)).unwrap();
    for broken in [&b"PAR1"[..], &whole[..whole.len() / 2], &[&whole[8..], &whole[..8]].concat()] {
        std::fs::write(directory.0.join(file), broken).unwrap();
        let unreadable = api.get(&format!("/v1/runs/{run}")).await.expect(503);
        assert_eq!(unreadable.json()["code"], "unavailable", "{}", unreadable.text);
    }
    std::fs::remove_dir_all(directory.0.join("runs")).unwrap();
    let gone = api.get(&format!("/v1/runs/{run}")).await.expect(503);
    assert_eq!(gone.json()["code"], "unavailable", "{}", gone.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runs_of_a_partition_are_archived_before_it_is_dropped() {
    let (url, directory) = (test_database().await, ArchiveDirectory::new());
    let api = start(&url, &directory, "365d").await;
    api.post("/v1/graphs", graph()).await.expect(201);
    let runs =
        [executed(&api, "one?").await, executed(&api, "two?").await, executed(&api, "new?").await];
    let mut database = PgConnection::connect(&url).await.unwrap();
    let one = age_run(&mut database, &runs[0], 50).await;
    let two = age_run(&mut database, &runs[1], 50).await;
    divide_runs(&url, &mut database).await;
    let before = without_feedback(api.get(&format!("/v1/runs/{one}")).await.expect(200).json());
    api.stop().await;
    // What a server left that was killed before it dropped the partition.
    let day: String = sqlx::query_scalar("select tableoid::regclass::text from runs where id = $1")
        .bind(one)
        .fetch_one(&mut database)
        .await
        .unwrap();
    let partial = directory.0.join("runs").join(&day);
    std::fs::create_dir_all(&partial).unwrap();
    std::fs::write(partial.join("partial.parquet"), b"PAR1").unwrap();
    let api = start(&url, &directory, "30d").await;
    let mut found = archived(&api, &one.to_string()).await;
    found.as_object_mut().unwrap().remove("archived");
    assert_eq!(found, before);
    assert_eq!(archived(&api, &two.to_string()).await["inputs"], json!({"question": "two?"}));
    let first = one.min(two);
    let mine = |name: &String| name.starts_with(&format!("runs/{day}/"));
    let files: Vec<String> = directory.files().into_iter().filter(mine).collect();
    let names = "select distinct name from run_archives";
    let names: Vec<String> = sqlx::query_scalar(names).fetch_all(&mut database).await.unwrap();
    assert_eq!(files, names, "one file, and not what was left");
    let young = api.get(&format!("/v1/runs/{}", runs[2])).await.expect(200).json();
    assert_eq!(young.get("archived"), None);
    let listed = "select rows, first_id, last_id from run_archives";
    let listed: Vec<(i64, Uuid, Uuid)> =
        sqlx::query_as(listed).fetch_all(&mut database).await.unwrap();
    assert_eq!(listed, [(2, first, one.max(two))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_removed_while_the_archive_cannot_be_written() {
    let (url, directory) = (test_database().await, ArchiveDirectory::new());
    std::fs::write(directory.0.join("runs"), b"a file in place of the directory").unwrap();
    let api = start(&url, &directory, "365d").await;
    api.post("/v1/graphs", graph()).await.expect(201);
    let run = executed(&api, "still there?").await;
    let sweeper = ServerSetup::new().database(&url).env("DSRS_RETENTION_RUNS", "1s");
    let sweeper = sweeper.env("DSRS_ARCHIVE_URL", &directory.url());
    let _sweeper = sweeper.start();
    let has_failed = || {
        let log = std::fs::read_to_string(sweeper.log()).unwrap();
        log.matches("could not remove old rows").count() >= 2
    };
    holds("removals that fail", has_failed).await;
    let found = api.get(&format!("/v1/runs/{run}")).await.expect(200).json();
    assert_eq!(found.get("archived"), None);
    std::fs::remove_file(directory.0.join("runs")).unwrap();
    archived(&api, &run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_of_an_unknown_kind_is_refused_at_the_start() {
    let url = test_database().await;
    let setup = ServerSetup::new().database(&url).env("DSRS_ARCHIVE_URL", "ftp://example.com/runs");
    let Err(refused) = setup.try_start() else { panic!("the server started") };
    assert!(
        refused.stderr.contains("archive.url (environment variable DSRS_ARCHIVE_URL)"),
        "{}",
        refused.stderr
    );
}
