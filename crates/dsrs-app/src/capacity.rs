//! What is shared by all that is in progress in this process: places for runs and followers, memory and space.
//! A capacity has a limit over all workspaces and perhaps one for each. May not know what is shared.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use crate::AppError;

/// A shared capacity.
#[derive(Debug)]
pub struct Capacity {
    limit: u64,
    per_workspace: Option<u64>,
    used: Mutex<UsedCapacity>,
}

#[derive(Debug, Default)]
struct UsedCapacity {
    total: u64,
    /// Only counted with a limit for each workspace.
    workspaces: HashMap<Uuid, u64>,
}

/// The limit that a share would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityExceeded {
    /// That of all workspaces together.
    Process(u64),
    /// That of each workspace.
    Workspace(u64),
}

/// A part of a capacity. Dropping it gives it back.
#[derive(Debug)]
pub struct CapacityShare {
    workspace: Uuid,
    size: u64,
    capacity: Arc<Capacity>,
}

impl Capacity {
    pub fn new(limit: u64, per_workspace: Option<u64>) -> Arc<Self> {
        Arc::new(Self { limit, per_workspace, used: Mutex::default() })
    }

    /// A share of nothing, to be grown.
    pub fn share(self: &Arc<Self>, workspace: Uuid) -> CapacityShare {
        CapacityShare { workspace, size: 0, capacity: self.clone() }
    }

    pub(crate) fn place(
        self: &Arc<Self>,
        workspace: Uuid,
    ) -> Result<CapacityShare, CapacityExceeded> {
        let mut share = self.share(workspace);
        share.grow(1).map(|()| share)
    }

    /// Whether a share of this size would exceed a limit now.
    pub fn check(&self, workspace: Uuid, size: u64) -> Result<(), CapacityExceeded> {
        self.grown(&self.used(), workspace, size).map(drop)
    }

    /// What is used over all workspaces.
    pub(crate) fn total(&self) -> u64 {
        self.used().total
    }

    /// The sums with another part.
    fn grown(
        &self,
        used: &UsedCapacity,
        workspace: Uuid,
        size: u64,
    ) -> Result<(u64, u64), CapacityExceeded> {
        let fits = |used: u64, limit: u64| used.checked_add(size).filter(|sum| *sum <= limit);
        let total = fits(used.total, self.limit).ok_or(CapacityExceeded::Process(self.limit))?;
        let Some(limit) = self.per_workspace else { return Ok((total, 0)) };
        let own = used.workspaces.get(&workspace).copied().unwrap_or_default();
        let own = fits(own, limit).ok_or(CapacityExceeded::Workspace(limit))?;
        Ok((total, own))
    }

    fn used(&self) -> MutexGuard<'_, UsedCapacity> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CapacityShare {
    /// Adds to it.
    pub fn grow(&mut self, size: u64) -> Result<(), CapacityExceeded> {
        let capacity = &self.capacity;
        let mut used = capacity.used();
        // Both limits are checked before either sum changes: a refusal changes nothing.
        let (total, own) = capacity.grown(&used, self.workspace, size)?;
        used.total = total;
        if capacity.per_workspace.is_some() {
            used.workspaces.insert(self.workspace, own);
        }
        drop(used);
        self.size += size;
        Ok(())
    }
}

impl Drop for CapacityShare {
    fn drop(&mut self) {
        let mut used = self.capacity.used();
        used.total -= self.size;
        if let Some(own) = used.workspaces.get_mut(&self.workspace) {
            *own -= self.size;
            // Otherwise each workspace that was ever active would stay in the map.
            if *own == 0 {
                used.workspaces.remove(&self.workspace);
            }
        }
    }
}

impl CapacityExceeded {
    /// The refusal of a place for a run.
    pub(crate) fn of_runs(self) -> AppError {
        let (Self::Process(limit) | Self::Workspace(limit)) = self;
        AppError::TooBusy(format!(
            "{limit} runs of this workspace are in progress, which is the limit \
             (`limits.max_runs_per_workspace`); try again later"
        ))
    }

    /// The refusal of a place for a follower.
    pub(crate) fn of_followers(self) -> AppError {
        let (limit, clients, setting) = match self {
            Self::Process(limit) => (limit, "clients", "limits.max_followers"),
            Self::Workspace(limit) => {
                (limit, "clients of this workspace", "limits.max_followers_per_workspace")
            }
        };
        AppError::TooBusy(format!(
            "{limit} {clients} follow events, which is the limit (`{setting}`); try again later"
        ))
    }

    /// The refusal of memory for a body.
    pub fn of_body_memory(self) -> AppError {
        let (limit, requests, setting) = match self {
            Self::Process(limit) => (limit, "requests", "limits.body_memory"),
            Self::Workspace(limit) => {
                (limit, "requests of this workspace", "limits.body_memory_per_workspace")
            }
        };
        tracing::debug!(limit, "a request is refused: `{setting}` is used up");
        AppError::Unavailable(format!(
            "the bodies of {requests} in progress use the memory for bodies, {limit} bytes \
             (`{setting}`); try again later"
        ))
    }

    /// The refusal of a place for an upload.
    pub(crate) fn of_uploads(self) -> AppError {
        let (limit, uploads, setting) = match self {
            Self::Process(limit) => (limit, "uploads", "uploads.max_concurrent"),
            Self::Workspace(limit) => {
                (limit, "uploads of this workspace", "uploads.max_concurrent_per_workspace")
            }
        };
        AppError::Unavailable(format!(
            "{limit} {uploads} are in progress, which is the limit (`{setting}`); try again later"
        ))
    }

    /// The refusal of space for an upload.
    pub(crate) fn of_spool(self) -> AppError {
        let (uploads, setting) = match self {
            Self::Process(_) => ("the uploads in progress", "uploads.max_spool_bytes"),
            Self::Workspace(_) => {
                ("the uploads of this workspace", "uploads.max_spool_bytes_per_workspace")
            }
        };
        tracing::warn!("an upload is refused: `{setting}` is used up");
        AppError::Unavailable(format!(
            "{uploads} use all space for uploads (`{setting}`); try again later"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_a_limit_together_and_one_in_each_workspace() {
        let (one, other) = (Uuid::nil(), Uuid::max());
        let capacity = Capacity::new(10, Some(6));
        let (mut first, mut second) = (capacity.share(one), capacity.share(other));
        first.grow(4).unwrap();
        assert_eq!(first.grow(3), Err(CapacityExceeded::Workspace(6)));
        first.grow(2).unwrap();
        assert_eq!(second.grow(5), Err(CapacityExceeded::Process(10)));
        second.grow(4).unwrap();
        assert_eq!(capacity.check(other, 1), Err(CapacityExceeded::Process(10)));
        drop(first);
        assert_eq!(capacity.total(), 4);
        capacity.check(one, 6).unwrap();
        assert_eq!(capacity.check(one, u64::MAX), Err(CapacityExceeded::Process(10)));
        drop(second);
        assert!(capacity.used().workspaces.is_empty());
    }

    #[test]
    fn places_are_counted_in_each_workspace() {
        let runs = Capacity::new(u64::MAX, Some(1));
        let first = runs.place(Uuid::nil()).unwrap();
        assert!(runs.place(Uuid::nil()).is_err());
        runs.place(Uuid::max()).unwrap();
        drop(first);
        runs.place(Uuid::nil()).unwrap();
    }
}
