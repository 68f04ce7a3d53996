//! Tables with partitions by ranges of ids, which are ranges of times: a partition is added before its time
//! comes, and removed as a whole when its rows are old. May not know how long rows are stored.
//!
//! The oldest partition begins with the first id there is: `…_before` is what the table had before it was
//! partitioned, `…_old` the rows that outlived their partitions. `…_rest` has ids for which there is no partition.

mod catalog;
mod extension;
mod index;
mod removal;
mod session;

pub use catalog::{Partition, partitions};
pub use extension::extend;
pub use index::add_missing_indexes;
pub use removal::{PartitionArchive, Removal, remove_oldest};
pub(super) use session::begin_resumption;

/// A table with partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionedTable {
    Runs,
    /// Feedback on runs.
    RunFeedback,
    /// Checkpoints of runs that have not ended.
    RunNodes,
    RunEvents,
    BatchItems,
    BatchResults,
    EvaluationResults,
    RunLabels,
}

impl PartitionedTable {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::Runs,
        Self::RunFeedback,
        Self::RunNodes,
        Self::RunEvents,
        Self::BatchItems,
        Self::BatchResults,
        Self::EvaluationResults,
        Self::RunLabels,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::RunFeedback => "run_feedback",
            Self::RunNodes => "run_nodes",
            Self::RunEvents => "run_events",
            Self::BatchItems => "batch_items",
            Self::BatchResults => "batch_results",
            Self::EvaluationResults => "evaluation_results",
            Self::RunLabels => "run_labels",
        }
    }

    /// The column whose ranges the partitions have.
    const fn key(self) -> &'static str {
        match self {
            Self::Runs => "id",
            Self::RunFeedback | Self::RunNodes | Self::RunEvents | Self::RunLabels => "run_id",
            Self::BatchItems | Self::BatchResults => "batch_id",
            Self::EvaluationResults => "evaluation_id",
        }
    }

    /// Finds the keys of the rows that outlive their partition. `$1` is the time before which rows are old, `$2`
    /// and `$3` are the bounds of the partition, the lower one possibly null.
    const fn survivors(self) -> &'static str {
        match self {
            Self::Runs | Self::RunFeedback => {
                "select id from runs where ($2::uuid is null or id >= $2) and id < $3
                 and (finished_at is null or finished_at >= $1)"
            }
            Self::RunNodes | Self::RunEvents => {
                // A run whose progress is in the engine has no job.
                "select id from jobs where $1::timestamptz is not null
                 and ($2::uuid is null or id >= $2) and id < $3
                 union select id from runs where ($2::uuid is null or id >= $2) and id < $3
                 and status in ('queued', 'running')"
            }
            Self::RunLabels => {
                "select id from runs where $1::timestamptz is not null
                 and ($2::uuid is null or id >= $2) and id < $3"
            }
            Self::BatchItems | Self::BatchResults => {
                "select id from batches where $1::timestamptz is not null
                 and ($2::uuid is null or id >= $2) and id < $3 and not expired"
            }
            Self::EvaluationResults => {
                "select id from evaluations where $1::timestamptz is not null
                 and ($2::uuid is null or id >= $2) and id < $3 and not expired"
            }
        }
    }
}
