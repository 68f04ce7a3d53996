//! Migrations wait for the locks of others for a short time only, and say who holds them.

use std::time::Duration;

use dsrs_store::{Db, PoolSettings};
use sqlx::{Connection, PgConnection};

use super::begun_to_wait;
use dsrs_test::{PATIENCE, test_database};

/// Makes the migrations from 15 on missing again.
const UNDO: &str = "delete from _sqlx_migrations where version >= 15;
    drop index evaluations_ended, evaluations_expired, optimizations_ended, optimizations_expired;
    alter table evaluations drop column expired, drop column unmeasured, drop column max_unmeasured;
    alter table evaluation_results drop column unmeasured;
    alter table optimizations drop column expired;
    alter table batches drop column reasoning_tokens, drop column cache_write_tokens, drop column tags,
        drop column session_id, drop column user_id, drop column metadata;
    alter table runs drop column lost_attempts, drop column tags, drop column session_id, drop column user_id, drop column metadata;
    drop trigger runs_added on runs;
    drop trigger runs_changed on runs;
    drop trigger evaluation_results_added on evaluation_results;
    drop trigger optimizations_changed on optimizations;
    drop function count_runs_added, count_runs_changed, count_results_added, count_optimization_changed, usage_of_run;
    alter table runs drop column model_usage;
    drop table run_labels, run_feedback, usage_hours, online_evaluations, online_samples;
    alter table evaluations drop column reasoning_tokens, drop column cache_write_tokens,
        drop column judging_reasoning_tokens, drop column judging_cache_write_tokens;
    alter table optimizations drop column reasoning_tokens, drop column cache_write_tokens;
    drop table run_cancellations, keys, key_counts, audit;
    drop table key_spending, optimization_programs, optimization_tasks, run_archives;
    drop table webhooks, webhook_deliveries, schedules, schedule_firings, installation;
    drop function run_event_data, api_time;
    drop function add_spending, tokens_of, cost_of;
    drop index workspaces_newest, jobs_of_actor, jobs_parked, runs_durations, runs_problems;
    alter table graph_versions drop column expose;
    alter table jobs drop column parent, drop column items_from, drop column items_to, drop column dispatched,
        drop column format;
    create index jobs_lapsed on jobs (lease_until) where lease_until is not null";

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
