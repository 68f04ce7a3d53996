//! The kinds of jobs: the one list of them. A new kind is an entry here.

use crate::app::batch::attempt::Batches;
use crate::app::evaluation::attempt::Evaluations;
use crate::app::job::driver::RegisteredJobKind;
use crate::app::optimization::attempt::Optimizations;
use crate::app::run::attempt::BackgroundRuns;
use crate::store::job::JobType;

static KINDS: [&dyn RegisteredJobKind; 4] =
    [&BackgroundRuns, &Batches, &Evaluations, &Optimizations];

/// The types of job that this release knows.
pub(crate) fn job_types() -> Vec<JobType> {
    KINDS.iter().map(|kind| kind.job_type()).collect()
}

/// The kind of this name.
pub(crate) fn find(name: &str) -> Option<&'static dyn RegisteredJobKind> {
    KINDS.iter().copied().find(|kind| kind.job_type().as_str() == name)
}
