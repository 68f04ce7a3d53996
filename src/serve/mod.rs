//! Puts the server together: settings, database, router, and the order in which all of it starts
//! and stops. Above every room; decides nothing that one of them could.

mod banner;
mod connections;
mod database;
mod explaining;
mod open_files;
mod threads;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::metrics::{Metrics, MetricsError};
use crate::app::{App, Background, ModelError, engine_models};
use crate::config::{Config, WorkerConfig};
use crate::http;
use crate::pg::PgError;
use crate::shutdown::Shutdown;
use database::Database;
use threads::Threads;

/// How long connections get to finish their last answer once all work is done.
const CLOSING: Duration = Duration::from_secs(5);

/// Why the server could not start or go on, in one line.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The port is taken.
    #[error(
        "cannot listen on {0}: the port is taken, perhaps by another dsrs-server; stop that, or choose another --bind"
    )]
    PortTaken(SocketAddr),
    /// The address cannot be listened on for another reason.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The private Postgres.
    #[error(transparent)]
    Postgres(#[from] PgError),
    /// The database does not answer, or cannot be migrated.
    #[error("cannot use the database at {place}: {reason}; check DATABASE_URL")]
    Database {
        /// Where it is.
        place: String,
        /// What it said.
        reason: String,
    },
    /// Starting the database was cut off.
    #[error("the start of the database was cut off")]
    NoDatabase,
    /// Signals cannot be listened for, or the listener broke.
    #[error("the server broke off: {0}")]
    Broken(#[from] std::io::Error),
    /// A model cannot be used as it is configured.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The metrics cannot be kept.
    #[error("the metrics cannot be kept: {0}")]
    Metrics(#[from] MetricsError),
    /// The OpenAPI document cannot be written as JSON.
    #[error("cannot write the OpenAPI document: {0}")]
    OpenApi(#[from] serde_json::Error),
}

/// Serves until a signal ends it.
pub async fn serve(config: Config) -> Result<(), ServeError> {
    let shutdown = Shutdown::new();
    shutdown.listen_for_signals()?;
    open_files::raise_limit();
    // Before the database: what is quickest to fail comes first.
    let listener = listen(config.bind).await?;
    let database = Database::open(&config).await?;
    let served = serve_on(listener, &config, &database, &shutdown).await;
    let closed = database.close().await;
    served.and(closed)
}

/// Works on background runs, without serving, until a signal ends it.
pub async fn work(config: Config) -> Result<(), ServeError> {
    let shutdown = Shutdown::new();
    shutdown.listen_for_signals()?;
    let worker = WorkerConfig { enabled: true, ..config.worker };
    let config = Config { worker, ..config };
    let database = Database::open(&config).await?;
    let worked = work_on(&config, &database, &shutdown).await;
    let closed = database.close().await;
    worked.and(closed)
}

/// Brings the database up to date.
pub async fn migrate(config: Config) -> Result<(), ServeError> {
    let database = Database::open(&config).await?;
    println!("the database is up to date: {}", database.place);
    database.close().await
}

/// The OpenAPI document as JSON text.
pub fn openapi() -> Result<String, ServeError> {
    Ok(serde_json::to_string_pretty(&http::openapi())?)
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        std::io::ErrorKind::AddrInUse => ServeError::PortTaken(address),
        _ => ServeError::Listen { address, source },
    })
}

async fn work_on(
    config: &Config,
    database: &Database,
    shutdown: &Shutdown,
) -> Result<(), ServeError> {
    print(&banner::worker_block(config, &database.place));
    let (app, background) = start(config, database, shutdown)?;
    app.tools_tried().await;
    shutdown.drained(config.shutdown_timeout).await;
    background.stop().await;
    Ok(())
}

fn start(
    config: &Config,
    database: &Database,
    shutdown: &Shutdown,
) -> Result<(Arc<App>, Background), ServeError> {
    let models = engine_models(&config.models, &config.limits)?;
    let metrics = Arc::new(Metrics::new()?);
    Ok(App::start(config, database.db.clone(), models, metrics, shutdown.clone()))
}

/// Nobody reading is no reason not to go on.
fn print(block: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(block.as_bytes()).and_then(|()| out.flush());
}

async fn serve_on(
    listener: TcpListener,
    config: &Config,
    database: &Database,
    shutdown: &Shutdown,
) -> Result<(), ServeError> {
    print(&banner::start_up_block(config, listener.local_addr()?, &database.place));
    let (app, background) = start(config, database, shutdown)?;
    app.tools_tried().await;
    let router = http::router(app, config.api_keys.clone());
    let threads = Threads::start()?;
    run(listener, router, &threads, config.shutdown_timeout, shutdown).await;
    // The threads go on meanwhile: runs left behind by their callers may still hand in records.
    background.stop().await;
    Ok(())
}

/// Answers requests while work drains too, so that readiness can be seen to be gone; stops
/// listening once the work is done.
async fn run(
    listener: TcpListener,
    router: Router,
    threads: &Threads,
    patience: Duration,
    shutdown: &Shutdown,
) {
    let stop = CancellationToken::new();
    let serving =
        connections::serve(listener, router, threads, connections::HEAD_TIME, stop.clone());
    let ending = async {
        shutdown.drained(patience).await;
        stop.cancel();
        tokio::time::sleep(CLOSING).await;
    };
    tokio::select! {
        () = serving => {}
        () = ending => {}
    }
}
