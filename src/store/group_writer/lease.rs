//! The leases of a group: which of them still count. May not know what is written.

use std::collections::HashMap;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::StoreError;
use crate::store::job::Lease;

/// Whether an attempt may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseState {
    /// It may, until the transaction ends.
    Held,
    /// It may not: another attempt has the job, or the job has ended.
    Lost,
    /// Unknown, since another transaction has locked the job.
    Locked,
}

/// The leases of a group by their holder.
pub(super) struct HeldLeases(HashMap<Uuid, (Lease, LeaseState)>);

impl HeldLeases {
    /// Locks the jobs of all leases that count, until the transaction ends. It waits for no lock: the group
    /// has the writes of others, too, and a server that stands still with a lock must not stop this one.
    pub(super) async fn lock(
        connection: &mut PgConnection,
        leases: impl Iterator<Item = Lease>,
    ) -> Result<Self, StoreError> {
        let mut holders: Vec<Uuid> = leases.map(|lease| lease.holder).collect();
        holders.sort_unstable();
        holders.dedup();
        let mut found = HashMap::new();
        if holders.is_empty() {
            return Ok(Self(found));
        }
        let held = sqlx::query!(
            r#"select id, holder as "holder!", workspace_id from jobs
               where holder = any($1) for update skip locked"#,
            &holders
        );
        for row in held.fetch_all(&mut *connection).await? {
            let lease = Lease { job: row.id, holder: row.holder, workspace: row.workspace_id };
            found.insert(row.holder, (lease, LeaseState::Held));
        }
        holders.retain(|holder| !found.contains_key(holder));
        if holders.is_empty() {
            return Ok(Self(found));
        }
        // A holder is never used again: one that is not there now has lost its job.
        let locked = sqlx::query!(
            r#"select id, holder as "holder!", workspace_id from jobs where holder = any($1)"#,
            &holders
        );
        for row in locked.fetch_all(connection).await? {
            let lease = Lease { job: row.id, holder: row.holder, workspace: row.workspace_id };
            found.insert(row.holder, (lease, LeaseState::Locked));
        }
        Ok(Self(found))
    }

    /// The state of a lease. One that names another job or workspace than its holder has does not count.
    pub(super) fn state(&self, lease: Lease) -> LeaseState {
        let found = self.0.get(&lease.holder).filter(|(found, _)| *found == lease);
        found.map_or(LeaseState::Lost, |(_, state)| *state)
    }
}
