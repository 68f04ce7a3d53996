//! The result of an optimization. It is stored as text; these types only describe it.

use indexmap::IndexMap;
use utoipa::ToSchema;

use super::state_diff::PredictorDiffView;
use super::{Json, UsageView};

/// The result of an optimization.
#[derive(ToSchema)]
pub struct OptimizationResult {
    /// The reason why the optimization stopped before the optimizer finished.
    pub stopped: Option<OptimizationStop>,
    /// The score of the original program on the held-out examples.
    pub baseline: Option<OptimizationScore>,
    /// The best candidate; number 0 if nothing better was found.
    pub best: OptimizationBest,
    /// The comparison of the two; null if there is nothing to compare.
    pub comparison: Option<OptimizationComparison>,
    /// The changes from the original program to the best; null if they are the same.
    pub diff: Option<OptimizationDiff>,
}

/// The reason why an optimization stopped before the optimizer finished.
#[derive(ToSchema)]
pub struct OptimizationStop {
    /// `budget` or `cancelled`.
    pub reason: String,
    /// The limit of the budget that was reached.
    pub limit: Option<String>,
    /// An explanation for people.
    pub detail: String,
}

/// A mean score.
#[derive(ToSchema)]
pub struct OptimizationScore {
    /// The mean score.
    pub score: f64,
    /// The number of examples with a score.
    pub n: u32,
}

/// The best candidate.
#[derive(ToSchema)]
pub struct OptimizationBest {
    /// The number of the candidate.
    pub candidate: u32,
    /// The way in which the candidate was made.
    pub origin: String,
    /// The mean score of the candidate on the held-out examples.
    pub score: Option<f64>,
    /// The number of held-out examples that it was measured on.
    pub n: u32,
    /// The score of the candidate on the examples that it was chosen by.
    pub val: Option<CandidateScore>,
    /// Whether it changes the graph.
    pub changes_graph: bool,
}

/// The score of a candidate on some examples.
#[derive(ToSchema)]
pub struct CandidateScore {
    /// The number of examples with a score.
    pub n: u32,
    /// The mean score.
    pub score: f64,
    /// The value that candidates are compared by: the mean score, minus a penalty for cost if the
    /// optimizer has one.
    pub objective: f64,
    /// The number of examples that failed for a reason of the program; their score is 0.
    pub failures: u32,
    /// The number of examples without a score, because the provider, the time or a budget failed.
    pub unmeasured: Option<u32>,
    /// Calls, tokens and cost of the program.
    pub usage: UsageView,
}

/// The most frequent reason why examples of a candidate have no score; if all have one, the most frequent reason why
/// examples failed.
#[derive(ToSchema)]
pub struct CandidateFailure {
    /// The code of the failure.
    pub code: String,
    /// An explanation for people: that of the first of them.
    pub detail: String,
    /// The number of examples that failed with this code.
    pub n: u32,
    /// Whether these examples have no score.
    pub unmeasured: bool,
}

/// The original program and the best candidate, compared on the held-out examples.
#[derive(ToSchema)]
pub struct OptimizationComparison {
    /// The number of examples with a score of both.
    pub n: u32,
    /// The mean score before.
    pub before: f64,
    /// The mean score after.
    pub after: f64,
    /// The mean gain.
    pub gain: f64,
    /// The lower end of the 95 % confidence interval of the gain (paired bootstrap).
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// Examples with a higher score than before.
    pub wins: u32,
    /// Examples with the same score.
    pub ties: u32,
    /// Examples with a lower score.
    pub losses: u32,
    /// Examples that are left out, because one of the two has no score.
    pub unmeasured: Option<u32>,
}

/// The changes from one program to another.
#[derive(ToSchema)]
pub struct OptimizationDiff {
    /// Changes of the state, by predictor path.
    pub predictors: IndexMap<String, PredictorDiffView>,
    /// The same as text.
    pub text: String,
    /// Changes of the graph; null if there are none.
    pub graph: Option<OptimizationGraphDiff>,
}

/// The changes from one graph to another.
#[derive(ToSchema)]
pub struct OptimizationGraphDiff {
    /// The changes as edits.
    #[schema(value_type = Vec<Object>)]
    pub edits: Vec<Json>,
    /// The same as text.
    pub text: String,
}

/// Whether the result of an optimization was activated.
#[derive(ToSchema)]
pub struct OptimizationActivation {
    /// Whether it was activated.
    pub activated: bool,
    /// The reason why the result was activated, or why it was not.
    pub reason: String,
    /// The graph version that it is active for.
    pub graph_version: Option<i32>,
    /// The state version that was activated.
    pub state_version: Option<i32>,
}

/// A stored result.
pub(super) const RESULT: &str = concat!(
    r#"{"stopped":null,"baseline":{"score":0.5,"n":8},"best":{"candidate":1,"#,
    r#""origin":"labeled demos","score":0.75,"n":8,"val":null,"changes_graph":false},"#,
    r#""comparison":{"n":8,"before":0.5,"after":0.75,"gain":0.25,"low":0.0,"high":0.5,"wins":2,"#,
    r#""ties":6,"losses":0,"unmeasured":0},"diff":null}"#
);

/// A stored activation.
pub(super) const ACTIVATION: &str = concat!(
    r#"{"activated":false,"reason":"the interval of the gain includes 0","#,
    r#""graph_version":null,"state_version":null}"#
);
