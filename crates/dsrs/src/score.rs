//! The result of a metric or a reward: a number, with a text that helps to improve. Knows neither.

use std::sync::Arc;

/// How good an output is. A number, `true` or `false` is one, alone or with feedback:
///
/// ```
/// use dsrs::Score;
///
/// assert_eq!(Score::from(0.5_f32), Score::from(0.5_f64));
/// assert_eq!(Score::from(true).value, 1.0);
/// let score = Score::from((0.5, "name the city"));
/// assert_eq!(score.feedback.as_deref(), Some("name the city"));
/// ```
///
/// Metrics clamp it to 0 to 1, and NaN to 0. A reward may be any number; NaN fails the attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Higher is better.
    pub value: f64,
    /// Feedback that helps to improve.
    pub feedback: Option<Arc<str>>,
}

impl Score {
    /// A score of a metric without feedback, clamped to 0 to 1; NaN becomes 0.
    #[must_use]
    pub fn of(value: f64) -> Self {
        let value = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) };
        Self { value, feedback: None }
    }

    /// The same score, clamped as by [`Self::of`].
    #[cfg(feature = "optimize")]
    pub(crate) fn within_bounds(self) -> Self {
        Self { value: Self::of(self.value).value, ..self }
    }
}

impl From<f64> for Score {
    fn from(value: f64) -> Self {
        Self { value, feedback: None }
    }
}

impl From<f32> for Score {
    fn from(value: f32) -> Self {
        f64::from(value).into()
    }
}

impl From<bool> for Score {
    /// 1 for right, 0 for wrong.
    fn from(right: bool) -> Self {
        f64::from(u8::from(right)).into()
    }
}

impl<S: Into<Self>, F: Into<Arc<str>>> From<(S, F)> for Score {
    /// A score with feedback.
    fn from((score, feedback): (S, F)) -> Self {
        Self { feedback: Some(feedback.into()), ..score.into() }
    }
}
