//! Calling the module of one node, in the context and within the timeout of that node. Knows nothing
//! of other nodes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;

use super::shared_work::SharedNode;
use crate::graph::node::Node;
use crate::predict::{CallTally, Ctx, NodeScope, PredictError, PredictErrorKind, RunScope, SpanId};
use crate::value::Fields;

/// The call of one node's module.
pub(super) struct NodeCall<'p> {
    pub(super) run: &'p Arc<RunScope>,
    pub(super) within: Option<&'p Ctx>,
    pub(super) name: &'p Arc<str>,
    pub(super) node: &'p Node,
    pub(super) span: SpanId,
    pub(super) tally: Option<Arc<CallTally>>,
    /// The work that it shares with other runs.
    pub(super) shared: Option<SharedNode<'p>>,
}

impl NodeCall<'_> {
    /// Calls the module within the node's timeout.
    pub(super) async fn make(self, inputs: Fields) -> Result<Fields, PredictError> {
        let timeout = self.node.settings().timeout;
        let own = Instant::now() + timeout;
        let bound = self.within.map_or(self.run.deadline, |ctx| ctx.node.deadline);
        let ctx = self.ctx(own.min(bound));
        let called = match self.shared {
            None => self.node.module.forward(&ctx, inputs),
            Some(shared) => self.share(shared, &ctx, inputs).boxed(),
        };
        let late = || {
            let error =
                if own <= bound { took_too_long(self.name, timeout) } else { out_of_time() };
            let predictor = self.run.trace.running_predictor(&ctx.node.node);
            PredictError { predictor, ..error }
        };
        match tokio::time::timeout_at(ctx.node.deadline, called).await {
            // A computation that ended because its time was over fails for that reason.
            Ok(Err(error)) if is_computed(&error) && Instant::now() >= ctx.node.deadline => {
                Err(late())
            }
            Ok(result) => result.and_then(|outputs| {
                self.node.checks().admit_outputs(&outputs)?;
                Ok(outputs)
            }),
            Err(_) => Err(late()),
        }
    }

    /// The outputs of the module, or of the same work done before.
    async fn share(
        &self,
        shared: SharedNode<'_>,
        ctx: &Ctx,
        inputs: Fields,
    ) -> Result<Fields, PredictError> {
        let key = shared.key(&inputs);
        let call = self.node.module.forward(ctx, inputs);
        let (outputs, anew) = shared.once(key, self.node, call).await?;
        if !anew {
            self.run.trace.amend(self.span, |span| span.cached = true);
        }
        Ok(outputs)
    }

    /// The context of the node. Predictors of a graph within a node belong to that node: their paths
    /// lead through the graph.
    fn ctx(&self, deadline: Instant) -> Ctx {
        let settings = self.node.settings();
        let scope = NodeScope {
            node: self.within.map_or(self.name, |ctx| &ctx.node.node).clone(),
            lm: self
                .within
                .map_or_else(|| settings.lm.clone(), |ctx| settings.lm.over(&ctx.node.lm)),
            retries: settings.retries,
            parse_retries: settings.parse_retries,
            deadline,
        };
        match self.within {
            None => {
                let own = Ctx::of(self.run.clone(), Arc::new(scope), Some(self.span));
                let continuation = self.run.paused.get(self.name).cloned();
                let own = Ctx { tally: self.tally.clone(), continuation, ..own };
                match self.run.variation {
                    None => own,
                    Some(varied) => own.for_attempt_at(varied.number, varied.temperature),
                }
            }
            Some(outer) => {
                let place = outer.place.then(self.name, 0);
                let (node, parent) = (Arc::new(scope), Some(self.span));
                Ctx { node, parent, place, continuation: None, ..outer.clone() }
            }
        }
    }
}

/// Whether a computation failed, and no request.
fn is_computed(error: &PredictError) -> bool {
    use PredictErrorKind::{Constraint, Op, Parse, Reward};
    matches!(error.kind, Op | Reward | Parse { .. } | Constraint { .. })
}

/// The error of a node that exceeded its timeout.
pub(super) fn took_too_long(name: &str, timeout: Duration) -> PredictError {
    let limit = timeout.as_millis();
    let message = format!("node `{name}` took longer than its {limit} ms");
    PredictError::new(PredictErrorKind::Timeout, message)
}

/// The error of a run that exceeded its timeout.
pub(super) fn out_of_time() -> PredictError {
    PredictError::new(PredictErrorKind::Timeout, "the run took longer than its timeout_ms")
}
