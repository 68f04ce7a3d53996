//! Places in the queue of each workspace: how many more runs this server may queue before it counts them
//! again. May not know what a run is.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use crate::engine::Engine;
use dsrs_store::job::{self, JobType};
use dsrs_store::{Db, Scope, StoreError};

/// Places that are taken without another count, at most. Each server may exceed the limit by as many.
const UNCOUNTED: u32 = 100;

/// How long a count is used.
const USE: Duration = Duration::from_secs(1);

/// The places of all workspaces for one type of job.
pub(crate) struct QueuePlaces {
    kind: JobType,
    left: Mutex<HashMap<Uuid, CountedPlaces>>,
}

struct CountedPlaces {
    left: u32,
    counted: Instant,
}

impl QueuePlaces {
    pub(crate) fn new(kind: JobType) -> Self {
        Self { kind, left: Mutex::default() }
    }

    /// Takes a place. False if `limit` jobs of the workspace are queued. Jobs that have left the queue since
    /// the last count are not seen, so one server alone never exceeds the limit, except by calls that count at
    /// the same time.
    pub(crate) async fn take_place(
        &self,
        scope: &Scope,
        db: &Db,
        engine: &dyn Engine,
        limit: u32,
    ) -> Result<bool, StoreError> {
        if self.take_counted(scope.workspace) {
            return Ok(true);
        }
        let queued = job::count_queued(scope, db, self.kind, limit).await?;
        let queued = queued.saturating_add(engine.count_queued(scope, db, limit).await?);
        let left = limit.saturating_sub(queued);
        if left == 0 {
            return Ok(false);
        }
        let counted = CountedPlaces { left: left.min(UNCOUNTED) - 1, counted: Instant::now() };
        let mut workspaces = self.lock();
        workspaces.retain(|_, places| places.counted.elapsed() < USE);
        workspaces.insert(scope.workspace, counted);
        Ok(true)
    }

    fn take_counted(&self, workspace: Uuid) -> bool {
        let mut workspaces = self.lock();
        let Some(places) = workspaces.get_mut(&workspace) else { return false };
        let has_place = places.left > 0 && places.counted.elapsed() < USE;
        places.left -= u32::from(has_place);
        has_place
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, CountedPlaces>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
