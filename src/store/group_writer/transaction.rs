//! The transaction of a group: the leases are checked and locked first, then each kind of write is one
//! statement, and what was spent is added last. May not know the callers.

use sqlx::PgConnection;
use uuid::Uuid;

use super::checkpoint::{self, Checkpoint};
use super::end::{self, RunEnd};
use super::event::{self, AddedEvents};
use super::lease::{HeldLeases, LeaseState};
use super::start::{self, AttemptStart};
use super::{CommitOutcome, Write};
use crate::store::key_spending;
use crate::store::run_batch::{self, QueuedJob};
use crate::store::{Db, Scope, StoreError, run::RunRow};

/// The writes of a group by kind.
#[derive(Default)]
struct Group<'w> {
    runs: Vec<(&'w Scope, &'w RunRow)>,
    jobs: Vec<QueuedJob<'w>>,
    starts: Vec<AttemptStart>,
    checkpoints: Vec<Checkpoint<'w>>,
    events: Vec<AddedEvents<'w>>,
    ends: Vec<RunEnd<'w>>,
}

impl<'w> Group<'w> {
    fn add(&mut self, write: &'w Write) {
        match write {
            Write::Record { scope, run } => self.runs.push((scope, run)),
            Write::Queue { scope, run, kind, request } => {
                self.runs.push((scope, run));
                self.jobs.push(QueuedJob { id: run.id, kind: kind.as_str(), request });
            }
            Write::Start { lease, kind, at } => {
                self.starts.push(AttemptStart { job: lease.job, kind: *kind, at: *at });
            }
            Write::Checkpoint { scope, lease, node, at } => {
                self.checkpoints.push(Checkpoint { scope, run: lease.job, node, at: *at });
            }
            Write::Events { lease, row, at } => {
                let (run, workspace) = (lease.job, lease.workspace);
                self.events.push(AddedEvents { run, workspace, row, at: *at });
            }
            Write::End { scope, run, checkpoints, .. } => {
                self.ends.push(RunEnd { scope, run, checkpoints: *checkpoints });
            }
        }
    }

    /// Writes everything. Returns the ends that are behind their checkpoints.
    async fn write(&self, connection: &mut PgConnection) -> Result<Vec<Uuid>, StoreError> {
        let mut spent = run_batch::add(connection, &self.runs, &self.jobs).await?;
        start::write(connection, &self.starts).await?;
        spent.extend(checkpoint::write(connection, &self.checkpoints).await?);
        event::write(connection, &self.events).await?;
        let (behind, rest) = end::write(connection, &self.ends).await?;
        spent.extend(rest);
        key_spending::add_all(connection, spent).await?;
        Ok(behind)
    }
}

/// Commits a group: all of it or nothing. A write without an outcome was left out, since another transaction
/// has locked its job.
pub(super) async fn commit(
    db: &Db,
    writes: &[&Write],
) -> Result<Vec<Option<CommitOutcome>>, StoreError> {
    let mut tx = db.recorder().begin().await?;
    let leases = HeldLeases::lock(&mut tx, writes.iter().filter_map(|write| write.lease())).await?;
    let states = writes.iter().map(|write| write.lease().map(|lease| leases.state(lease)));
    let states: Vec<Option<LeaseState>> = states.collect();
    let mut group = Group::default();
    for (write, state) in writes.iter().zip(&states) {
        if matches!(state, None | Some(LeaseState::Held)) {
            group.add(write);
        }
    }
    let behind = group.write(&mut tx).await?;
    tx.commit().await?;
    let outcomes = writes.iter().zip(states).map(|(write, state)| match state {
        Some(LeaseState::Lost) => Some(CommitOutcome::LeaseLost),
        Some(LeaseState::Locked) => None,
        None | Some(LeaseState::Held) => Some(match write {
            Write::End { run, .. } if behind.contains(&run.id) => CommitOutcome::Behind,
            _ => CommitOutcome::Stored,
        }),
    });
    let outcomes: Vec<_> = outcomes.collect();
    announce(db, writes, &outcomes);
    Ok(outcomes)
}

/// Wakes workers and followers, on this server at once and on others soon.
fn announce(db: &Db, writes: &[&Write], outcomes: &[Option<CommitOutcome>]) {
    let stored = |outcome: &Option<CommitOutcome>| *outcome == Some(CommitOutcome::Stored);
    let stored = writes.iter().zip(outcomes).filter(|(_, outcome)| stored(outcome));
    for (write, _) in stored {
        match write {
            Write::Queue { .. } => db.notifications.announce_job(),
            Write::Events { lease, .. } | Write::End { lease, .. } => {
                db.notifications.announce_events(lease.job);
            }
            Write::Record { .. } | Write::Start { .. } | Write::Checkpoint { .. } => {}
        }
    }
}
