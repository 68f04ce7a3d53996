//! Databases of earlier releases, with rows in them, are migrated: no row is lost, servers write meanwhile, and a
//! migration that was interrupted is continued.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{TimeDelta, Utc};
use dsrs_store::id_time::time_of;
use dsrs_store::partition::{PartitionedTable, partitions};
use dsrs_store::run::{RunFilter, RunStatus};
use dsrs_store::{Db, ListQuery, PoolSettings, Scope, run};
use sqlx::migrate::Migrator;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::isolation::columns;
use dsrs_test::empty_database;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// The step that makes the first table whose rows a migration moves.
const FIRST: i64 = 3;

/// The step before those that make partitions.
const UNDIVIDED: i64 = 28;

/// The rows of each table.
const ROWS: i64 = 5;

/// Applies the steps up to one, as a server of that release did.
async fn database_at(version: i64) -> (String, PgConnection) {
    let url = empty_database().await;
    let mut session = PgConnection::connect(&url).await.unwrap();
    migrate_to(&mut session, version).await;
    (url, session)
}

async fn migrate_to(session: &mut PgConnection, version: i64) {
    let steps: Vec<_> = MIGRATIONS.iter().filter(|step| step.version <= version).cloned().collect();
    let mut migrator = Migrator { migrations: steps.into(), ..Migrator::DEFAULT };
    migrator.set_ignore_missing(true);
    migrator.run_direct(None, session, false).await.unwrap();
}

/// The tables with partitions that a schema has.
async fn tables(session: &mut PgConnection) -> Vec<&'static str> {
    let names: Vec<String> = sqlx::query_scalar(
        "select relname::text from pg_class where relnamespace = 'public'::regnamespace",
    )
    .fetch_all(session)
    .await
    .unwrap();
    let all = PartitionedTable::ALL.into_iter().map(PartitionedTable::name);
    all.filter(|name| names.iter().any(|known| known == name)).collect()
}

/// Adds rows of the last hours to a table.
async fn fill(session: &mut PgConnection, table: &str, rows: i64) {
    let columns = columns(session, table).await;
    let value = |(name, value): &(String, String)| {
        match name.as_str() {
        "id" | "run_id" | "batch_id" | "evaluation_id" => {
            "(lpad(to_hex(floor(extract(epoch from now() - n * interval '1 second') * 1000)::bigint), 12, '0')
              || '7000' || substr(md5(n::text), 1, 16))::uuid"
                .to_owned()
        }
        "workspace_id" => "'00000000-0000-7000-8000-000000000001'".to_owned(),
        "created_at" => "now() - n * interval '1 second'".to_owned(),
        "trace" => r#"json_build_object('spans', array(select md5((n * k)::text) from generate_series(1, 30) k))"#
            .to_owned(),
        _ => value.replace('%', "1"),
    }
    };
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let values: Vec<String> = columns.iter().map(value).collect();
    let sql = format!(
        "set session_replication_role = replica;
         insert into {table} ({}) select {} from generate_series(1, {rows}) n",
        names.join(", "),
        values.join(", ")
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(session).await.unwrap();
}

async fn count(session: &mut PgConnection, table: &str) -> i64 {
    let sql = format!("select count(*) from {table}");
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(session).await.unwrap()
}

async fn migrated(url: &str) -> Db {
    let db = Db::connect(url, &PoolSettings::default()).await.unwrap();
    db.migrate().await.unwrap();
    db
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_every_earlier_schema_is_migrated_with_its_rows() {
    let steps = MIGRATIONS.iter().map(|step| step.version);
    for version in steps.filter(|version| (FIRST..=UNDIVIDED + 3).contains(version)) {
        let (url, mut session) = database_at(version).await;
        let filled = tables(&mut session).await;
        for table in &filled {
            fill(&mut session, table, ROWS).await;
        }
        let db = migrated(&url).await;
        for table in &filled {
            assert_eq!(count(&mut session, table).await, ROWS, "{table} of schema {version}");
        }
        let list = ListQuery::new(None, 50);
        let page = run::list(&Scope::of("ann"), &db, &RunFilter::default(), list).await.unwrap();
        assert_eq!(page.items.len() as i64, ROWS, "schema {version}");
        let found = partitions(&db, PartitionedTable::Runs).await.unwrap();
        assert_eq!(found[0].name, "runs_before", "schema {version}");
        db.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_write_to_a_large_table_while_it_gets_partitions() {
    let (url, mut session) = database_at(UNDIVIDED).await;
    fill(&mut session, "runs", 20_000).await;
    let is_migrated = Arc::new(AtomicBool::new(false));
    let old_server = tokio::spawn({
        let (url, is_migrated) = (url.clone(), is_migrated.clone());
        async move {
            let mut session = PgConnection::connect(&url).await.unwrap();
            let mut written = 0;
            while !is_migrated.load(Ordering::Relaxed) || written < 100 {
                let insert = "insert into runs
                    select first_id, workspace_id, graph_id, graph_name, graph_version, state_version, status,
                           now(), started_at, finished_at, duration_ms, inputs, outputs, error, usage, nodes,
                           trace, created_by
                    from runs, (select overlay(gen_random_uuid()::text placing
                        substr(id::text, 1, 13) from 1)::uuid as first_id from runs limit 1) new limit 1";
                sqlx::raw_sql(insert).execute(&mut session).await.unwrap();
                written += 1;
            }
            written
        }
    });
    let db = migrated(&url).await;
    is_migrated.store(true, Ordering::Relaxed);
    let written: i64 = old_server.await.unwrap();
    assert_eq!(count(&mut session, "runs").await, 20_000 + written);
    let found = partitions(&db, PartitionedTable::Runs).await.unwrap();
    let bound = time_of(found[0].end);
    assert!(bound > Utc::now() + TimeDelta::days(28), "a large table: {bound}");
    let rest = count(&mut session, "runs_rest").await;
    assert_eq!(rest, 0);
    let failed = RunFilter { status: Some(RunStatus::Failed), ..RunFilter::default() };
    let list = ListQuery::new(None, 50);
    let page = run::list(&Scope::of("ann"), &db, &failed, list).await.unwrap();
    assert!(page.items.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_was_interrupted_between_its_steps_is_continued() {
    let (url, mut session) = database_at(UNDIVIDED).await;
    fill(&mut session, "runs", 20_000).await;
    for version in UNDIVIDED + 1..=UNDIVIDED + 3 {
        migrate_to(&mut session, version).await;
        let constraints: i64 = count(
            &mut session,
            "pg_constraint where conname = 'bound_of_ids' and conrelid = 'runs'::regclass",
        )
        .await;
        assert_eq!(constraints, i64::from(version > UNDIVIDED + 1), "step {version}");
        assert_eq!(count(&mut session, "runs").await, 20_000);
    }
    let db = migrated(&url).await;
    assert_eq!(count(&mut session, "runs").await, 20_000);
    assert_eq!(count(&mut session, "pg_constraint where conname = 'bound_of_ids'").await, 0);
    assert!(db.is_migrated().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_with_ids_of_a_far_future_is_migrated() {
    let (url, mut session) = database_at(UNDIVIDED).await;
    fill(&mut session, "runs", 3).await;
    // A server whose clock was wrong.
    let future = "update runs set id = 'f0000000-0000-7000-8000-000000000000'
                  where id = (select id from runs limit 1)";
    sqlx::raw_sql(future).execute(&mut session).await.unwrap();
    let db = migrated(&url).await;
    assert_eq!(count(&mut session, "runs").await, 3);
    let found = partitions(&db, PartitionedTable::Runs).await.unwrap();
    assert!(!found.is_empty());
}
