//! A database per test, copied from one that has been migrated, and dropped after the test: together they would take
//! many gigabytes.

use std::cell::RefCell;
use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use dsrs_store::partition::{PartitionedTable, add_missing_indexes};
use dsrs_store::{Db, PoolSettings};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::OnceCell;

use super::cluster::cluster;

const TEMPLATE: &str = "dsrs_template";

/// The most databases of ended tests that are dropped before one is made.
const DROPPED_AT_ONCE: usize = 2;

/// Databases of tests that have ended.
static ENDED: Mutex<Vec<String>> = Mutex::new(Vec::new());

thread_local! {
    /// The databases of the test that runs on this thread.
    static OWN: OwnDatabases = const { OwnDatabases(RefCell::new(Vec::new())) };
}

struct OwnDatabases(RefCell<Vec<String>>);

/// At the end of the thread, which is that of the test.
impl Drop for OwnDatabases {
    fn drop(&mut self) {
        let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        ended.append(&mut mem::take(&mut self.0.borrow_mut()));
    }
}

/// The URL of a migrated database that no other test uses.
pub async fn test_database() -> String {
    static TEMPLATE_MADE: OnceCell<()> = OnceCell::const_new();
    TEMPLATE_MADE.get_or_init(make_template).await;
    create(&format!("TEMPLATE {TEMPLATE}")).await
}

/// The URL of a database without any table.
pub async fn empty_database() -> String {
    create("").await
}

async fn create(options: &str) -> String {
    let ended = take_ended().into_iter();
    let drop = ended.map(|name| format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
    let name = next_name();
    // Copying files costs half of copying pages through the log.
    let create = format!("CREATE DATABASE {name} STRATEGY FILE_COPY {options}");
    administer(drop.chain([create])).await;
    let url = url_of(&name);
    OWN.with(|own| own.0.borrow_mut().push(name));
    url
}

fn take_ended() -> Vec<String> {
    let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    let rest = ended.len().saturating_sub(DROPPED_AT_ONCE);
    ended.split_off(rest)
}

/// Drops a test's database and its connections.
pub async fn drop_database(url: &str) {
    let name = url.split(['/', '?']).find(|part| part.starts_with("test_")).unwrap();
    administer([format!("DROP DATABASE {name} WITH (FORCE)")]).await;
}

fn next_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

async fn make_template() {
    administer([format!("CREATE DATABASE {TEMPLATE}")]).await;
    let db = Db::connect(&url_of(TEMPLATE), &PoolSettings::default()).await.unwrap();
    db.migrate().await.unwrap();
    // Servers of the tests have none to add.
    for table in PartitionedTable::ALL {
        add_missing_indexes(&db, table).await.unwrap();
    }
    db.close().await;
}

async fn administer(statements: impl IntoIterator<Item = String>) {
    let url = tokio::task::spawn_blocking(|| cluster().postgres.url()).await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    for statement in statements {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}

fn url_of(database: &str) -> String {
    let url = cluster().postgres.url();
    url.replacen("@localhost/dsrs?", &format!("@localhost/{database}?"), 1)
}
