//! The engine of background work: what stores work that runs and hands it to workers. `postgres` is the table of
//! jobs alone; `restate` is Restate beside it. What ended, what waits for a person and all that is looked up is
//! in the database with either. May not know what a job does.

mod check;
mod lease;
mod object_lease;
mod postgres;
mod restate;
mod run_document;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use uuid::Uuid;

pub use check::{EngineFinding, check_engine};
use dsrs_config::{EngineConfig, EngineKind};
use dsrs_restate::{AdminClient, EngineClient, ServiceNames};
use dsrs_store::job::{Ending, JobType, RenewedLease};
use dsrs_store::run::RunRow;
use dsrs_store::run_progress::NodeRow;
use dsrs_store::{Db, Scope, StoreError};
pub(crate) use lease::{AttemptLease, JobLease};
pub(crate) use object_lease::ObjectLease;
use postgres::PostgresEngine;
use restate::RestateEngine;
pub(crate) use run_document::DocumentError;

/// What hands background work to workers.
pub(crate) trait Engine: Send + Sync {
    /// Whether workers claim jobs themselves. Otherwise the queue is passed on with [`Engine::dispatch`], and
    /// attempts arrive from outside.
    fn is_claimed(&self) -> bool;

    /// Stores and queues a run.
    fn accept_run<'a>(
        &'a self,
        db: &'a Db,
        run: AcceptedRun<'a>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The completed nodes of a run that has not ended, if they are in the engine.
    fn progress(&self, run: Uuid) -> BoxFuture<'_, Vec<NodeRow>>;

    /// The number of runs of a workspace that wait in the engine and have no job, counted up to `most`.
    fn count_queued<'a>(
        &'a self,
        scope: &'a Scope,
        db: &'a Db,
        most: u32,
    ) -> BoxFuture<'a, Result<u32, StoreError>>;

    /// Passes queued jobs on. False if the queue is empty.
    fn dispatch<'a>(
        &'a self,
        db: &'a Db,
        kinds: &'a [JobType],
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Confirms that these attempts hold their jobs, for this long; returns those that do.
    fn confirm<'a>(
        &'a self,
        db: &'a Db,
        holders: &'a [Uuid],
        length: Duration,
    ) -> BoxFuture<'a, Result<Vec<RenewedLease>, StoreError>>;
}

/// A run that a client has requested.
#[derive(Clone, Copy)]
pub(crate) struct AcceptedRun<'a> {
    /// The caller.
    pub(crate) scope: &'a Scope,
    pub(crate) run: &'a RunRow,
    /// The options of the request, as JSON text.
    pub(crate) request: &'a str,
    /// How its transaction ends.
    pub(crate) ending: &'a Ending,
}

/// The engine of the settings.
pub(crate) fn open(config: &EngineConfig) -> io::Result<Arc<dyn Engine>> {
    let restate = config.restate.as_ref().filter(|_| config.kind == EngineKind::Restate);
    let Some(restate) = restate else { return Ok(Arc::new(PostgresEngine)) };
    let (http, names) = (http()?, ServiceNames::new(&restate.prefix));
    let client = EngineClient::new(http.clone(), names.clone(), restate.ingress.clone());
    let admin = restate.admin.clone().map(|admin| AdminClient::new(http, names, admin));
    Ok(Arc::new(RestateEngine::new(client, admin)))
}

/// An HTTP client for the engine.
pub(crate) fn http() -> io::Result<reqwest::Client> {
    let failed = |cause: String| io::Error::other(format!("no client for the engine: {cause}"));
    reqwest::Client::builder()
        .tls_backend_preconfigured(dsrs::lm::tls().map_err(failed)?)
        .connect_timeout(CONNECT_TIME)
        // The engine is beside the server.
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| failed(error.to_string()))
}

/// The time to connect to a node of the engine.
const CONNECT_TIME: Duration = Duration::from_secs(2);
