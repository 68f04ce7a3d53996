//! The settings of workers, who run what was accepted to be run in the background.

use std::time::Duration;

use super::parse;
use super::reader::Reader;

/// How background work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerConfig {
    /// Whether this process takes any.
    pub enabled: bool,
    /// How much at the same time.
    pub concurrency: u32,
    /// How many items of one batch at the same time.
    pub batch_concurrency: u32,
    /// How many examples of one evaluation at the same time.
    pub evaluation_concurrency: u32,
    /// How long a worker may be silent before its work is given to another.
    pub lease: Duration,
    /// How many workers may end over one run before it fails.
    pub attempts: u32,
    /// Whether what is told of background runs is kept for those who follow them.
    pub events: bool,
}

pub(super) fn read_worker(read: &mut Reader<'_>) -> Option<WorkerConfig> {
    let enabled = read.required("worker.enabled", parse::switch);
    let concurrency = read.required("worker.concurrency", parse::positive);
    let batch_concurrency = read.required("worker.batch_concurrency", parse::positive);
    let evaluation_concurrency = read.required("worker.evaluation_concurrency", parse::positive);
    let lease = read.required("worker.lease", lease);
    let attempts = read.required("worker.attempts", parse::positive);
    let events = read.required("worker.events", parse::switch);
    Some(WorkerConfig {
        enabled: enabled?,
        concurrency: concurrency?,
        batch_concurrency: batch_concurrency?,
        evaluation_concurrency: evaluation_concurrency?,
        lease: lease?,
        attempts: attempts?,
        events: events?,
    })
}

/// Renewed several times before it lapses, it has to outlast a busy moment of the database.
fn lease(text: &str) -> Result<Duration, parse::Expected> {
    let second = Duration::from_secs(1);
    let found = parse::duration(text)?;
    (found >= second).then_some(found).ok_or_else(|| "expected a second or more".to_owned())
}
