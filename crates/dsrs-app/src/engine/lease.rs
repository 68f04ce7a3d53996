//! One attempt's right to its work, and where it stores what it has done. Each write says whether the right still
//! counts: an attempt that another one has replaced stores nothing. May not know what the work is.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use chrono::{DateTime, Utc};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use dsrs_store::background_run::{self, StoredRun};
use dsrs_store::group_writer::{self, CommitOutcome};
use dsrs_store::job::{self, JobType, Lease};
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_progress::{NodeRow, RecordedCheckpoints, RunGraph};
use dsrs_store::waiting_run::{self, ParkOutcome};
use dsrs_store::{Db, Scope, StoreError};

pub(crate) type LeaseWrite<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// One attempt's right to its work. All writes are safe to repeat.
pub(crate) trait AttemptLease: Send + Sync {
    /// Says that the attempt has begun. False if the lease is lost.
    fn begin(&self, kind: JobType, at: DateTime<Utc>) -> LeaseWrite<'_, bool>;

    /// The run that the work is, with what earlier attempts have stored.
    fn stored_run(&self) -> LeaseWrite<'_, StoredRun>;

    /// Stores a completed node. False if the lease is lost.
    fn store_node(&self, node: Arc<NodeRow>, at: DateTime<Utc>) -> LeaseWrite<'_, bool>;

    /// Ends a run whose record includes these checkpoints.
    fn end_run(
        &self,
        run: Arc<RunRow>,
        checkpoints: RecordedCheckpoints,
    ) -> LeaseWrite<'_, CommitOutcome>;

    /// Parks a run that waits for values for these nodes.
    fn park<'a>(&'a self, nodes: &'a str, waiting: &'a [String]) -> LeaseWrite<'a, ParkOutcome>;

    /// Gives the work back; the attempt does not count.
    fn requeue(&self) -> LeaseWrite<'_, ()>;
}

/// A lease on a row of `jobs`: what the attempt has done is in the database.
pub(crate) struct JobLease {
    db: Db,
    scope: Scope,
    lease: Lease,
    /// When the attempt has begun.
    start: OnceLock<DateTime<Utc>>,
    /// The run, if no attempt has started it: then it need not be read. The first read takes it, since values of
    /// signals may arrive later.
    unstarted: Mutex<Option<RunRow>>,
    /// The graph of the run, once that is read.
    graph: OnceLock<RunGraph>,
}

impl JobLease {
    pub(crate) fn new(db: Db, scope: Scope, lease: Lease) -> Self {
        let (start, graph) = (OnceLock::new(), OnceLock::new());
        Self { db, scope, lease, start, unstarted: Mutex::default(), graph }
    }

    /// The same with the run, if no attempt has started it.
    pub(crate) fn of_unstarted(self, run: Option<RunRow>) -> Self {
        Self { unstarted: Mutex::new(run), ..self }
    }

    async fn read_run(&self) -> Result<StoredRun, StoreError> {
        let stored = match self.begun_run() {
            Some(run) => run,
            None => background_run::get(&self.scope, &self.db, self.lease.job).await?,
        };
        self.graph.get_or_init(|| stored.run.graph());
        Ok(stored)
    }

    /// The run, if this attempt is the first and has stored nothing yet.
    fn begun_run(&self) -> Option<StoredRun> {
        let started_at = Some(*self.start.get()?);
        let run = self.unstarted.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let run = RunRow { status: RunStatus::Running, started_at, ..run };
        Some(StoredRun { run, nodes: Vec::new(), newest_event: 0 })
    }
}

impl AttemptLease for JobLease {
    fn begin(&self, kind: JobType, at: DateTime<Utc>) -> LeaseWrite<'_, bool> {
        let _ = self.start.set(at);
        group_writer::begin(&self.db, kind, self.lease, at).boxed()
    }

    fn stored_run(&self) -> LeaseWrite<'_, StoredRun> {
        self.read_run().boxed()
    }

    fn store_node(&self, node: Arc<NodeRow>, at: DateTime<Utc>) -> LeaseWrite<'_, bool> {
        async move {
            let (scope, graph) = (&self.scope, self.graph.get());
            background_run::record_node(scope, &self.db, self.lease, graph, &node, at).await
        }
        .boxed()
    }

    fn end_run(
        &self,
        run: Arc<RunRow>,
        checkpoints: RecordedCheckpoints,
    ) -> LeaseWrite<'_, CommitOutcome> {
        async move {
            background_run::finish(&self.scope, &self.db, self.lease, &run, checkpoints).await
        }
        .boxed()
    }

    fn park<'a>(&'a self, nodes: &'a str, waiting: &'a [String]) -> LeaseWrite<'a, ParkOutcome> {
        waiting_run::park(&self.db, self.lease, nodes, waiting).boxed()
    }

    fn requeue(&self) -> LeaseWrite<'_, ()> {
        async move { job::requeue(&self.db, self.lease).await.map(drop) }.boxed()
    }
}
