//! Why an optimization or an evaluation stops before its end. Not a failure: what was found so far
//! counts.

use std::sync::Arc;

use crate::lm::BudgetLimit;

/// Why work stops before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EarlyStop {
    /// The budget is spent.
    #[error("the budget of `{0}` is spent")]
    BudgetSpent(BudgetLimit),
    /// Nobody wants it any more.
    #[error("cancelled")]
    Cancelled,
    /// What it does can no longer be kept: it is another's to do by now, or will be tried again.
    #[error("{0}")]
    NotRecorded(Arc<str>),
    /// It cannot be done at all: why, and the way out.
    #[error("{0}")]
    Failed(Arc<str>),
}
