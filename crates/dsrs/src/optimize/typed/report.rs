//! The result of optimizing a typed module.

use crate::lm::Usage;
use crate::module::ModuleState;
use crate::optimize::{Comparison, EarlyStop, Trial};
use crate::problem::Problems;

/// What an optimization of a typed module found.
#[derive(Clone, Debug)]
pub struct CompileReport {
    /// Whether the module has the state of the best candidate now. It has if the gain is certain.
    pub changed: bool,
    /// Why it was changed or not.
    pub reason: String,
    /// The state of the best candidate; of the module as it was if nothing better was found. Who
    /// accepts an uncertain gain loads it.
    pub best: ModuleState,
    /// The scores of the module as it was and of the best candidate on the held-out examples. `None` if
    /// there is no other candidate, or it was not measured.
    pub comparison: Option<Comparison>,
    /// The mean score of the module as it was on the held-out examples that were measured.
    pub baseline: f64,
    /// Why the search stopped early, if it did.
    pub stopped: Option<EarlyStop>,
    /// Every candidate that was tried. Paths of predictors begin with `program`.
    pub trials: Vec<Trial>,
    /// What was paid for.
    pub spent: Usage,
}

/// An optimization that did not begin, or could not go on. The module is unchanged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CompileError {
    /// Settings of the optimizer, examples or the module do not fit: everything that is wrong.
    #[error("{0}")]
    Invalid(#[from] Problems),
    /// The work is impossible.
    #[error("{0}")]
    Stopped(#[from] EarlyStop),
}
