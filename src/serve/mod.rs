//! Assembles the server: settings, database, router, and the order of start and stop. Above every
//! room; decides nothing that a room could decide.

mod banner;
mod connections;
mod database;
mod monitor;
mod open_files;
mod problem_stream;
mod threads;

use std::fmt::Display;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use dsrs_app::metrics::{Metrics, MetricsError};
use dsrs_app::{
    App, BackgroundTasks, ModelError, SpoolError, WallSearch, add_partitions,
    check_spool_directory, engine_models,
};
use dsrs_config::{Config, WorkerConfig};

use connections::{ConnectionLimits, HEAD_TIME};
use database::Database;
use dsrs_pg::PgError;
use dsrs_shutdown::Shutdown;
use dsrs_store::{Db, StoreError, key, run_form};
use monitor::MonitorListener;
use threads::Threads;

/// How long connections get to finish their last response after all work is done.
const CLOSING: Duration = Duration::from_secs(5);

/// Why the server could not start or continue, in one line.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The port is in use.
    #[error(
        "cannot listen on {address}: the port is in use, perhaps by another dsrs-server; stop it, or choose another {flag}"
    )]
    PortTaken {
        /// The configured address.
        address: SocketAddr,
        /// The flag that configures it.
        flag: &'static str,
    },
    /// Listening failed for another reason.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The configured address.
        address: SocketAddr,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The private Postgres.
    #[error(transparent)]
    Postgres(#[from] PgError),
    /// The database does not answer or cannot be migrated.
    #[error("cannot use the database at {place}: {reason}; check DATABASE_URL")]
    Database {
        /// The database, described for people.
        place: String,
        /// Its error.
        reason: String,
    },
    /// The task that starts the database panicked.
    #[error("starting the database was interrupted")]
    NoDatabase,
    /// Others could run models at the operator's expense.
    #[error(
        "bind {0} can be reached by others and there is no key; create one with `dsrs-server keys create`, set DSRS_API_KEYS, or pass --insecure to allow it"
    )]
    OpenBind(SocketAddr),
    /// A command on the database failed.
    #[error("{0}")]
    Command(String),
    /// Others could start work at the operator's expense.
    #[error(
        "restate.bind {0} can be reached by others and their requests are not signed; set restate.identity_key, or pass --insecure to allow it"
    )]
    OpenEngine(SocketAddr),
    /// Signals cannot be received, or the listener failed.
    #[error("the server stopped: {0}")]
    Broken(#[from] std::io::Error),
    /// A model cannot be used as configured.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Uploads cannot be stored.
    #[error(transparent)]
    Uploads(#[from] SpoolError),
    /// The metrics recorder cannot be created.
    #[error("cannot create the metrics recorder: {0}")]
    Metrics(#[from] MetricsError),
    /// The OpenAPI document cannot be written as JSON.
    #[error("cannot write the OpenAPI document: {0}")]
    OpenApi(#[from] serde_json::Error),
}

/// The whole service over HTTP: the API and the page.
pub fn router(app: Arc<App>, config: &Config) -> Router {
    dsrs_page::with_problem_pages(dsrs_http::router(app, config, dsrs_page::routes()))
}

/// Serves until a signal arrives.
pub async fn serve(config: Config) -> Result<(), ServeError> {
    let shutdown = Shutdown::new();
    shutdown.listen_for_signals()?;
    open_files::raise_limit();
    // Before the database: the fastest checks run first.
    let listeners = Listeners {
        api: listen(config.bind, "--bind").await?,
        monitor: MonitorListener::open(config.monitor_bind).await?,
    };
    check_spool_directory(&config.uploads.directory)?;
    let walls = WallSearch::start(&config);
    let database = Database::open(&config).await?;
    let served = serve_on(listeners, walls, &config, &database, &shutdown).await;
    let closed = database.close().await;
    served.and(closed)
}

/// Processes background work, without serving, until a signal arrives.
pub async fn work(config: Config) -> Result<(), ServeError> {
    let shutdown = Shutdown::new();
    shutdown.listen_for_signals()?;
    let worker = WorkerConfig { enabled: true, ..config.worker };
    let config = Config { worker, ..config };
    let monitor = MonitorListener::open(config.monitor_bind).await?;
    let walls = WallSearch::start(&config);
    let database = Database::open(&config).await?;
    let worked = work_on(monitor, walls, &config, &database, &shutdown).await;
    let closed = database.close().await;
    worked.and(closed)
}

/// Migrates the database, and adds the partitions for the next days.
pub async fn migrate(config: Config, makes_compact: bool) -> Result<(), ServeError> {
    let database = Database::open(&config).await?;
    let added = add_partitions(&database.db, config.retention).await;
    added.map_err(|error| {
        ServeError::Command(format!("cannot add partitions: {}", error.cause()))
    })?;
    if makes_compact {
        let made = run_form::make_compact(&database.db).await;
        made.map_err(|error| {
            ServeError::Command(format!("cannot store runs in the compact form: {}", error.cause()))
        })?;
        println!("runs are stored in the compact form");
    }
    println!("the database is up to date: {}", database.place);
    database.close().await
}

/// Runs a command on the database, which a server may be using.
pub async fn administer<F, E>(
    config: Config,
    command: impl FnOnce(Db) -> F,
) -> Result<(), ServeError>
where
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    let database = Database::share(&config).await?;
    let done = command(database.db.clone()).await;
    let done = done.map_err(|error| ServeError::Command(error.to_string()));
    let closed = database.close().await;
    done.and(closed)
}

/// The OpenAPI document as JSON text.
pub fn openapi() -> Result<String, ServeError> {
    Ok(serde_json::to_string_pretty(&dsrs_http::openapi())?)
}

/// The same document in the form of OpenAPI 3.0.
pub fn openapi30() -> Result<String, ServeError> {
    Ok(serde_json::to_string_pretty(&dsrs_http::openapi30())?)
}

/// Where the server listens.
struct Listeners {
    api: TcpListener,
    monitor: Option<MonitorListener>,
}

async fn listen(address: SocketAddr, flag: &'static str) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        std::io::ErrorKind::AddrInUse => ServeError::PortTaken { address, flag },
        _ => ServeError::Listen { address, source },
    })
}

async fn work_on(
    monitor: Option<MonitorListener>,
    walls: WallSearch,
    config: &Config,
    database: &Database,
    shutdown: &Shutdown,
) -> Result<(), ServeError> {
    let monitored = monitor.as_ref().map(MonitorListener::address);
    print(&banner::worker_block(config, &database.place, monitored));
    let (app, background) = start(config, database, shutdown)?;
    let _monitor = monitor.map(|monitor| monitor.serve(&app, config)).transpose()?;
    app.walls_found(walls).await;
    shutdown.drained(config.shutdown_timeout).await;
    background.stop().await;
    Ok(())
}

fn start(
    config: &Config,
    database: &Database,
    shutdown: &Shutdown,
) -> Result<(Arc<App>, BackgroundTasks), ServeError> {
    if let Some(address) = config.engine.open_address(&config.worker).filter(|_| !config.insecure) {
        return Err(ServeError::OpenEngine(address));
    }
    let models = engine_models(&config.models, &config.limits)?;
    let metrics = Arc::new(Metrics::new()?);
    Ok(App::start(config, database.db.clone(), models, metrics, shutdown.clone())?)
}

/// Whether callers need a key.
async fn has_keys(config: &Config, database: &Database) -> Result<bool, ServeError> {
    if !config.api_keys.is_empty() {
        return Ok(true);
    }
    let failed = |error: StoreError| ServeError::Database {
        place: database.place.clone(),
        reason: error.cause(),
    };
    Ok(key::all(&database.db).await.map_err(failed)?.exist)
}

/// A closed stdout is no reason to stop.
fn print(block: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(block.as_bytes()).and_then(|()| out.flush());
}

async fn serve_on(
    listeners: Listeners,
    walls: WallSearch,
    config: &Config,
    database: &Database,
    shutdown: &Shutdown,
) -> Result<(), ServeError> {
    let has_keys = has_keys(config, database).await?;
    if config.is_open() && !has_keys {
        return Err(ServeError::OpenBind(config.bind));
    }
    let monitored = listeners.monitor.as_ref().map(MonitorListener::address);
    let addresses = (listeners.api.local_addr()?, monitored);
    print(&banner::start_up_block(config, addresses, &database.place, has_keys));
    let (app, background) = start(config, database, shutdown)?;
    let _monitor = listeners.monitor.map(|monitor| monitor.serve(&app, config)).transpose()?;
    app.walls_found(walls).await;
    let router = router(app, config);
    let threads = Threads::start()?;
    let limits = ConnectionLimits {
        count: usize::try_from(config.limits.connections).unwrap_or(usize::MAX),
        head_time: HEAD_TIME,
        write_time: config.limits.write_timeout,
    };
    run(listeners.api, router, &threads, limits, config.shutdown_timeout, shutdown).await;
    // The threads still run: executions whose clients disconnected may still hand in records.
    background.stop().await;
    Ok(())
}

/// Answers requests while work drains, so that clients can see that the server is no longer ready;
/// stops listening when the work is done.
async fn run(
    listener: TcpListener,
    router: Router,
    threads: &Threads,
    limits: ConnectionLimits,
    patience: Duration,
    shutdown: &Shutdown,
) {
    let stop = CancellationToken::new();
    let serving = connections::serve(listener, router, threads, limits, stop.clone());
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
