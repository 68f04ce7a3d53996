//! Limits of what runs at the same time in this process besides the limit of all runs: runs of each
//! workspace, and followers of events. May not know what a run does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::app::AppError;

/// The executions in progress, by workspace.
#[derive(Debug)]
pub(crate) struct WorkspaceRuns {
    limit: Option<u32>,
    running: Mutex<HashMap<Uuid, u32>>,
}

/// The right to execute one run in a workspace. Dropping it passes it on.
#[derive(Debug)]
pub(crate) struct WorkspaceRunPermit {
    workspace: Uuid,
    runs: Arc<WorkspaceRuns>,
}

impl WorkspaceRuns {
    pub(crate) fn new(limit: Option<u32>) -> Arc<Self> {
        Arc::new(Self { limit, running: Mutex::default() })
    }

    /// A permit for one more run; none is needed without a limit.
    ///
    /// # Errors
    /// If the workspace has reached the limit.
    pub(crate) fn permit(
        self: &Arc<Self>,
        workspace: Uuid,
    ) -> Result<Option<WorkspaceRunPermit>, AppError> {
        let Some(limit) = self.limit else { return Ok(None) };
        let mut running = self.running();
        let count = running.entry(workspace).or_default();
        if *count >= limit {
            return Err(AppError::TooBusy(format!(
                "{limit} runs of this workspace are in progress, which is the limit \
                 (`limits.max_runs_per_workspace`); try again later"
            )));
        }
        *count += 1;
        drop(running);
        Ok(Some(WorkspaceRunPermit { workspace, runs: self.clone() }))
    }

    fn running(&self) -> MutexGuard<'_, HashMap<Uuid, u32>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WorkspaceRunPermit {
    fn drop(&mut self) {
        let mut running = self.runs.running();
        if let Some(count) = running.get_mut(&self.workspace) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.workspace);
            }
        }
    }
}

/// The followers of events.
#[derive(Debug)]
pub(crate) struct Followers {
    limit: u32,
    slots: Arc<Semaphore>,
}

/// The right to follow events. Dropping it passes it on.
#[derive(Debug)]
pub(crate) struct FollowerPermit(
    #[expect(dead_code, reason = "released when dropped")] OwnedSemaphorePermit,
);

impl Followers {
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit, slots: Arc::new(Semaphore::new(limit as usize)) }
    }

    /// A permit for one more follower.
    ///
    /// # Errors
    /// If there are too many.
    pub(crate) fn permit(&self) -> Result<FollowerPermit, AppError> {
        self.slots.clone().try_acquire_owned().map(FollowerPermit).map_err(|_| {
            let limit = self.limit;
            AppError::TooBusy(format!(
                "{limit} clients follow events, which is the limit (`limits.max_followers`); try \
                 again later"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workspace_has_its_own_limit() {
        let runs = WorkspaceRuns::new(Some(1));
        let first = runs.permit(Uuid::nil()).unwrap();
        assert!(runs.permit(Uuid::nil()).is_err());
        assert!(runs.permit(Uuid::max()).is_ok());
        drop(first);
        assert!(runs.permit(Uuid::nil()).is_ok());
        assert!(runs.running().is_empty());
    }
}
