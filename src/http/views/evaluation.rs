//! Evaluations, their results and comparisons, as the OpenAPI document tells them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use utoipa::ToSchema;
use uuid::Uuid;

use super::dataset::PickedDatasetView;
use super::{Json, UsageView};
use crate::http::protocol::problem_view::LeniencyView;
use crate::http::protocol::problem_view::ProblemView;

/// What to evaluate a graph on.
#[derive(ToSchema)]
pub struct EvaluationBody {
    /// The name of a dataset, or `{dataset, version?, split?, seed?, fractions?, limit?}` for a part of
    /// it.
    #[schema(value_type = Value)]
    pub dataset: Json,
    /// Who judges: the name of a metric, or `{name: options}`.
    #[schema(value_type = Value)]
    pub metric: Json,
    /// A graph version other than the newest.
    pub version: Option<i32>,
    /// A state version other than the one in force.
    pub state_version: Option<i32>,
    /// Examples at the same time, if fewer than the server's limit.
    pub concurrency: Option<u32>,
    /// The evaluation fails when more examples than that do; without it, it always comes to its end.
    pub max_errors: Option<u32>,
    /// How long the graph may take on an example, and then the metric, if less than the server's limit.
    pub timeout_ms: Option<u64>,
    /// Whether each example is recorded as a run, too, with its trace; not, if not given.
    pub record: Option<bool>,
}

/// An evaluation.
#[derive(ToSchema)]
pub struct Evaluation {
    /// Its id.
    pub id: Uuid,
    /// The graph's name.
    pub graph: String,
    /// The graph version that runs.
    pub version: i32,
    /// The state version that it runs with.
    pub state_version: i32,
    /// Which examples.
    pub dataset: PickedDatasetView<'static>,
    /// Who judges, with everything that was left unsaid filled in.
    #[schema(value_type = Object)]
    pub metric: Json,
    /// `queued`, `running`, `succeeded` (every example has a score), `failed` (the evaluation as a
    /// whole) or `cancelled`.
    pub status: String,
    /// Examples at the same time; null for the server's limit.
    pub concurrency: Option<u32>,
    /// It fails when more examples than that do.
    pub max_errors: Option<u32>,
    /// How long an example may take; null for the server's limit.
    pub timeout_ms: Option<u64>,
    /// Whether each example is recorded as a run, too.
    pub record: bool,
    /// How far it has come.
    pub counts: EvaluationCounts,
    /// The mean score of the examples so far, those that failed with 0; null before the first.
    pub mean_score: Option<f64>,
    /// Calls, tokens and cost of the graph so far.
    pub usage: UsageView,
    /// The same of the metric.
    pub judging: UsageView,
    /// The problem that the evaluation as a whole ended with.
    pub error: Option<ProblemView<'static>>,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When work on it began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

/// How far an evaluation has come.
#[derive(ToSchema)]
pub struct EvaluationCounts {
    /// All examples.
    pub total: u32,
    /// Those that have a score.
    pub done: u32,
    /// Of these, those that failed, and count as 0.
    pub failed: u32,
}

/// A page of evaluations.
#[derive(ToSchema)]
pub struct EvaluationPage {
    /// Newest first.
    pub items: Vec<Evaluation>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// What came of one example.
#[derive(ToSchema)]
pub struct EvaluationResult {
    /// Where the example stands in the dataset's version.
    pub position: u32,
    /// Its id in the dataset.
    pub example_id: String,
    /// How good the outputs are, from 0 to 1; 0 when it failed.
    pub score: f64,
    /// What the metric says beside the score.
    pub feedback: Option<String>,
    /// What came out.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<Json>,
    /// Why it failed.
    pub error: Option<ProblemView<'static>>,
    /// Calls, tokens and cost of the graph.
    pub usage: UsageView,
    /// The same of the metric.
    pub judging: UsageView,
    /// How leniently answers were read, by the path of the predictor; those that needed it.
    pub parse_reports: BTreeMap<String, Vec<LeniencyView>>,
    /// How long the graph took.
    pub duration_ms: u64,
    /// Where its run is read, with its trace; null where it was not recorded.
    pub run_id: Option<Uuid>,
}

/// A page of results.
#[derive(ToSchema)]
pub struct EvaluationResultPage {
    /// Results of the examples that have ended.
    pub items: Vec<EvaluationResult>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// Events of an evaluation: `evaluation.progress` (`{status, total, done, failed, mean_score}`) and, last
/// and with the evaluation, `evaluation.completed`, `evaluation.failed` or `evaluation.cancelled`; a
/// comment comes at least every 15 s.
#[derive(ToSchema)]
#[schema(value_type = String)]
pub struct EvaluationEvents(#[allow(dead_code, reason = "only its schema is of use")] String);

/// Two evaluations beside each other.
#[derive(ToSchema)]
pub struct EvaluationComparison {
    /// The one that is compared against.
    pub before: ComparedEvaluation,
    /// The other.
    pub after: ComparedEvaluation,
    /// Examples that have a score in both.
    pub n: u32,
    /// The mean of what they gained.
    pub gain: f64,
    /// The lower end of the gain's 95 % confidence interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Examples that score more than before.
    pub wins: u32,
    /// Examples that score the same.
    pub ties: u32,
    /// Examples that score less.
    pub losses: u32,
    /// A page of these examples, the greatest losses first.
    pub pairs: Vec<ComparedExample>,
    /// Where the pairs go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// One of two evaluations.
#[derive(ToSchema)]
pub struct ComparedEvaluation {
    /// Its id.
    pub id: Uuid,
    /// The graph's name.
    pub graph: String,
    /// The graph version.
    pub version: i32,
    /// The state version.
    pub state_version: i32,
    /// Which examples it has.
    pub dataset: PickedDatasetView<'static>,
    /// Where it stands; one under way is compared as far as it has come.
    pub status: String,
    /// Its mean score over the examples in common.
    pub mean_score: f64,
}

/// An example that two evaluations have.
#[derive(ToSchema)]
pub struct ComparedExample {
    /// Its id in the dataset.
    pub example_id: String,
    /// Its score before.
    pub before: f64,
    /// Its score after.
    pub after: f64,
    /// What it gained.
    pub gain: f64,
}
