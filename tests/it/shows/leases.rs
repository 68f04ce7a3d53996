//! The time limits of work in these tests: a lease that outlives every test, and its expiry when the test wants it, so
//! that no worker loses a job because the machine is slow.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use dsrs_test::{ServerSetup, within};

/// A lease that no test waits for, and that is never renewed within one.
pub(super) const LONG_LEASE: (&str, &str) = ("DSRS_WORKER_LEASE", "1h");

/// Sets this lease. Postgres has the sessions of the process under a name of their own.
pub(super) async fn leased(setup: ServerSetup, database: &str, name: &str) -> ServerSetup {
    let create = format!(
        "do $$ begin create role {name} superuser login;
         exception when duplicate_object or unique_violation then null; end $$"
    );
    execute(database, create).await;
    let (scheme, rest) = database.split_once("://").unwrap();
    let (_, rest) = rest.split_once('@').unwrap();
    setup.env(LONG_LEASE.0, LONG_LEASE.1).env("DATABASE_URL", &format!("{scheme}://{name}@{rest}"))
}

/// Returns the jobs of all workers to the queue, as a worker does with those whose leases were not renewed. The
/// process with this name was killed, and claims nothing any more once its sessions have ended.
pub(super) async fn expire_leases(database: &str, killed: &str) {
    sessions_ended(database, killed).await;
    expire_some(database, "true").await;
}

/// The same for jobs that this condition selects. What Restate has does not expire.
pub(super) async fn expire_some(database: &str, condition: &str) {
    let expired = format!(
        "update jobs set holder = null, lease_until = null, waiting = false
         where lease_until < 'infinity' and not dispatched and {condition}"
    );
    execute(database, expired).await;
}

/// Waits until Postgres has noticed that a process was killed.
pub(super) async fn sessions_ended(database: &str, name: &str) {
    let mut connection = PgConnection::connect(database).await.unwrap();
    let sql =
        "select count(*) from pg_stat_activity where datname = current_database() and usename = $1";
    within("the end of sessions", async {
        loop {
            let sessions = sqlx::query_scalar::<_, i64>(sql).bind(name).fetch_one(&mut connection);
            if sessions.await.unwrap() == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

async fn execute(database: &str, sql: String) {
    let mut connection = PgConnection::connect(database).await.unwrap();
    sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
}
