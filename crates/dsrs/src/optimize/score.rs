//! What a metric is shown, and what it says. Knows no metric.

use std::sync::Arc;

use super::{Example, PredictorCall};
use crate::value::Fields;

/// What a metric judges: an example, and what a program made of it.
#[derive(Clone, Copy, Debug)]
pub struct Case<'c> {
    /// The example.
    pub example: &'c Example,
    /// The outputs of the graph.
    pub outputs: &'c Fields,
    /// What its predictors took and gave, in the order in which they began.
    pub calls: &'c [PredictorCall],
}

/// What a metric says.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// How good it is, from 0 to 1.
    pub value: f64,
    /// Why, in words that help to do better.
    pub feedback: Option<Arc<str>>,
}

impl Score {
    /// A score without words; what lies outside of 0 to 1 is brought to the nearer end, and what is
    /// no number is 0.
    #[must_use]
    pub fn of(value: f64) -> Self {
        let value = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) };
        Self { value, feedback: None }
    }
}
