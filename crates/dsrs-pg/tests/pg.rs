//! The private Postgres: it starts as root or as another user, belongs to one server at a time, and
//! survives a killed server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use dsrs_pg::{PgOptions, PrivatePostgres};
use dsrs_sandbox::SANDBOX_USER;
use sqlx::{Connection, PgConnection};

use dsrs_test::{cluster, is_running, pg_options as options, scratch, test_database};

/// Runs one statement that answers a text.
async fn ask(url: &str, question: &'static str) -> String {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let answer = sqlx::query_scalar(question).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    answer
}

async fn execute(url: &str, statement: &'static str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn refusal(options: &PgOptions) -> String {
    PrivatePostgres::start(options).expect_err("it starts").to_string()
}

#[tokio::test]
async fn postgres_listens_only_on_a_socket_and_restarts_with_its_data() {
    let directory = scratch();
    let first = PrivatePostgres::start(&options(directory.path())).unwrap();
    assert!(!first.is_adopted());
    assert_eq!(ask(&first.url(), "show listen_addresses").await, "");
    assert_eq!(ask(&first.url(), "select current_database()::text").await, "dsrs");
    execute(&first.url(), "create table kept ()").await;
    let pid = first.pid();
    first.stop().unwrap();
    assert!(!is_running(pid));

    let second = PrivatePostgres::start(&options(directory.path())).unwrap();
    assert_eq!(ask(&second.url(), "select 'kept'::regclass::text").await, "kept");
    second.stop().unwrap();
}

#[tokio::test]
async fn a_second_server_on_the_same_directory_is_refused_with_the_process_id_of_the_first() {
    let directory = scratch();
    let first = PrivatePostgres::start(&options(directory.path())).unwrap();
    let expected = format!(
        "data directory {} is in use by another dsrs-server (process {}); stop that one, or give this one its own --data-dir",
        directory.path().display(),
        std::process::id()
    );
    assert_eq!(refusal(&options(directory.path())), expected);
    first.stop().unwrap();
}

/// Whether a user can read a file.
fn can_read(user: u32, group: u32, file: &Path) -> bool {
    let mut command = Command::new("/bin/cat");
    command.arg(file).uid(user).gid(group).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap().success()
}

#[tokio::test]
async fn the_user_of_the_sandbox_reads_no_file_of_the_database() {
    // Another user than root runs both; the sandbox then rests on its filter of system calls.
    if !is_root() {
        return;
    }
    let directory = scratch();
    let postgres = PrivatePostgres::start(&options(directory.path())).unwrap();
    let runs_as = std::fs::metadata(format!("/proc/{}", postgres.pid())).unwrap();
    assert!(![0, SANDBOX_USER].contains(&runs_as.uid()), "{}", runs_as.uid());
    assert!(![0, SANDBOX_USER].contains(&runs_as.gid()), "{}", runs_as.gid());
    for file in ["data/PG_VERSION", "data/postgresql.conf", "postgres.log"] {
        let file = postgres.directory().join(file);
        assert!(can_read(runs_as.uid(), runs_as.gid(), &file), "{}", file.display());
        assert!(!can_read(SANDBOX_USER, SANDBOX_USER, &file), "{}", file.display());
    }
    postgres.stop().unwrap();
}

#[tokio::test]
async fn postgres_starts_after_a_crash() {
    let directory = scratch();
    PrivatePostgres::start(&options(directory.path())).unwrap().stop().unwrap();
    let pgdata = directory.path().join("postgres/data");
    // The id of a running process that is not Postgres: this one.
    let other = format!("{}\n{}\n1\n5432\n\n\n\nready\n", std::process::id(), pgdata.display());
    for left in [other.as_str(), "2147483646\n", "not a number\n", ""] {
        std::fs::write(pgdata.join("postmaster.pid"), left).unwrap();
        let postgres = PrivatePostgres::start(&options(directory.path()));
        postgres.unwrap_or_else(|error| panic!("{left:?}: {error}")).stop().unwrap();
    }
}

#[tokio::test]
async fn an_interrupted_initdb_is_repeated() {
    let directory = scratch();
    let halves =
        ["data.new", "data.new.7"].map(|name| directory.path().join("postgres").join(name));
    for half in &halves {
        std::fs::create_dir_all(half).unwrap();
        std::fs::write(half.join("PG_VERSION"), "15").unwrap();
    }
    PrivatePostgres::start(&options(directory.path())).unwrap().stop().unwrap();
    assert!(halves.iter().all(|half| !half.exists()));
}

#[tokio::test]
async fn a_long_path_gets_a_short_private_socket_directory() {
    let directory = scratch();
    let long = directory.path().join("d".repeat(100));
    let postgres = PrivatePostgres::start(&options(&long)).unwrap();
    let socket_dir = postgres.socket_dir().to_owned();
    assert!(!socket_dir.starts_with(directory.path()), "{}", socket_dir.display());
    assert_eq!(std::fs::metadata(&socket_dir).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(ask(&postgres.url(), "select 'here'").await, "here");
    postgres.stop().unwrap();
    std::fs::remove_dir_all(socket_dir).unwrap();
}

#[tokio::test]
async fn a_path_with_quotes_spaces_and_commas_is_as_good_as_any() {
    let directory = scratch();
    let odd = directory.path().join("it's, \"odd\" é");
    let postgres = PrivatePostgres::start(&options(&odd)).unwrap();
    assert!(postgres.socket_dir().starts_with(&odd));
    assert_eq!(ask(&postgres.url(), "select 'here'").await, "here");
    postgres.stop().unwrap();
}

#[tokio::test]
async fn root_stores_the_files_where_the_other_user_has_access() {
    let directory = scratch();
    let closed = directory.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    let postgres = PrivatePostgres::start(&options(&closed.join("data"))).unwrap();
    assert_eq!(postgres.is_elsewhere(), is_root());
    assert_eq!(postgres.directory().starts_with("/var/lib"), is_root());
    assert_eq!(ask(&postgres.url(), "select 'here'").await, "here");
    let files = postgres.directory().to_owned();
    postgres.stop().unwrap();
    std::fs::remove_dir_all(files).unwrap();
}

#[test]
fn a_directory_without_the_programs_is_refused_by_name() {
    let directory = scratch();
    let pg_bin = Some(directory.path().to_owned());
    let line = refusal(&PgOptions { pg_bin, ..options(&directory.path().join("data")) });
    let expected = format!("database.pg_bin: {} has no initdb", directory.path().display());
    assert!(line.starts_with(&expected), "{line}");
}

#[test]
fn a_cluster_of_another_version_is_left_alone() {
    let directory = scratch();
    let pgdata = directory.path().join("postgres/data");
    std::fs::create_dir_all(&pgdata).unwrap();
    std::fs::write(pgdata.join("PG_VERSION"), "9\n").unwrap();
    let line = refusal(&options(directory.path()));
    assert!(line.contains("was made by Postgres 9, but only Postgres"), "{line}");
    assert!(line.ends_with("install Postgres 9, or use another --data-dir"), "{line}");
}

#[test]
fn a_data_directory_that_cannot_be_created_is_refused_by_name() {
    let directory = scratch();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let line = refusal(&options(&file.join("data")));
    assert!(line.starts_with(&format!("cannot make {}", file.join("data").display())), "{line}");
}

#[tokio::test]
async fn two_tests_use_two_databases_of_one_cluster() {
    let (one, other) = tokio::join!(test_database(), test_database());
    assert_ne!(one, other);
    execute(&one, "create table only_here ()").await;
    let found = ask(&other, "select coalesce(to_regclass('only_here')::text, 'absent')").await;
    assert_eq!(found, "absent");
    assert!(is_running(cluster().postgres.pid()));
}
