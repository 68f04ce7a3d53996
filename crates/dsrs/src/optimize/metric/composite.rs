//! Composite metrics: mean, weighted mean, minimum, maximum, product, and threshold of other metrics.
//! Knows no particular metric.

use std::sync::Arc;

use futures_util::future::try_join_all;

use super::{Metric, MetricKind};
use crate::optimize::{Case, Score};
use crate::predict::{Ctx, PredictError};

/// Metrics and the aggregation of their scores.
pub(super) struct CompositeMetric {
    parts: Vec<Metric>,
    way: Aggregation,
}

/// How scores are aggregated.
pub(super) enum Aggregation {
    Mean,
    /// The weight of each, in their order.
    Weighted(Vec<f64>),
    Min,
    Max,
    Product,
    /// 1 for a score of at least so much, else 0.
    AtLeast(f64),
}

impl CompositeMetric {
    /// `parts` is not empty, and has a weight each where they are weighted.
    pub(super) const fn new(parts: Vec<Metric>, way: Aggregation) -> Self {
        Self { parts, way }
    }

    pub(super) fn parts(&self) -> &[Metric] {
        &self.parts
    }

    /// Scores all parts concurrently. A failed part fails the whole.
    pub(super) async fn score(&self, ctx: &Ctx, case: Case<'_>) -> Result<Score, PredictError> {
        let scores = try_join_all(self.parts.iter().map(|part| part.judge(ctx, case))).await?;
        let values: Vec<f64> = scores.iter().map(|score| score.value).collect();
        let feedback = self.feedback(&scores);
        Ok(Score { feedback, ..Score::of(self.way.of(&values)) })
    }

    /// The feedback of the parts, each with the name of its metric.
    fn feedback(&self, scores: &[Score]) -> Option<Arc<str>> {
        let feedback = self.parts.iter().zip(scores).filter_map(|(part, score)| {
            let words = score.feedback.as_deref().map(ToOwned::to_owned);
            let words = words.or_else(|| self.way.falls_short(score.value))?;
            match part.kind {
                // The feedback of its parts already has their names.
                MetricKind::Composed(_) => Some(words),
                _ => Some(format!("{}: {words}", part.name)),
            }
        });
        let feedback: Vec<String> = feedback.collect();
        (!feedback.is_empty()).then(|| feedback.join("\n").into())
    }
}

impl Aggregation {
    fn of(&self, scores: &[f64]) -> f64 {
        match self {
            Self::Mean => scores.iter().sum::<f64>() / scores.len() as f64,
            Self::Weighted(weights) => {
                let sum: f64 =
                    scores.iter().zip(weights).map(|(score, weight)| score * weight).sum();
                sum / weights.iter().sum::<f64>()
            }
            Self::Min => scores.iter().copied().fold(1.0, f64::min),
            Self::Max => scores.iter().copied().fold(0.0, f64::max),
            Self::Product => scores.iter().product(),
            Self::AtLeast(threshold) => {
                f64::from(u8::from(scores.iter().all(|score| score >= threshold)))
            }
        }
    }

    /// The feedback for a score below the threshold without feedback of its own.
    fn falls_short(&self, score: f64) -> Option<String> {
        match self {
            Self::AtLeast(threshold) if score < *threshold => {
                Some(format!("{score} is less than {threshold}"))
            }
            _ => None,
        }
    }
}
