//! The comparison of two evaluations.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::dataset::PickedDatasetView;
use super::{RawJson, example};
use dsrs_app::ScoreComparison;
use dsrs_store::evaluation::{EvaluationRow, ScorePairRow};

/// Two evaluations, compared example by example.
#[derive(Serialize, ToSchema)]
#[schema(as = EvaluationComparison, examples(json!(EvaluationComparisonView::example())))]
pub struct EvaluationComparisonView<'a> {
    /// The evaluation to compare against.
    pub before: ComparedEvaluationView<'a>,
    /// The evaluation that is compared.
    pub after: ComparedEvaluationView<'a>,
    /// The number of examples that have a score in both.
    #[schema(value_type = u32)]
    pub n: usize,
    /// The number of examples in both that are left out, because their run failed in one for a reason that is not
    /// the program's.
    #[schema(value_type = u32)]
    pub unmeasured: usize,
    /// The mean gain of these examples.
    pub gain: f64,
    /// The lower end of the 95 % confidence interval of the gain.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// Examples with a higher score than before.
    #[schema(value_type = u32)]
    pub wins: usize,
    /// Examples with the same score.
    #[schema(value_type = u32)]
    pub ties: usize,
    /// Examples with a lower score.
    #[schema(value_type = u32)]
    pub losses: usize,
    /// A page of the examples, the greatest losses first.
    pub pairs: Vec<ComparedExampleView<'a>>,
    /// The cursor of the next page of `pairs`; null on the last page.
    pub next_cursor: Option<String>,
}

impl<'a> EvaluationComparisonView<'a> {
    pub(crate) fn new(
        compared: &'a ScoreComparison,
        pairs: &'a [ScorePairRow],
        next: Option<String>,
    ) -> Self {
        let ScoreComparison { before, after, unmeasured, sum, .. } = compared;
        Self {
            before: ComparedEvaluationView::new(before, sum.mean_before),
            after: ComparedEvaluationView::new(after, sum.mean_after),
            n: sum.n,
            unmeasured: *unmeasured,
            gain: sum.gain,
            low: sum.low,
            high: sum.high,
            wins: sum.wins,
            ties: sum.ties,
            losses: sum.losses,
            pairs: pairs.iter().map(ComparedExampleView::from).collect(),
            next_cursor: next,
        }
    }
}

impl EvaluationComparisonView<'static> {
    fn example() -> Self {
        Self {
            before: ComparedEvaluationView::example(1, 0.5),
            after: ComparedEvaluationView::example(2, 0.75),
            n: 4,
            unmeasured: 0,
            gain: 0.25,
            low: 0.0,
            high: 0.75,
            wins: 1,
            ties: 3,
            losses: 0,
            pairs: vec![ComparedExampleView {
                example_id: "5e884898da280471",
                before: 0.0,
                after: 1.0,
                gain: 1.0,
            }],
            next_cursor: None,
        }
    }
}

/// An evaluation of the two that are compared.
#[derive(Serialize, ToSchema)]
#[schema(as = ComparedEvaluation)]
pub struct ComparedEvaluationView<'a> {
    /// The id of the evaluation.
    pub id: Uuid,
    /// The name of the graph.
    pub graph: &'a str,
    /// The graph version.
    pub version: i32,
    /// The state version.
    pub state_version: i32,
    /// The examples.
    #[schema(value_type = PickedDatasetView)]
    pub dataset: RawJson<'a>,
    /// The status of the evaluation. If it is still running, its results so far are compared.
    pub status: &'a str,
    /// The mean score of the examples that both evaluations have.
    pub mean_score: f64,
}

impl<'a> ComparedEvaluationView<'a> {
    fn new(row: &'a EvaluationRow, mean_score: f64) -> Self {
        Self {
            id: row.id,
            graph: &row.graph_name,
            version: row.graph_version,
            state_version: row.state_version,
            dataset: (&row.dataset).into(),
            status: row.status.as_str(),
            mean_score,
        }
    }
}

impl ComparedEvaluationView<'static> {
    fn example(state_version: i32, mean_score: f64) -> Self {
        Self {
            id: example::ID,
            graph: "support-reply",
            version: 1,
            state_version,
            dataset: example::raw(&PickedDatasetView::example()),
            status: "succeeded",
            mean_score,
        }
    }
}

/// An example that two evaluations have.
#[derive(Serialize, ToSchema)]
#[schema(as = ComparedExample)]
pub struct ComparedExampleView<'a> {
    /// The id of the example in the dataset.
    pub example_id: &'a str,
    /// The score of the example before.
    pub before: f64,
    /// The score of the example after.
    pub after: f64,
    /// The difference of the scores.
    pub gain: f64,
}

impl<'a> From<&'a ScorePairRow> for ComparedExampleView<'a> {
    fn from(pair: &'a ScorePairRow) -> Self {
        let (before, after) = (pair.before, pair.after);
        Self { example_id: &pair.example_id, before, after, gain: after - before }
    }
}
