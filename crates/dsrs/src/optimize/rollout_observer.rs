//! Who watches rollouts, for instance to show them as traces. Knows neither how they are shown nor who collects them.

use std::sync::Arc;
use std::time::SystemTime;

use super::{Example, ExampleRun, Rollout};
use crate::lm::TraceContext;

/// A rollout that has begun, at its place in a distributed trace.
#[derive(Clone, Debug)]
pub struct BegunRollout {
    /// The place of its run.
    pub context: Arc<TraceContext>,
    /// When it began.
    pub start: SystemTime,
}

/// Watches the rollouts of an evaluator.
pub trait RolloutObserver: Send + Sync {
    /// A rollout begins. `None` if it is not watched.
    fn begin(&self) -> Option<BegunRollout>;

    /// A rollout has ended. It has no score if it was stopped.
    fn end(
        &self,
        begun: &BegunRollout,
        example: &Example,
        ran: &ExampleRun,
        rollout: Option<&Rollout>,
    );
}
