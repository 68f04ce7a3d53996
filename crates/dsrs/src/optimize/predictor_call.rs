//! The steps of a run: what each predictor took and gave. What optimizers make demos of, and what
//! they reflect on. Knows traces, and nothing of scores.

use std::sync::Arc;

use crate::graph::predictor_path;
use crate::predict::{Span, SpanKind, SpanStatus};
use crate::value::Fields;

/// One call of a predictor that succeeded.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictorCall {
    /// The predictor's path in the graph.
    pub predictor: Arc<str>,
    /// What it took.
    pub inputs: Fields,
    /// What it gave.
    pub outputs: Fields,
}

/// The steps in a trace, in the order in which they began. Calls that failed are left out.
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
