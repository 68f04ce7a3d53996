//! The input of a metric. Knows no metric.

use super::{Example, PredictorCall};
use crate::value::Fields;

/// The input of a metric: an example and the outputs of a program for it.
#[derive(Clone, Copy, Debug)]
pub struct Case<'c> {
    /// The example.
    pub example: &'c Example,
    /// The outputs of the graph.
    pub outputs: &'c Fields,
    /// The calls of its predictors, in the order in which they started.
    pub calls: &'c [PredictorCall],
}
