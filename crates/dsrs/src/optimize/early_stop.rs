//! Why an optimization or an evaluation stops early. Not a failure: results so far count.

use std::sync::Arc;

use crate::lm::BudgetLimit;

/// Why work stops early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EarlyStop {
    /// The budget is spent.
    #[error("the budget of `{0}` is spent")]
    BudgetSpent(BudgetLimit),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Results can no longer be recorded: another worker took over, or the work will be retried.
    #[error("{0}")]
    NotRecorded(Arc<str>),
    /// It is impossible: the reason and the way out.
    #[error("{0}")]
    Failed(Arc<str>),
}
