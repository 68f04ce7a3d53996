//! A Postgres of the test's own, which can be stopped and started again.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dsrs_store::{Db, PoolSettings};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::audit::{ATTEMPTS, AUDIT, SERVER};
use dsrs_test::{TestCluster, scratch_dir};

/// Three servers, and backends of killed ones that have not noticed it.
const CONNECTIONS: u32 = 150;

pub struct Postgres {
    url: String,
    socket: PathBuf,
    data_dir: PathBuf,
    running: Mutex<Option<TestCluster>>,
}

impl Postgres {
    /// Migrated, and with the triggers of the audit.
    pub async fn start() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let data_dir = scratch_dir().join(format!("scale-{}-{number}", std::process::id()));
        let starting = data_dir.clone();
        let cluster =
            tokio::task::spawn_blocking(move || TestCluster::start(&starting, CONNECTIONS));
        let cluster = cluster.await.unwrap();
        let url = cluster.postgres.url();
        let socket = cluster.postgres.socket_dir().join(".s.PGSQL.5432");
        let postgres = Self { url, socket, data_dir, running: Mutex::new(Some(cluster)) };
        let db = Db::connect(&postgres.url, &PoolSettings::default()).await.unwrap();
        db.migrate().await.unwrap();
        db.close().await;
        let mut connection = PgConnection::connect(&postgres.url).await.unwrap();
        for triggers in [AUDIT, ATTEMPTS] {
            sqlx::raw_sql(triggers).execute(&mut connection).await.unwrap();
        }
        postgres
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    /// Its URL for a server, without a network between.
    pub fn url(&self, server: usize) -> String {
        format!("{}&options[{SERVER}]={server}", self.url)
    }

    /// Its URL for a server, behind this address.
    pub fn url_at(&self, address: std::net::SocketAddr, server: usize) -> String {
        let (user, _) = self.url.split_once('@').unwrap();
        format!("{user}@{address}/dsrs?sslmode=disable&options[{SERVER}]={server}")
    }

    /// Stops it, with its sessions, for a while. Blocks.
    pub fn stop_for(&self, pause: Duration, meanwhile: impl FnOnce()) {
        self.running.lock().unwrap().take().unwrap().stop();
        std::thread::sleep(pause / 2);
        meanwhile();
        std::thread::sleep(pause / 2);
        let again = TestCluster::start(&self.data_dir, CONNECTIONS);
        *self.running.lock().unwrap() = Some(again);
    }

    /// The rows of a query; it must run.
    pub async fn rows(&self, query: &str) -> Vec<PgRow> {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let rows = sqlx::query(AssertSqlSafe(query)).fetch_all(&mut connection).await;
        rows.unwrap_or_else(|error| panic!("{error}: {query}"))
    }

    /// The number that a query returns.
    pub async fn count(&self, query: &str) -> i64 {
        use sqlx::Row;
        self.rows(query).await[0].get(0)
    }
}
