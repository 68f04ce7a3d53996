//! `Ctx`: everything a call needs that is not its input: models, deadline, cancellation, trace,
//! and where in the program it stands. Explicit and first, instead of globals.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::trace::{SpanId, Trace};
use crate::lm::Models;
use crate::predict::LmOverrides;

/// What all calls of one run share.
pub struct RunScope {
    /// The models that the run may use.
    pub models: Arc<Models>,
    /// When the whole run must be done.
    pub deadline: Instant,
    /// Cancelled when the run is no longer wanted.
    pub cancelled: CancellationToken,
    /// What happened.
    pub trace: Trace,
}

impl RunScope {
    /// A run over models that must be done by `deadline`.
    #[must_use]
    pub fn new(models: Arc<Models>, deadline: Instant) -> Self {
        Self { models, deadline, cancelled: CancellationToken::new(), trace: Trace::new() }
    }
}

/// What all calls of one node share.
#[derive(Clone, Debug)]
pub struct NodeScope {
    /// The node's name.
    pub node: Arc<str>,
    /// The node's LM settings, behind the state's.
    pub lm: LmOverrides,
    /// Repeats of one LM request that failed in passing.
    pub retries: u32,
    /// Times the LM is asked again after an answer that does not fit.
    pub parse_retries: u32,
    /// When the node must be done; never later than the run's deadline.
    pub deadline: Instant,
}

/// The context of a call. Cheap to clone and to narrow.
#[derive(Clone)]
pub struct Ctx {
    /// The run.
    pub run: Arc<RunScope>,
    /// The node.
    pub node: Arc<NodeScope>,
    /// The span under which new spans go.
    pub parent: Option<SpanId>,
}

impl Ctx {
    /// A context for calls outside a graph: one run, one nameless node, both bounded by `deadline`.
    #[must_use]
    pub fn new(models: Arc<Models>, deadline: Instant) -> Self {
        let node = NodeScope {
            node: Arc::from(""),
            lm: LmOverrides::default(),
            retries: 2,
            parse_retries: 1,
            deadline,
        };
        Self { run: Arc::new(RunScope::new(models, deadline)), node: Arc::new(node), parent: None }
    }

    /// The same context under another span.
    #[must_use]
    pub fn under(&self, parent: SpanId) -> Self {
        Self { parent: Some(parent), ..self.clone() }
    }

    /// The trace of the run.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.run.trace
    }
}
