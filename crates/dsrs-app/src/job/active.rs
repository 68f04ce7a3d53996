//! The runs in progress in this process, so that they can be stopped from outside. Knows nothing of
//! what they do.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Why a run is stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// A client cancelled it.
    Cancelled,
    /// Another worker has its lease.
    Lost,
    /// Its results so far make the rest unnecessary, such as too many errors.
    Enough,
}

/// All runs in progress, by id.
#[derive(Default)]
pub(crate) struct ActiveWork(Mutex<HashMap<Uuid, Arc<Running>>>);

/// A job that this process holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldJob {
    /// The holder of its lease.
    pub(crate) holder: Uuid,
    /// The job of many items that it is, or is a part of.
    pub(crate) divided: Option<Uuid>,
}

struct Running {
    workspace: Uuid,
    /// The job, if the run is one.
    job: Option<HeldJob>,
    cancel: CancellationToken,
    stop: OnceLock<StopReason>,
}

impl Running {
    fn stop(&self, why: StopReason) {
        let _ = self.stop.set(why);
        self.cancel.cancel();
    }
}

/// A run's place among them, until dropped.
pub struct ActiveGuard {
    active_work: Arc<ActiveWork>,
    run: Uuid,
    running: Arc<Running>,
}

impl ActiveGuard {
    /// Why the run was stopped, if it was.
    pub(crate) fn stopped(&self) -> Option<StopReason> {
        self.running.stop.get().copied()
    }

    pub(crate) fn stop(&self, why: StopReason) {
        self.running.stop(why);
    }

    /// Cancelled when it is stopped.
    pub(crate) fn cancellation(&self) -> CancellationToken {
        self.running.cancel.clone()
    }
}

impl Drop for ActiveGuard {
    fn drop(&mut self) {
        let mut runs = self.active_work.runs();
        if let Entry::Occupied(found) = runs.entry(self.run)
            && Arc::ptr_eq(found.get(), &self.running)
        {
            found.remove();
        }
    }
}

impl ActiveWork {
    /// Registers a run; `cancel` stops it. This replaces an older attempt at the same run.
    pub(crate) fn register(
        self: &Arc<Self>,
        workspace: Uuid,
        run: Uuid,
        job: Option<HeldJob>,
        cancel: CancellationToken,
    ) -> ActiveGuard {
        let running = Arc::new(Running { workspace, job, cancel, stop: OnceLock::new() });
        if let Some(older) = self.runs().insert(run, running.clone()) {
            older.stop(StopReason::Lost);
        }
        ActiveGuard { active_work: self.clone(), run, running }
    }

    /// Cancels a run of this workspace; returns whether it runs here.
    pub(crate) fn cancel(&self, workspace: Uuid, run: Uuid) -> bool {
        let found = self.runs().get(&run).cloned();
        let found = found.filter(|run| run.workspace == workspace);
        found.inspect(|running| running.stop(StopReason::Cancelled)).is_some()
    }

    /// The lease holder of this process.
    pub(crate) fn holders(&self) -> Vec<Uuid> {
        self.runs().values().filter_map(|running| Some(running.job?.holder)).collect()
    }

    /// The jobs of many items that this process works on, or on a part of which.
    pub(crate) fn divided_jobs(&self) -> Vec<Uuid> {
        self.runs().values().filter_map(|running| running.job?.divided).collect()
    }

    /// The runs that are no jobs.
    pub(crate) fn executions(&self) -> Vec<Uuid> {
        let runs = self.runs();
        runs.iter().filter(|(_, running)| running.job.is_none()).map(|(run, _)| *run).collect()
    }

    /// Stops the run that is worked on as this holder.
    pub(crate) fn stop_holder(&self, holder: Uuid, why: StopReason) {
        let is_held = |running: &&Arc<Running>| running.job.is_some_and(|job| job.holder == holder);
        let found = self.runs().values().find(is_held).cloned();
        if let Some(running) = found {
            running.stop(why);
        }
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<Running>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(runs: &Arc<ActiveWork>, run: u128, holder: u128) -> (ActiveGuard, CancellationToken) {
        let cancel = CancellationToken::new();
        let job = HeldJob { holder: Uuid::from_u128(holder), divided: None };
        (runs.register(Uuid::nil(), Uuid::from_u128(run), Some(job), cancel.clone()), cancel)
    }

    #[test]
    fn a_run_is_stopped_by_its_id_its_holder_or_a_newer_attempt_and_knows_why() {
        let runs = Arc::new(ActiveWork::default());
        let (first, cancel) = enter(&runs, 1, 10);
        let (second, _) = enter(&runs, 1, 11);
        assert!(cancel.is_cancelled());
        assert_eq!((first.stopped(), second.stopped()), (Some(StopReason::Lost), None));
        drop(first);
        assert_eq!(runs.holders(), [Uuid::from_u128(11)], "the newer one is still there");
        assert!(!runs.cancel(Uuid::max(), Uuid::from_u128(1)), "another's workspace");
        assert!(runs.cancel(Uuid::nil(), Uuid::from_u128(1)));
        assert_eq!(second.stopped(), Some(StopReason::Cancelled));
        let (third, _) = enter(&runs, 3, 13);
        runs.stop_holder(Uuid::from_u128(13), StopReason::Lost);
        assert_eq!(third.stopped(), Some(StopReason::Lost));
        drop((second, third));
        assert!(runs.holders().is_empty());
        let _job = enter(&runs, 4, 14);
        let own = Uuid::from_u128(5);
        let _execution = runs.register(Uuid::nil(), own, None, CancellationToken::new());
        assert_eq!(runs.executions(), [own]);
    }
}
