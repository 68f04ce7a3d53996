//! Jobs: background work that any server may do. `queue` adds and claims them, `dispatch` passes them to an
//! engine beside the database, `lease` is the right to
//! work on one, `part` divides one among workers, `row` is what clients see of one, `status` writes it.
//!
//! A worker claims a job with a lease, renews the lease while it works, and may write only while it
//! holds the lease. When a lease expires, the job returns to the queue. The queue is the table itself:
//! a job that has no holder and is not parked is claimable, the oldest first.
//!
//! May not know what a job does. Workers see the jobs of all workspaces; each job names its own.

mod dispatch;
mod figures;
mod lease;
mod part;
mod queue;
mod row;
mod status;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::Scope;

pub use dispatch::{
    TakenOver, decline_part, observe, return_to_queue, return_unsent, set_dispatched, take_over,
    take_queued,
};
pub use figures::{QueueFigures, queue_figures};
pub use lease::{Lease, RenewedLease, attempts, forgive_attempt, renew, requeue};
pub(super) use lease::{begin_results, lock, progress, release, remove};
pub use part::{ItemRange, OtherParts, divide, offer, reclaim, take_back, take_front};
pub(super) use queue::{add, add_parked, set_parked};
pub use queue::{are_too_many_parked, claim, claim_by_id, count_queued, requeue_expired};
pub use row::{Ending, JobRow, get, status_of};
pub(super) use row::{commit_queued, get_of, list};
pub(super) use status::finish_within;
pub use status::{ClaimState, JobEnd, cancel, finish};

/// The channel that announces claimable jobs.
pub(super) const QUEUED: &str = "jobs:insert";

/// The channel that announces cancellations: of jobs, and of runs that are no jobs.
pub(super) const CANCELLED: &str = "dsrs_cancelled";

/// The type of a job: each noun that has one declares its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobType {
    name: &'static str,
    table: &'static str,
}

impl JobType {
    /// A type by its name, in the database and in messages, and its table. The table has the status row
    /// of each job under the id of the job: `status`, `error`, `started_at`, `finished_at`.
    pub(super) const fn new(name: &'static str, table: &'static str) -> Self {
        Self { name, table }
    }

    /// The table of its status rows.
    pub(super) const fn table(self) -> &'static str {
        self.table
    }

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.name
    }
}

/// A job to add.
#[derive(Clone, Copy, Debug)]
pub struct NewJob<'a> {
    /// The id of the job and of its status row.
    pub id: Uuid,
    pub kind: JobType,
    /// The options of the request, as JSON text for the worker.
    pub request: &'a str,
    /// The time of the request.
    pub at: DateTime<Utc>,
}

/// A claimed job.
#[derive(Clone, Debug)]
pub struct Job {
    /// The right to work on it.
    pub lease: Lease,
    /// The workspace, and the caller who requested the job.
    pub scope: Scope,
    /// Its type, as stored.
    pub kind: String,
    /// The options of the request.
    pub request: String,
    /// The number of this attempt, counted from 1.
    pub attempt: i32,
    /// Whether a client cancelled it.
    pub cancelled: bool,
    /// Of a part, the divided job.
    pub parent: Option<Uuid>,
    /// Of a part, the items that it has taken; of a divided job, those that nobody has taken.
    pub items: Option<ItemRange>,
}

impl Job {
    /// The job whose items it works on: itself, or that of which it is a part.
    #[must_use]
    pub fn divided(&self) -> Uuid {
        self.parent.unwrap_or(self.lease.job)
    }
}
