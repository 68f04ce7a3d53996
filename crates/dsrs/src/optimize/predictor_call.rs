//! The predictor calls of a run: optimizers make demos of them and reflect on them. Knows traces; knows
//! nothing of scores.

use std::sync::Arc;

use crate::graph::predictor_path;
use crate::predict::{Span, SpanKind, SpanStatus};
use crate::value::Fields;

/// One call of a predictor that succeeded.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictorCall {
    /// The predictor's path in the graph.
    pub predictor: Arc<str>,
    /// Its inputs.
    pub inputs: Fields,
    /// Its outputs.
    pub outputs: Fields,
}

/// The successful predictor calls of a trace, in the order in which they started.
#[must_use]
pub fn predictor_calls(spans: &[Span]) -> Vec<PredictorCall> {
    let called =
        |span: &&Span| span.kind == SpanKind::Predictor && span.status == SpanStatus::Succeeded;
    spans.iter().filter(called).filter_map(predictor_call).collect()
}

fn predictor_call(span: &Span) -> Option<PredictorCall> {
    let path = predictor_path(&span.node, span.predictor.as_deref().unwrap_or_default());
    Some(PredictorCall {
        predictor: path.into(),
        inputs: span.inputs.clone()?,
        outputs: span.outputs.clone()?,
    })
}
