//! The transaction of a group: the leases are checked and locked first, then each kind of write is one
//! statement, and what was spent is added last. May not know the callers.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::checkpoint::{self, Checkpoint};
use super::end::{self, RunEnd};
use super::event::{self, AddedEvents};
use super::lease::{HeldLeases, LeaseState};
use super::start::{self, AttemptStart};
use super::{CommitOutcome, Write};
use crate::ended_run::{self, RunReports};
use crate::key_spending;
use crate::packed_run::PackedRun;
use crate::run_batch::{self, QueuedJob};
use crate::{Db, Scope, StoreError, run::RunRow};

/// The writes of a group by kind.
#[derive(Default)]
struct Group<'w> {
    /// Those that have ended.
    records: Vec<&'w PackedRun>,
    runs: Vec<(&'w Scope, &'w RunRow)>,
    jobs: Vec<QueuedJob<'w>>,
    starts: Vec<AttemptStart>,
    begun: Vec<(Uuid, DateTime<Utc>)>,
    checkpoints: Vec<Checkpoint<'w>>,
    events: Vec<AddedEvents<'w>>,
    ends: Vec<RunEnd<'w>>,
}

impl<'w> Group<'w> {
    fn add(&mut self, write: &'w Write) {
        match write {
            Write::Record { run } => self.records.push(run),
            Write::Add { scope, run } => self.runs.push((scope, run)),
            Write::Begin { scope, run, at } => {
                self.runs.push((scope, run));
                self.begun.push((run.id, *at));
            }
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
            Write::End { run, checkpoints, .. } => {
                self.ends.push(RunEnd { run, checkpoints: *checkpoints });
            }
        }
    }

    /// Writes everything.
    async fn write(&self, connection: &mut PgConnection) -> Result<WrittenGroup, StoreError> {
        let mut spent = ended_run::add(connection, &self.records, RunReports::Sent).await?;
        run_batch::add(connection, &self.runs, &self.jobs).await?;
        let begun = start::write_runs(connection, &self.begun).await?;
        start::write(connection, &self.starts).await?;
        spent.extend(checkpoint::write(connection, &self.checkpoints).await?.spent);
        event::write(connection, &self.events).await?;
        let (behind, rest) = end::write(connection, &self.ends).await?;
        spent.extend(rest);
        // Last: all runs of a key share its row, which stays locked until the commit.
        key_spending::add_all(connection, spent).await?;
        Ok(WrittenGroup { behind, begun })
    }
}

/// What only the statements found out.
struct WrittenGroup {
    /// The ends that are behind their checkpoints.
    behind: Vec<Uuid>,
    /// The runs of the engine that have begun.
    begun: Vec<Uuid>,
}

/// Commits a group of records alone that was never sent before. False, writing nothing, if that takes a transaction of more
/// than one statement.
pub(super) async fn commit_records(db: &Db, writes: &[&Write]) -> Result<bool, StoreError> {
    let records = writes.iter().map(|write| match write {
        Write::Record { run } if run.found_by.is_empty() => Some(&**run),
        _ => None,
    });
    let Some(mut records) = records.collect::<Option<Vec<&PackedRun>>>() else { return Ok(false) };
    records.sort_unstable_by_key(|run| run.row.id);
    ended_run::add_alone(&mut *db.recorder().acquire().await?, &records).await
}

/// Commits a group: all of it or nothing. A write without an outcome was left out, since another transaction
/// has locked its job.
pub(super) async fn commit(
    db: &Db,
    writes: &[&Write],
) -> Result<Vec<Option<CommitOutcome>>, StoreError> {
    let mut tx = db.begin_group().await?;
    let leases = HeldLeases::lock(&mut tx, writes.iter().filter_map(|write| write.lease())).await?;
    let mut ended = HashSet::new();
    let states = writes.iter().map(|write| match write {
        // Two attempts of the engine may end a run together: the second one waits for the next group, which sees the end.
        Write::End { run, .. } if !ended.insert(run.row.id) => Some(LeaseState::Locked),
        _ => write.lease().map(|lease| leases.state(lease)),
    });
    let states: Vec<Option<LeaseState>> = states.collect();
    let mut group = Group::default();
    for (write, state) in writes.iter().zip(&states) {
        if matches!(state, None | Some(LeaseState::Held)) {
            group.add(write);
        }
    }
    // Another server may insert the same runs: in the same order, neither waits for the other.
    group.records.sort_unstable_by_key(|run| run.row.id);
    group.runs.sort_unstable_by_key(|(_, run)| run.id);
    let written = group.write(&mut tx).await?;
    tx.commit().await?;
    let outcomes = writes.iter().zip(states).map(|(write, state)| match state {
        Some(LeaseState::Lost) => Some(CommitOutcome::LeaseLost),
        Some(LeaseState::Locked) => None,
        None | Some(LeaseState::Held) => Some(match write {
            Write::End { run, .. } if written.behind.contains(&run.row.id) => CommitOutcome::Behind,
            Write::Begin { run, .. } if !written.begun.contains(&run.id) => {
                CommitOutcome::LeaseLost
            }
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
            Write::Record { .. }
            | Write::Add { .. }
            | Write::Begin { .. }
            | Write::Start { .. }
            | Write::Checkpoint { .. } => {}
        }
    }
}
