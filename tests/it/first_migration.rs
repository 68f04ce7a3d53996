//! The migrations of an empty database are one transaction: a server that is killed in the middle leaves an empty
//! database, which the next one migrates.

use std::process::{Child, Command, Stdio};

use sqlx::{Connection, PgConnection};

use dsrs_test::{empty_database, found, program};

/// Makes the first policy wait for a lock, which the session has.
const HOLD: &str = "create function hold() returns event_trigger language plpgsql as
        'begin perform pg_advisory_xact_lock(36); end';
    create event trigger hold on ddl_command_end when tag in ('CREATE POLICY') execute function hold();
    select pg_advisory_lock(36)";

const RELEASE: &str = "drop event trigger hold; select pg_advisory_unlock(36)";

const IS_HELD: &str = "select count(*) > 0 from pg_locks
    where locktype = 'advisory' and not granted and objid = 36
          and database = (select oid from pg_database where datname = current_database())";

const SERVERS: &str = "select count(*) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()";

const TABLES: &str = "select count(*) from pg_tables where schemaname = 'public'";

fn migrate(database: &str) -> Child {
    let mut command = Command::new(program());
    command.arg("migrate").env("DATABASE_URL", database);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

async fn number(session: &mut PgConnection, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(session).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_while_it_migrates_leaves_an_empty_database_to_the_next() {
    let database = empty_database().await;
    let mut session = PgConnection::connect(&database).await.unwrap();
    sqlx::raw_sql(HOLD).execute(&mut session).await.unwrap();
    let mut killed = migrate(&database);
    found("the migration that waits", async || {
        let is_held: bool = sqlx::query_scalar(IS_HELD).fetch_one(&mut session).await.unwrap();
        is_held.then_some(())
    })
    .await;
    killed.kill().unwrap();
    assert!(!killed.wait().unwrap().success());
    sqlx::raw_sql(RELEASE).execute(&mut session).await.unwrap();
    found("the end of its sessions", async || {
        (number(&mut session, SERVERS).await == 0).then_some(())
    })
    .await;
    // That of the migrator, which names none.
    assert_eq!(number(&mut session, TABLES).await, 1);

    let pair = [migrate(&database), migrate(&database)];
    for mut server in pair {
        assert!(server.wait().unwrap().success());
    }
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations")).unwrap();
    let migrations = files.filter(|file| {
        file.as_ref().is_ok_and(|file| file.path().extension().is_some_and(|kind| kind == "sql"))
    });
    assert_eq!(
        number(&mut session, "select count(*) from _sqlx_migrations where success").await,
        i64::try_from(migrations.count()).unwrap()
    );
    assert!(number(&mut session, TABLES).await > 50);
}
