//! Who watches rollouts, for instance to show them as traces. Knows neither how they are shown nor who collects them.

use std::sync::Arc;

use super::{Example, ExampleRun, Rollout};
use crate::lm::TraceContext;

/// Watches the rollouts of an evaluator.
pub trait RolloutObserver: Send + Sync {
    /// A rollout begins, at this place in a distributed trace. `None` if it is not watched.
    fn begin(&self) -> Option<Arc<TraceContext>>;

    /// A rollout that is watched has ended. It has no score if it was stopped.
    fn end(
        &self,
        context: Arc<TraceContext>,
        example: &Example,
        ran: &ExampleRun,
        rollout: Option<&Rollout>,
    );
}
