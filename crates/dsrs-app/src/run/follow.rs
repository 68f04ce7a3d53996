//! What a follower of a run reads from the record: that the run has ended, or waits for signals.

use uuid::Uuid;

use crate::event::log_reader::{Followable, FollowedProgress};
use crate::run::documents::is_waiting;
use crate::run::event_json::waiting_json;
use crate::run::merged_record::{UnfinishedRun, members};
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::{Db, Scope, StoreError, background_run};

impl Followable for RunRow {
    async fn progress(
        scope: &Scope,
        db: &Db,
        id: Uuid,
    ) -> Result<FollowedProgress<Self>, StoreError> {
        let stored = background_run::get(scope, db, id).await?;
        Ok(match stored.run.status {
            status if status.has_ended() => FollowedProgress::Ended(Box::new(stored.run)),
            RunStatus::Waiting => {
                let current = UnfinishedRun::from(stored).current();
                let nodes = members(&current.nodes).into_iter();
                let waiting = nodes.filter(|(_, node)| is_waiting(node));
                let names: Vec<_> = waiting.map(|(name, _)| name.to_string()).collect();
                FollowedProgress::Waiting(waiting_json(id, &names))
            }
            _ => FollowedProgress::Active,
        })
    }
}
