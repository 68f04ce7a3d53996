//! The kinds of jobs: the one list of them. A new kind is an entry here.

use crate::batch::attempt::Batches;
use crate::evaluation::attempt::Evaluations;
use crate::index::attempt::IndexBuilds;
use crate::job::driver::RegisteredJobKind;
use crate::optimization::attempt::Optimizations;
use crate::run::attempt::BackgroundRuns;
use dsrs_store::job::JobType;

static KINDS: [&dyn RegisteredJobKind; 5] =
    [&BackgroundRuns, &Batches, &Evaluations, &Optimizations, &IndexBuilds];

/// The types of job that this release knows.
pub(crate) fn job_types() -> Vec<JobType> {
    KINDS.iter().map(|kind| kind.job_type()).collect()
}

pub(crate) fn find(name: &str) -> Option<&'static dyn RegisteredJobKind> {
    KINDS.iter().copied().find(|kind| kind.job_type().as_str() == name)
}
