//! The leases of a group: which of them still count. May not know what is written.

use std::collections::HashMap;

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use crate::StoreError;
use crate::job::Lease;

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
        let mut leases: Vec<Lease> = leases.collect();
        leases.sort_unstable_by_key(|lease| lease.holder);
        leases.dedup();
        let (runs, jobs): (Vec<Lease>, Vec<Lease>) =
            leases.into_iter().partition(|lease| lease.is_of_engine());
        let mut found = HashMap::new();
        lock_jobs(connection, &mut found, jobs.iter().map(|lease| lease.holder).collect()).await?;
        lock_runs(connection, &mut found, runs.iter().map(|lease| lease.job).collect()).await?;
        Ok(Self(found))
    }

    /// The state of a lease. One that names another job or workspace than its holder has does not count.
    pub(super) fn state(&self, lease: Lease) -> LeaseState {
        let found = self.0.get(&lease.holder).filter(|(found, _)| *found == lease);
        found.map_or(LeaseState::Lost, |(_, state)| *state)
    }
}

async fn lock_jobs(
    connection: &mut PgConnection,
    states: &mut HashMap<Uuid, (Lease, LeaseState)>,
    mut holders: Vec<Uuid>,
) -> Result<(), StoreError> {
    if holders.is_empty() {
        return Ok(());
    }
    let held = sqlx::query!(
        r#"select id, holder as "holder!", workspace_id from jobs
           where holder = any($1) for update skip locked"#,
        &holders
    );
    for row in held.fetch_all(&mut *connection).await? {
        let lease = Lease { job: row.id, holder: row.holder, workspace: row.workspace_id };
        states.insert(row.holder, (lease, LeaseState::Held));
    }
    holders.retain(|holder| !states.contains_key(holder));
    if holders.is_empty() {
        return Ok(());
    }
    // A holder is never used again: one that is not there now has lost its job.
    let locked = sqlx::query!(
        r#"select id, holder as "holder!", workspace_id from jobs where holder = any($1)"#,
        &holders
    );
    for row in locked.fetch_all(connection).await? {
        let lease = Lease { job: row.id, holder: row.holder, workspace: row.workspace_id };
        states.insert(row.holder, (lease, LeaseState::Locked));
    }
    Ok(())
}

/// The same for runs whose progress is in the engine: they may be written while they have not ended and have no
/// job.
async fn lock_runs(
    connection: &mut PgConnection,
    states: &mut HashMap<Uuid, (Lease, LeaseState)>,
    mut runs: Vec<Uuid>,
) -> Result<(), StoreError> {
    if runs.is_empty() {
        return Ok(());
    }
    let open = "select id, workspace_id from runs
                where id = any($1) and status in ('queued', 'running')
                  and not exists (select from jobs where jobs.id = runs.id)";
    let held = sqlx::query_as::<_, (Uuid, Uuid)>(AssertSqlSafe(format!(
        "{open} for update of runs skip locked"
    )));
    for (run, workspace) in held.bind(&runs).fetch_all(&mut *connection).await? {
        states.insert(run, (Lease::of_engine(run, workspace), LeaseState::Held));
    }
    runs.retain(|run| !states.contains_key(run));
    if runs.is_empty() {
        return Ok(());
    }
    // As for jobs: a run that is not open now has ended, or has a job.
    let locked = sqlx::query_as::<_, (Uuid, Uuid)>(open).bind(&runs);
    for (run, workspace) in locked.fetch_all(connection).await? {
        states.insert(run, (Lease::of_engine(run, workspace), LeaseState::Locked));
    }
    Ok(())
}
