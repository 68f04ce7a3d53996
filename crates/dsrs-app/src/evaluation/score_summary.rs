//! The scores of an evaluation in figures: the mean with its interval, and how many examples have which score.

use dsrs::optimize::{Interval, mean_interval};
use uuid::Uuid;

use crate::{App, AppError, compute_blocking};
use dsrs_store::Scope;
use dsrs_store::evaluation::{self, EvaluationResultRow};

/// The most scores that are read.
const MOST: i64 = 10_000;

/// The most scores whose interval is a bootstrap, which draws each 10,000 times. With more, the normal
/// distribution gives the same interval.
const MOST_RESAMPLED: usize = 500;

/// The bins of the scores from 0 to 1.
pub(crate) const BINS: usize = 10;

/// A fixed seed, so that the interval of an evaluation is always the same.
const SEED: u64 = 7;

/// The scores of an evaluation so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreSummary {
    /// The mean with its 95 % interval.
    pub interval: Interval,
    /// How many examples have a score in each tenth; 1 belongs to the last.
    pub bins: [i64; BINS],
}

impl App {
    /// The scores of an evaluation so far; `None` without any.
    pub async fn evaluation_scores(
        &self,
        scope: &Scope,
        id: Uuid,
    ) -> Result<Option<ScoreSummary>, AppError> {
        let scores = evaluation::scores(scope, &self.db, id, MOST).await?;
        if scores.is_empty() {
            return Ok(None);
        }
        let summed = compute_blocking(self.limits.run_timeout, move || summary(&scores)).await;
        summed.map(Some).ok_or_else(|| AppError::Internal("a summary panicked".to_owned()))
    }

    /// The results of some examples of an evaluation, by their ids.
    pub async fn evaluation_results_of(
        &self,
        scope: &Scope,
        id: Uuid,
        examples: &[String],
    ) -> Result<Vec<EvaluationResultRow>, AppError> {
        Ok(evaluation::results_of(scope, &self.db, id, examples).await?)
    }
}

fn summary(scores: &[f64]) -> ScoreSummary {
    let mut bins = [0; BINS];
    for score in scores {
        // A score is from 0 to 1.
        let bin = ((score * BINS as f64) as usize).min(BINS - 1);
        bins[bin] += 1;
    }
    let interval =
        if scores.len() <= MOST_RESAMPLED { mean_interval(scores, SEED) } else { normal(scores) };
    ScoreSummary { interval, bins }
}

/// The interval of the normal distribution, within 0 to 1.
fn normal(scores: &[f64]) -> Interval {
    let n = scores.len();
    let mean = scores.iter().sum::<f64>() / n as f64;
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    let half = 1.96 * (squares / (n as f64 - 1.0) / n as f64).sqrt();
    Interval { n, mean, low: (mean - half).max(0.0), high: (mean + half).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_intervals_agree_and_every_score_has_a_bin() {
        let scores = [0.0, 1.0, 0.5, 0.95, 1.0].repeat(100);
        let (few, many) = (summary(&scores), normal(&scores));
        assert_eq!(few.bins, [100, 0, 0, 0, 0, 100, 0, 0, 0, 300]);
        assert_eq!(few.interval.mean, many.mean);
        assert!((few.interval.low - many.low).abs() < 0.005, "{few:?} {many:?}");
        assert!((few.interval.high - many.high).abs() < 0.005, "{few:?} {many:?}");
    }
}
