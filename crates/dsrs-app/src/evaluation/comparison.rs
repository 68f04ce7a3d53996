//! Compares two evaluations on the examples that both have: the gain of each, and the interval of the
//! mean gain. Changes nothing.

use std::cmp::Ordering;

use dsrs::optimize::{Comparison, paired_bootstrap};
use uuid::Uuid;

use crate::{App, AppError, compute_blocking};
use dsrs_store::Scope;
use dsrs_store::evaluation::{self, EvaluationRow, ScorePairRow};
use dsrs_store::job;

/// The most examples that are compared: the bootstrap of more takes seconds.
const MOST: i64 = 100_000;

/// A fixed seed, so that the interval of two evaluations is always the same.
const SEED: u64 = 7;

/// Two evaluations of some of the same examples.
pub struct ScoreComparison {
    /// The baseline.
    pub before: EvaluationRow,
    /// The other evaluation.
    pub after: EvaluationRow,
    /// The number of common examples that are left out, because one of the two has no score.
    pub unmeasured: usize,
    /// The statistics of the other common examples.
    pub sum: Comparison,
    /// These examples, the greatest losses first.
    pub pairs: Vec<ScorePairRow>,
}

impl App {
    /// Compares an evaluation against another on the examples that have a score in both.
    pub async fn evaluation_compare(
        &self,
        scope: &Scope,
        after: Uuid,
        before: Uuid,
    ) -> Result<ScoreComparison, AppError> {
        let before = job::get::<EvaluationRow>(scope, &self.db, before).await?;
        let after = job::get::<EvaluationRow>(scope, &self.db, after).await?;
        let example_pairs =
            evaluation::pairs(scope, &self.db, before.id, after.id, MOST + 1).await?;
        let count = i64::try_from(example_pairs.len()).unwrap_or(i64::MAX);
        if !(1..=MOST).contains(&count) {
            return Err(AppError::NotComparable(refusal(&before, &after, count)));
        }
        let compared =
            compute_blocking(self.limits.run_timeout, move || compare(example_pairs)).await;
        let broken = || AppError::Internal("a comparison panicked".to_owned());
        let (sum, pairs) = compared.ok_or_else(broken)?;
        if pairs.is_empty() {
            return Err(AppError::NotComparable(unmeasured_only(count)));
        }
        let unmeasured = usize::try_from(count).unwrap_or_default() - pairs.len();
        Ok(ScoreComparison { before, after, unmeasured, sum, pairs })
    }
}

fn refusal(before: &EvaluationRow, after: &EvaluationRow, count: i64) -> String {
    if count > MOST {
        return format!(
            "more than {MOST} examples in common: evaluate parts of the dataset (`limit`)"
        );
    }
    let unscored = |row: &EvaluationRow| row.tally.done == 0;
    match [before, after].into_iter().find(|row| unscored(row)) {
        Some(row) => format!("no example of evaluation {} has a score ({})", row.id, row.status),
        None => {
            "the evaluations have no example in common; examples are matched by their id".to_owned()
        }
    }
}

fn unmeasured_only(count: i64) -> String {
    format!(
        "none of the {count} examples in common has a score in both evaluations: their runs failed for reasons that are \
         not the program's; evaluate again"
    )
}

fn compare(mut pairs: Vec<ScorePairRow>) -> (Comparison, Vec<ScorePairRow>) {
    pairs.retain(|pair| !pair.unmeasured);
    let scores = |of: fn(&ScorePairRow) -> f64| pairs.iter().map(of).collect::<Vec<f64>>();
    let sum = paired_bootstrap(&scores(|pair| pair.before), &scores(|pair| pair.after), SEED);
    let gain = |pair: &ScorePairRow| pair.after - pair.before;
    // Those that gained the same stay in their order.
    pairs.sort_by(|one, other| gain(one).partial_cmp(&gain(other)).unwrap_or(Ordering::Equal));
    (sum, pairs)
}
