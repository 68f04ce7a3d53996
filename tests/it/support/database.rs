//! A database per test, copied from one that has been migrated.

use std::sync::atomic::{AtomicU32, Ordering};

use dsrs_server::store::{Db, PoolSettings};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::OnceCell;

use super::cluster::cluster;

const TEMPLATE: &str = "dsrs_template";

/// The URL of a migrated database that no other test uses.
pub async fn test_database() -> String {
    static TEMPLATE_MADE: OnceCell<()> = OnceCell::const_new();
    TEMPLATE_MADE.get_or_init(make_template).await;
    let name = next_name();
    administer(&format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE}")).await;
    url_of(&name)
}

/// The URL of a database without any table.
pub async fn empty_database() -> String {
    let name = next_name();
    administer(&format!("CREATE DATABASE {name}")).await;
    url_of(&name)
}

/// Drops a test's database and its connections.
pub async fn drop_database(url: &str) {
    let name = url.split(['/', '?']).find(|part| part.starts_with("test_")).unwrap();
    administer(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
}

fn next_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

async fn make_template() {
    administer(&format!("CREATE DATABASE {TEMPLATE}")).await;
    let db = Db::connect(&url_of(TEMPLATE), &PoolSettings::default()).await.unwrap();
    db.migrate().await.unwrap();
    db.close().await;
}

async fn administer(statement: &str) {
    let url = tokio::task::spawn_blocking(|| cluster().postgres.url()).await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

fn url_of(database: &str) -> String {
    let url = cluster().postgres.url();
    url.replacen("@localhost/dsrs?", &format!("@localhost/{database}?"), 1)
}
