//! Migrations wait for the locks of others for a short time only, and say who holds them. Databases of releases before
//! these migrations are adopted or refused.

use std::time::Duration;

use dsrs_store::{Db, ListQuery, PoolSettings, graph};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{ann, begun_to_wait, make};
use dsrs_test::{PATIENCE, test_database};

/// Makes the last migrations missing again: from 116, and from 117 to 120.
const UNDO: &str = "delete from _sqlx_migrations where version >= 116;
    drop table online_evaluations, online_samples";
const UNDO_BODIES: &str = "drop table recorded_calls;
    alter table evaluations drop column reuse_calls;
    drop table indexes, index_builds, index_segments, index_build_segments, index_passages,
        index_terms;
    alter table run_nodes drop column body, alter column outcome set not null,
        alter column usage set not null, alter column trace set not null;
    drop table prompt_prefixes, run_dictionaries;
    drop index keys_with_budget;
    alter table runs drop column body, drop column counts, drop column total_cost;
    alter table installation drop column compact_runs;
    create trigger runs_added after insert on runs
        referencing new table as added for each statement execute function count_runs_added();
    create trigger runs_changed after update on runs referencing old table as before new table as after
        for each statement execute function count_runs_changed()";

/// The migration adds a foreign key to this table.
const HOLD: &str = "set application_name = 'a forgotten session';
    begin; lock table workspaces in row exclusive mode";

/// What the newest release before has recorded. Its tables are those of a new database: `pg_dump` of both was compared
/// when the migrations were squashed.
const FORMER: &str = "delete from _sqlx_migrations;
    insert into _sqlx_migrations (version, description, success, checksum, execution_time)
    select version, 'of a former release', true, '', 0
    from generate_series(1, 64) version where version not between 36 and 49";

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_migration_ends_and_names_what_blocks_it() {
    let url = test_database().await;
    let mut session = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(UNDO).execute(&mut session).await.unwrap();
    sqlx::raw_sql(UNDO_BODIES).execute(&mut session).await.unwrap();
    sqlx::raw_sql(HOLD).execute(&mut session).await.unwrap();
    let impatient =
        PoolSettings { migration_patience: Duration::from_secs(1), ..PoolSettings::default() };
    let db = Db::connect(&url, &impatient).await.unwrap();
    let refused = db.migrate().await.unwrap_err().cause();
    for part in ["a forgotten session", "idle in transaction", "migration 116"] {
        assert!(refused.contains(part), "no {part:?} in {refused}");
    }
    assert!(!db.is_migrated().await.unwrap());

    let patient = PoolSettings { migration_patience: PATIENCE, ..PoolSettings::default() };
    let patient = Db::connect(&url, &patient).await.unwrap();
    let migrating = tokio::spawn(async move { patient.migrate().await });
    // One statement was given up by then.
    begun_to_wait(&mut session, 2).await;
    assert!(!migrating.is_finished());
    sqlx::raw_sql("rollback").execute(&mut session).await.unwrap();
    migrating.await.unwrap().unwrap();
    assert!(db.is_migrated().await.unwrap());
}

/// A database whose migrations are recorded as a statement says.
async fn recorded(statement: &str) -> (Db, PgConnection) {
    let url = test_database().await;
    let mut session = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(FORMER).execute(&mut session).await.unwrap();
    sqlx::raw_sql(UNDO_BODIES).execute(&mut session).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&mut session).await.unwrap();
    (Db::connect(&url, &PoolSettings::default()).await.unwrap(), session)
}

async fn versions(session: &mut PgConnection) -> Vec<i64> {
    let versions = "select version from _sqlx_migrations order by version";
    sqlx::query_scalar(versions).fetch_all(session).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_the_newest_release_before_is_adopted_by_servers_that_start_together() {
    let (db, mut session) = recorded("").await;
    make(&db, "earlier").await.unwrap();
    assert!(!db.is_migrated().await.unwrap());
    let (one, other) = tokio::join!(db.migrate(), db.migrate());
    one.and(other).unwrap();
    assert!(db.is_migrated().await.unwrap());
    // A server of that release starts again: it finds its own.
    let former = (1..=35).chain(50..=64);
    assert_eq!(versions(&mut session).await, former.chain(101..=120).collect::<Vec<_>>());
    make(&db, "later").await.unwrap();
    let graphs = graph::list(&ann(), &db, ListQuery::new(None, 9)).await.unwrap();
    assert_eq!(graphs.items.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_an_older_release_has_migrated_last_is_refused_as_it_is() {
    for missing in [
        "delete from _sqlx_migrations where version = 64",
        "delete from _sqlx_migrations where version > 1",
        "update _sqlx_migrations set success = false where version = 35",
    ] {
        let (db, mut session) = recorded(missing).await;
        let before = versions(&mut session).await;
        let refused = db.migrate().await.unwrap_err().cause();
        assert!(refused.contains("80566524"), "{refused}");
        assert_eq!(versions(&mut session).await, before, "{missing}");
        assert!(!db.is_migrated().await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_values_are_compressed_with_lz4_where_the_server_has_it() {
    let mut session = PgConnection::connect(&test_database().await).await.unwrap();
    let has_lz4: bool = sqlx::query_scalar(
        "select exists (select from pg_settings
                        where name = 'default_toast_compression' and 'lz4' = any (enumvals))",
    )
    .fetch_one(&mut session)
    .await
    .unwrap();
    let methods: Vec<String> = sqlx::query_scalar(
        "select distinct attcompression::text from pg_attribute
         where attrelid in ('runs'::regclass, 'run_events'::regclass, 'batch_items'::regclass)
               and atttypid = 'json'::regtype and not attisdropped",
    )
    .fetch_all(&mut session)
    .await
    .unwrap();
    let expected = if has_lz4 { "l" } else { "" };
    assert_eq!(methods, [expected]);
}
