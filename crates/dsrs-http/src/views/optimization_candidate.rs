//! The candidates of an optimization.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::optimization_result::{CandidateFailure, CandidateScore, OptimizationDiff};
use super::predictor_state::PredictorState;
use super::{PageView, RawJson};
use dsrs_store::optimization_candidate::CandidateRow;

/// A candidate in a list.
#[derive(Serialize, ToSchema)]
#[schema(
    as = OptimizationCandidateItem,
    examples(json!(OptimizationCandidateItemView::example()))
)]
pub struct OptimizationCandidateItemView<'a> {
    /// The number of the candidate, counted from 0: the original program.
    #[schema(minimum = 0)]
    pub number: i32,
    /// The candidates that it was made from.
    #[schema(value_type = Vec<u32>)]
    pub parents: &'a [i32],
    /// The way in which the candidate was made.
    #[schema(value_type = String)]
    pub origin: RawJson<'a>,
    /// The score on all examples that candidates are chosen by; null if the candidate was not tried on all.
    #[schema(value_type = Option<CandidateScore>)]
    pub full: RawJson<'a>,
    /// The scores on parts of these examples, one for each time that the candidate was tried.
    #[schema(value_type = Vec<CandidateScore>)]
    pub partial: RawJson<'a>,
    /// The reason why examples of the last evaluation of the candidate failed; null if none failed.
    #[schema(value_type = Option<CandidateFailure>)]
    pub cause: RawJson<'a>,
    /// Whether it changes the graph.
    pub changes_graph: bool,
}

impl<'a> From<&'a CandidateRow> for OptimizationCandidateItemView<'a> {
    fn from(row: &'a CandidateRow) -> Self {
        let scores: StoredScores<'a> = serde_json::from_str(&row.scores).unwrap_or_default();
        Self {
            number: row.number,
            parents: &row.parents,
            origin: (&row.origin).into(),
            full: scores.full,
            partial: scores.partial,
            cause: scores.cause,
            changes_graph: row.definition.is_some(),
        }
    }
}

impl OptimizationCandidateItemView<'static> {
    fn example() -> Self {
        Self {
            number: 1,
            parents: &[0],
            origin: r#""labeled demos""#.into(),
            full: RawJson::NULL,
            partial: "[]".into(),
            cause: RawJson::NULL,
            changes_graph: false,
        }
    }
}

/// The stored scores of a candidate.
#[derive(Default, Deserialize)]
struct StoredScores<'a> {
    #[serde(borrow)]
    full: RawJson<'a>,
    partial: RawJson<'a>,
    #[serde(default)]
    cause: RawJson<'a>,
}

/// A candidate.
#[derive(Serialize, ToSchema)]
#[schema(as = OptimizationCandidate, examples(json!(OptimizationCandidateView::example())))]
pub struct OptimizationCandidateView<'a> {
    /// The candidate as in the list.
    #[serde(flatten)]
    pub item: OptimizationCandidateItemView<'a>,
    /// The state of the candidate, by predictor path.
    #[schema(value_type = IndexMap<String, PredictorState>)]
    pub predictors: RawJson<'a>,
    /// The graph of the candidate; null if it is the original graph.
    #[schema(value_type = Option<Object>)]
    pub definition: Option<RawJson<'a>>,
    /// The changes from the original program.
    #[schema(value_type = OptimizationDiff)]
    pub diff: RawJson<'a>,
}

impl<'a> OptimizationCandidateView<'a> {
    pub(crate) fn new(row: &'a CandidateRow, diff: &'a str) -> Self {
        Self {
            item: row.into(),
            predictors: (&row.state).into(),
            definition: row.definition.as_ref().map(RawJson::from),
            diff: diff.into(),
        }
    }
}

impl OptimizationCandidateView<'static> {
    fn example() -> Self {
        let demo = r#"{"input":{"ticket":"Where is my refund?!"},"output":{"mood":"angry"}}"#;
        let state = format!(r#"{{"triage":{{"instruction":null,"demos":[{demo}]}}}}"#);
        Self {
            item: OptimizationCandidateItemView::example(),
            predictors: state.into(),
            definition: None,
            diff: r#"{"predictors":{},"text":"","graph":null}"#.into(),
        }
    }
}

/// A page of candidates.
pub type OptimizationCandidatePage = PageView<OptimizationCandidateItemView<'static>>;
