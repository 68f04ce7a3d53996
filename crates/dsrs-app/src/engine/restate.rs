//! Restate as the engine: it says which worker makes an attempt, and when a worker is gone. Work whose row is in
//! the table of jobs passes through the queue there: it is sent once its transaction has committed, by any server.

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use uuid::Uuid;

use super::object_lease::nodes_of;
use super::run_document::SentRun;
use super::{AcceptedRun, Engine};
use dsrs_restate::{AdminClient, EngineClient, EngineError, SentWork, Service};
use dsrs_store::job::{self, Ending, JobType, Lease, RenewedLease};
use dsrs_store::run_progress::NodeRow;
use dsrs_store::{Db, Scope, StoreError, background_run, engine_run};

/// Jobs that are sent together.
const SENT_AT_ONCE: usize = 64;

/// Runs of more bytes are not sent to the engine as a whole.
const LARGE: usize = 8 << 20;

/// The time to send jobs; after it, another server sends them.
const SEND_TIME: Duration = Duration::from_secs(30);

/// Restate beside the database.
pub(super) struct RestateEngine {
    client: EngineClient,
    admin: Option<AdminClient>,
}

impl RestateEngine {
    pub(super) fn new(client: EngineClient, admin: Option<AdminClient>) -> Self {
        Self { client, admin }
    }

    async fn send_queued(&self, db: &Db, kinds: &[JobType]) -> Result<bool, StoreError> {
        let installation = db.installation().await?;
        let holders: Vec<Uuid> = (0..SENT_AT_ONCE).map(|_| Uuid::now_v7()).collect();
        let jobs = job::take_queued(db, kinds, &holders, SEND_TIME).await?;
        if jobs.is_empty() {
            return Ok(false);
        }
        let sent = join_all(jobs.iter().map(|lease| self.send(*lease, installation))).await;
        let (sent, unsent): (Vec<_>, Vec<_>) = sent.into_iter().partition(Result::is_ok);
        let sent: Vec<Uuid> = sent.into_iter().filter_map(Result::ok).collect();
        job::set_dispatched(db, &sent).await?;
        let mut unsent = unsent.into_iter().filter_map(Result::err).peekable();
        let Some((_, cause)) = unsent.peek().cloned() else { return Ok(true) };
        let unsent: Vec<Uuid> = unsent.map(|(holder, _)| holder).collect();
        job::return_unsent(db, &unsent).await?;
        tracing::warn!(count = unsent.len(), cause, "could not send jobs to the engine");
        Err(StoreError::unavailable("the engine cannot be reached"))
    }

    /// Sends a run, then stores its row. If the server ends in between, its first attempt stores the row.
    async fn accept(&self, db: &Db, accepted: AcceptedRun<'_>) -> Result<(), StoreError> {
        let AcceptedRun { scope, run, request, ending } = accepted;
        // The answer and the work are one transaction, so the work passes through the queue. So does a run whose
        // inputs are large for a message of the engine.
        if *ending != Ending::Commit(None) || run.size() > LARGE {
            return background_run::accept(scope, db, run, request, ending).await;
        }
        let (scope, request, run) = (scope.clone(), request.to_owned(), run.clone());
        let sent = SentRun { scope, request, run };
        let (service, key, input) = (Service::Run, sent.run.id, sent.write());
        let installation = db.installation().await?;
        let work = SentWork { service, key, installation, input };
        self.client.send(work).await.map_err(|error| {
            tracing::warn!(%error, "could not send a run to the engine");
            StoreError::unavailable("the engine cannot be reached")
        })?;
        match engine_run::accept(&sent.scope, db, &sent.run).await {
            // It is accepted by now; its first attempt stores the row.
            Err(error) if error.is_outage() => {
                tracing::warn!(run = %sent.run.id, cause = error.cause(), "could not store a queued run");
                Ok(())
            }
            stored => stored,
        }
    }

    /// Nothing if the engine does not answer: the record in the database is shown as it is.
    async fn read_progress(&self, run: Uuid) -> Vec<NodeRow> {
        // No worker answers while none is running.
        let state = match (self.client.progress(run).await, &self.admin) {
            (Err(_), Some(admin)) => admin.state(run).await,
            (state, _) => state,
        };
        let warn = |error: &EngineError| {
            tracing::warn!(%run, %error, "could not read the progress of a run");
        };
        nodes_of(&state.inspect_err(warn).unwrap_or_default()).unwrap_or_default()
    }

    async fn send(&self, lease: Lease, installation: Uuid) -> Result<Uuid, (Uuid, String)> {
        let (service, key, input) = (Service::Job, lease.job, Bytes::new());
        let sent = self.client.send(SentWork { service, key, installation, input }).await;
        sent.map(|()| lease.holder).map_err(|error| (lease.holder, error.to_string()))
    }
}

impl Engine for RestateEngine {
    fn is_claimed(&self) -> bool {
        false
    }

    fn accept_run<'a>(
        &'a self,
        db: &'a Db,
        run: AcceptedRun<'a>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.accept(db, run).boxed()
    }

    fn progress(&self, run: Uuid) -> BoxFuture<'_, Vec<NodeRow>> {
        self.read_progress(run).boxed()
    }

    fn count_queued<'a>(
        &'a self,
        scope: &'a Scope,
        db: &'a Db,
        most: u32,
    ) -> BoxFuture<'a, Result<u32, StoreError>> {
        engine_run::count_queued(scope, db, most).boxed()
    }

    fn dispatch<'a>(
        &'a self,
        db: &'a Db,
        kinds: &'a [JobType],
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.send_queued(db, kinds).boxed()
    }

    fn confirm<'a>(
        &'a self,
        db: &'a Db,
        holders: &'a [Uuid],
        _: Duration,
    ) -> BoxFuture<'a, Result<Vec<RenewedLease>, StoreError>> {
        job::observe(db, holders).boxed()
    }
}
