//! The lease of a run whose progress is in the engine: completed nodes are state of its object. What ends there is
//! state first, and then a row in the database, so that every attempt writes the same record, and one that was
//! replaced writes none. May not know graphs.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::FutureExt;

use super::lease::{AttemptLease, LeaseWrite};
use super::run_document::{
    AttemptCount, DocumentError, SentRun, read_node, read_run, write_node, write_run,
};
use crate::clock::now;
use dsrs_restate::{EngineSession, ObjectState};
use dsrs_store::background_run::{self, StoredRun};
use dsrs_store::engine_run::{self, ReturnedRun};
use dsrs_store::group_writer::CommitOutcome;
use dsrs_store::job::{Job, JobType};
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_progress::{NodeRow, RecordedCheckpoints};
use dsrs_store::waiting_run::ParkOutcome;
use dsrs_store::{Db, StoreError};

/// The most bytes of state: half of what the engine sends to a worker in one message. A run with more continues
/// in the database.
const MAX_STATE: usize = 16 << 20;

/// The names of the state of a run.
const ATTEMPTS: &str = "attempts";
const END: &str = "end";
const END_ATTEMPTS: &str = "end_attempts";
const NODE: &str = "node:";

/// The completed nodes in the state of a run.
pub(crate) fn nodes_of(state: &ObjectState) -> Result<Vec<NodeRow>, DocumentError> {
    let nodes = state.iter().filter(|(name, _)| name.starts_with(NODE));
    nodes.map(|(_, text)| read_node(text)).collect()
}

/// The lease of one attempt at a run whose progress is in the engine.
pub(crate) struct ObjectLease {
    db: Db,
    session: EngineSession,
    sent: SentRun,
    /// This attempt is the first.
    is_first: bool,
    /// With this one.
    attempts: Mutex<AttemptCount>,
    /// How many attempts have lost the run although their workers lived.
    forgiven: AtomicU32,
    /// The record, if an earlier attempt has ended the run and not written it.
    ended: Option<Arc<RunRow>>,
    nodes: Mutex<Vec<NodeRow>>,
    size: AtomicUsize,
    /// The database has said that the run has ended or has a job: no attempt of the engine is needed.
    over: AtomicBool,
    /// The engine has confirmed the end, which a repeated write need not store again.
    end_stored: AtomicBool,
    end_attempts: u32,
}

impl ObjectLease {
    /// Reads what was sent and stored.
    pub(crate) fn open(
        db: Db,
        session: EngineSession,
        input: &Bytes,
        state: &ObjectState,
    ) -> Result<Self, DocumentError> {
        let count = |name| state.get(name).map(|text| AttemptCount::read(text)).transpose();
        let (before, end_attempts) = (count(ATTEMPTS)?, count(END_ATTEMPTS)?);
        let mut attempts = before.unwrap_or_default();
        attempts.begun = attempts.begun.saturating_add(1);
        let ended = state.get(END).map(|text| read_run(text)).transpose()?;
        Ok(Self {
            db,
            session,
            sent: SentRun::read(input)?,
            is_first: before.is_none() && state.is_empty(),
            forgiven: AtomicU32::new(attempts.forgiven_before),
            attempts: Mutex::new(attempts),
            ended: ended.map(Arc::new),
            nodes: Mutex::new(nodes_of(state)?),
            over: AtomicBool::new(false),
            end_stored: AtomicBool::new(false),
            end_attempts: end_attempts.unwrap_or_default().begun,
            size: AtomicUsize::new(input.len() + state.values().map(Bytes::len).sum::<usize>()),
        })
    }

    /// The run as a claimed job.
    pub(crate) fn job(&self, kind: JobType) -> Job {
        Job {
            lease: engine_run::lease(&self.sent.scope, self.sent.run.id),
            scope: self.sent.scope.clone(),
            kind: kind.as_str().to_owned(),
            request: self.sent.request.clone(),
            attempt: i32::try_from(self.counted()).unwrap_or(i32::MAX),
            cancelled: false,
            parent: None,
            items: None,
        }
    }

    /// Writes the record of a run that an earlier attempt has ended. False if there is none, or the database has
    /// refused it in too many attempts: then the run ends as one that was abandoned.
    pub(crate) async fn write_end(&self, most_attempts: u32) -> Result<bool, StoreError> {
        let attempts = self.end_attempts.saturating_add(1);
        let Some(run) = self.ended.as_ref().filter(|_| attempts <= most_attempts) else {
            return Ok(false);
        };
        let count = AttemptCount { begun: attempts, forgiven_before: 0 };
        if self.session.note(END_ATTEMPTS.to_owned(), count.write()).await.is_err() {
            return Ok(true);
        }
        engine_run::end(&self.sent.scope, &self.db, run).await?;
        self.clear().await;
        Ok(true)
    }

    /// The attempts since one has stored progress, with this one.
    pub(crate) fn begun(&self) -> u32 {
        self.attempts().begun
    }

    /// The attempts since one has stored progress, with this one and without those whose workers lived.
    pub(crate) fn counted(&self) -> u32 {
        self.attempts().counted(self.forgiven.load(Ordering::Relaxed))
    }

    /// Learns which of the attempts before were lost although their workers lived.
    pub(crate) async fn read_forgiven(&self) -> Result<(), StoreError> {
        let count = *self.attempts();
        if count.begun > 1 {
            let SentRun { scope, run, .. } = &self.sent;
            let lost = engine_run::lost_attempts(scope, &self.db, run.id).await?;
            self.forgiven.store(lost, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Notes that this attempt was lost although its worker lives.
    pub(crate) async fn forgive(&self) -> Result<(), StoreError> {
        if self.is_over() {
            return Ok(());
        }
        engine_run::forgive_attempt(&self.sent.scope, &self.db, self.sent.run.id).await
    }

    /// Whether the run has ended or has a job, so that no attempt of the engine is needed.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Gives the run back to the database, as a queued job.
    pub(crate) async fn return_to_queue(&self) -> Result<(), StoreError> {
        self.give_back(None).await.map(drop)
    }

    async fn give_back(&self, parked: Option<&str>) -> Result<bool, StoreError> {
        let checkpoints = self.nodes().clone();
        let returned = ReturnedRun {
            run: &self.sent.run,
            request: &self.sent.request,
            checkpoints: &checkpoints,
            parked,
            at: now(),
        };
        let given = engine_run::give_back(&self.sent.scope, &self.db, returned).await?;
        self.clear().await;
        Ok(given)
    }

    /// If the engine has gone meanwhile, the next attempt finds nothing to do, and clears the state.
    async fn clear(&self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.session.clear().await;
    }

    fn attempts(&self) -> MutexGuard<'_, AttemptCount> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The count anew, once this attempt stores progress; `None` if it counts as the first already.
    fn first_again(&self) -> Option<Bytes> {
        let mut attempts = self.attempts();
        let anew =
            AttemptCount { begun: 1, forgiven_before: self.forgiven.load(Ordering::Relaxed) };
        (attempts.begun > 1).then(|| {
            *attempts = anew;
            anew.write()
        })
    }

    fn nodes(&self) -> MutexGuard<'_, Vec<NodeRow>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_node(&self, node: Arc<NodeRow>) {
        let mut nodes = self.nodes();
        nodes.retain(|known| known.node != node.node);
        nodes.push(Arc::unwrap_or_clone(node));
    }

    fn grows_too_large(&self, by: usize) -> bool {
        self.size.fetch_add(by, Ordering::Relaxed).saturating_add(by) > MAX_STATE
    }

    async fn read_run(&self) -> Result<StoredRun, StoreError> {
        let SentRun { scope, run, .. } = &self.sent;
        let stored = match self.is_first {
            true => StoredRun { run: run.clone(), nodes: Vec::new(), newest_event: 0 },
            false => background_run::get(scope, &self.db, run.id).await?,
        };
        let run = RunRow { started_at: stored.run.started_at.or(Some(now())), ..stored.run };
        let run = RunRow { status: RunStatus::Running, ..run };
        Ok(StoredRun { run, nodes: self.nodes().clone(), ..stored })
    }

    async fn store(&self, node: Arc<NodeRow>) -> Result<bool, StoreError> {
        let text = write_node(&node);
        if self.grows_too_large(text.len()) {
            self.add_node(node);
            self.give_back(None).await?;
            return Ok(false);
        }
        if let Some(count) = self.first_again() {
            // What is stored next confirms it.
            let _ = self.session.note(ATTEMPTS.to_owned(), count).await;
        }
        let stored = self.session.store(format!("{NODE}{}", node.node), text).await;
        // Another node may have given the run back meanwhile, without this one.
        if stored.is_err() || self.is_over() {
            return Ok(false);
        }
        self.add_node(node);
        Ok(true)
    }

    async fn end(&self, run: Arc<RunRow>) -> Result<CommitOutcome, StoreError> {
        if !self.end_stored.load(Ordering::Relaxed) {
            let text = write_run(&run);
            // Even if the record is too large for the engine, it confirms that no other attempt has the run.
            let (name, text) = match self.grows_too_large(text.len()) {
                true => (ATTEMPTS, self.attempts().write()),
                false => (END, text),
            };
            if self.session.store(name.to_owned(), text).await.is_err() {
                return Ok(CommitOutcome::LeaseLost);
            }
            self.end_stored.store(true, Ordering::Relaxed);
        }
        let ended = engine_run::end(&self.sent.scope, &self.db, &run).await?;
        self.clear().await;
        Ok(if ended { CommitOutcome::Stored } else { CommitOutcome::LeaseLost })
    }
}

impl AttemptLease for ObjectLease {
    fn begin(&self, _: JobType, at: DateTime<Utc>) -> LeaseWrite<'_, bool> {
        async move {
            let run = Arc::new(self.sent.run.clone());
            if !engine_run::begin(&self.sent.scope, &self.db, &run, at).await? {
                self.clear().await;
                return Ok(false);
            }
            // Not before: what cannot reach the database is no attempt.
            let attempts = self.attempts().write();
            Ok(self.session.note(ATTEMPTS.to_owned(), attempts).await.is_ok())
        }
        .boxed()
    }

    fn stored_run(&self) -> LeaseWrite<'_, StoredRun> {
        self.read_run().boxed()
    }

    fn store_node(&self, node: Arc<NodeRow>, _: DateTime<Utc>) -> LeaseWrite<'_, bool> {
        self.store(node).boxed()
    }

    fn end_run(&self, run: Arc<RunRow>, _: RecordedCheckpoints) -> LeaseWrite<'_, CommitOutcome> {
        self.end(run).boxed()
    }

    fn park<'a>(&'a self, nodes: &'a str, _: &'a [String]) -> LeaseWrite<'a, ParkOutcome> {
        // No value can have arrived: only a run that is parked accepts one.
        async move {
            Ok(match self.give_back(Some(nodes)).await? {
                true => ParkOutcome::Done,
                false => ParkOutcome::Lost,
            })
        }
        .boxed()
    }

    fn requeue(&self) -> LeaseWrite<'_, ()> {
        async move {
            let mut count = *self.attempts();
            count.begun = count.begun.saturating_sub(1);
            // Lost or not, another attempt follows.
            match self.session.store(ATTEMPTS.to_owned(), count.write()).await {
                Ok(()) => Ok(()),
                Err(_) => self.forgive().await,
            }
        }
        .boxed()
    }
}
