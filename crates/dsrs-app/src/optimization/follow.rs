//! Follows the events of an optimization.

use uuid::Uuid;

use crate::event::EventStream;
use crate::event::log_reader::{EventLogFollower, Followable, FollowedProgress};
use crate::{App, AppError};
use dsrs_store::job;
use dsrs_store::optimization::OptimizationRow;
use dsrs_store::{Db, Scope, StoreError};

impl App {
    /// Follows an optimization from the event after `seen`; `None` if it has ended and `seen` was the
    /// last event.
    pub async fn optimization_follow(
        &self,
        scope: &Scope,
        id: Uuid,
        seen: u64,
    ) -> Result<Option<EventStream<OptimizationRow>>, AppError> {
        let follower = EventLogFollower::open(&self.db, scope, id, seen).await?;
        Ok(follower.map(|follower| EventStream::Log(Box::new(follower))))
    }
}

impl Followable for OptimizationRow {
    async fn progress(
        scope: &Scope,
        db: &Db,
        id: Uuid,
    ) -> Result<FollowedProgress<Self>, StoreError> {
        Ok(FollowedProgress::Ended(Box::new(job::get(scope, db, id).await?)))
    }
}
