//! Migrations wait for the locks of others for a short time only, and say who holds them.

use std::time::Duration;

use dsrs_server::store::{Db, PoolSettings};
use sqlx::{Connection, PgConnection};

use crate::support::test_database;

/// Makes the migrations from 15 on missing again.
const UNDO: &str = "delete from _sqlx_migrations where version >= 15;
    drop index evaluations_ended, evaluations_expired, optimizations_ended, optimizations_expired;
    alter table evaluations drop column expired;
    alter table optimizations drop column expired;
    drop table run_cancellations, keys, key_counts, audit;
    drop table key_spending;
    drop function add_spending, tokens_of, cost_of;
    drop index workspaces_newest, jobs_of_actor, jobs_parked";

const HOLD: &str = "set application_name = 'a forgotten session';
    begin; lock table evaluations in access share mode";

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_migration_ends_and_names_what_blocks_it() {
    let url = test_database().await;
    let mut session = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(UNDO).execute(&mut session).await.unwrap();
    sqlx::raw_sql(HOLD).execute(&mut session).await.unwrap();
    let impatient =
        PoolSettings { migration_patience: Duration::from_secs(1), ..PoolSettings::default() };
    let db = Db::connect(&url, &impatient).await.unwrap();
    let refused = db.migrate().await.unwrap_err().cause();
    for part in ["a forgotten session", "idle in transaction", "migration 15"] {
        assert!(refused.contains(part), "no {part:?} in {refused}");
    }
    assert!(!db.is_migrated().await.unwrap());

    let patient = Db::connect(&url, &PoolSettings::default()).await.unwrap();
    let migrating = tokio::spawn(async move { patient.migrate().await });
    // Longer than one statement waits for a lock.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(!migrating.is_finished());
    sqlx::raw_sql("rollback").execute(&mut session).await.unwrap();
    migrating.await.unwrap().unwrap();
    assert!(db.is_migrated().await.unwrap());
}
