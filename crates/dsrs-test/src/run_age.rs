//! Runs of the past: made old after they ended, in partitions of a day.

use chrono::{DurationRound, TimeDelta, Utc};
use dsrs_store::id_time::first_id;
use dsrs_store::partition::{Partition, PartitionedTable, extend, partitions};
use dsrs_store::{Db, PoolSettings};
use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

const DAY: TimeDelta = TimeDelta::days(1);

/// Makes a run as old as if it had been requested so many days ago.
pub async fn age_run(database: &mut PgConnection, run: &str, days: i64) -> Uuid {
    let at = Utc::now() - DAY * i32::try_from(days).unwrap();
    let old = Uuid::from_u128(first_id(at).as_u128() | u128::from(rand_bits(run)));
    let since = format!("interval '{days} days'");
    let aged = format!(
        "update runs set id = '{old}', created_at = created_at - {since}, finished_at = finished_at - {since}
         where id = '{run}';
         update run_nodes set run_id = '{old}' where run_id = '{run}';
         update jobs set id = '{old}' where id = '{run}'"
    );
    execute(database, aged).await;
    old
}

fn rand_bits(run: &str) -> u64 {
    run.parse::<Uuid>().unwrap().as_u64_pair().1
}

/// Gives the runs of the last 60 days partitions of a day.
pub async fn divide_runs(url: &str, database: &mut PgConnection) {
    let db = Db::connect(url, &PoolSettings::default()).await.unwrap();
    let begin = Utc::now().duration_trunc(DAY).unwrap() - DAY * 60;
    for Partition { name, .. } in partitions(&db, PartitionedTable::Runs).await.unwrap() {
        // Its runs find a place in the partitions that follow.
        let emptied = format!(
            "alter table runs detach partition {name};
             insert into runs_rest select * from {name}; truncate {name}"
        );
        execute(database, emptied).await;
        if name != "runs_before" {
            execute(database, format!("drop table {name}")).await;
        }
    }
    let attach = format!(
        "alter table runs attach partition runs_before for values from (minvalue) to ('{}')",
        first_id(begin)
    );
    execute(database, attach).await;
    extend(&db, PartitionedTable::Runs, begin, Utc::now() + DAY * 3, DAY).await.unwrap();
    db.close().await;
}

async fn execute(database: &mut PgConnection, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(database).await.unwrap();
}
