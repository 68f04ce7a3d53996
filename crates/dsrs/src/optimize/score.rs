//! The input and the result of a metric. Knows no metric.

use std::sync::Arc;

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

/// The result of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// From 0 to 1.
    pub value: f64,
    /// Feedback that helps to improve.
    pub feedback: Option<Arc<str>>,
}

impl Score {
    /// A score without feedback, clamped to 0 to 1; NaN becomes 0.
    #[must_use]
    pub fn of(value: f64) -> Self {
        let value = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) };
        Self { value, feedback: None }
    }

    /// The same score, clamped as that of [`Self::of`].
    pub(in crate::optimize) fn within_bounds(self) -> Self {
        Self { value: Self::of(self.value).value, ..self }
    }
}

impl From<f64> for Score {
    fn from(value: f64) -> Self {
        Self::of(value)
    }
}

impl From<bool> for Score {
    /// 1 for right, 0 for wrong.
    fn from(right: bool) -> Self {
        Self::of(f64::from(u8::from(right)))
    }
}

impl<S: Into<Self>, F: Into<Arc<str>>> From<(S, F)> for Score {
    /// A score with feedback.
    fn from((score, feedback): (S, F)) -> Self {
        Self { feedback: Some(feedback.into()), ..score.into() }
    }
}
