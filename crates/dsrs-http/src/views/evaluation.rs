//! Evaluations and their progress.

use chrono::{DateTime, Utc};
use dsrs::optimize::MAX_UNMEASURED;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::dataset::PickedDatasetView;
use super::time::{timestamp, timestamp_or_null};
use super::{DatasetReference, Json, Metric, PageView, RawJson, UsageView, example};
use crate::protocol::problem_view::ProblemView;
use dsrs_store::batch::UsageTotals;
use dsrs_store::evaluation::{EvaluationRow, EvaluationTotals};

/// The dataset and the metric to evaluate a graph with.
#[derive(ToSchema)]
pub struct EvaluationBody {
    /// The name of a dataset, or `{dataset, version?, split?, seed?, fractions?, limit?}` for a part
    /// of it.
    #[schema(value_type = DatasetReference)]
    pub dataset: Json,
    /// The metric: its name, or `{name: options}`.
    #[schema(value_type = Metric)]
    pub metric: Json,
    /// A version of the graph. Default: the newest.
    pub version: Option<i32>,
    /// A version of the state. Default: the active version.
    pub state_version: Option<i32>,
    /// Examples that run at the same time. Default, and maximum: the limit of the server.
    pub concurrency: Option<u32>,
    /// The evaluation fails if more examples than this fail. Default: no limit.
    pub max_errors: Option<u32>,
    /// The share of examples that may stay without a score because the provider, the time or a budget failed. If more
    /// do, the evaluation fails. Default: 0.05.
    #[schema(minimum = 0, maximum = 1)]
    pub max_unmeasured: Option<f64>,
    /// The time limit of the graph for one example, and of the metric. Default, and maximum: the
    /// limit of the server.
    pub timeout_ms: Option<u64>,
    /// Whether each example is also recorded as a run, with its trace. Default: false.
    pub record: Option<bool>,
    /// Whether a `call` node reuses the result that an earlier evaluation with this member has recorded for the same tool
    /// and arguments. Default: false.
    pub reuse_calls: Option<bool>,
}

/// An evaluation.
#[derive(Serialize, ToSchema)]
#[schema(as = Evaluation, examples(json!(EvaluationView::example())))]
pub struct EvaluationView<'a> {
    /// The id of the evaluation.
    pub id: Uuid,
    /// The name of the graph.
    pub graph: &'a str,
    /// The graph version that runs.
    pub version: i32,
    /// The state version that runs.
    pub state_version: i32,
    /// The examples.
    #[schema(value_type = PickedDatasetView)]
    pub dataset: RawJson<'a>,
    /// The metric with all its options, defaults included.
    #[schema(value_type = Object)]
    pub metric: RawJson<'a>,
    /// `queued`, `running`, `succeeded` (every example has a score), `failed` (the evaluation as a
    /// whole) or `cancelled`.
    pub status: &'a str,
    /// Examples that run at the same time; null for the limit of the server.
    #[schema(minimum = 0)]
    pub concurrency: Option<i32>,
    /// The evaluation fails if more examples than this fail; null for no limit.
    #[schema(minimum = 0)]
    pub max_errors: Option<i32>,
    /// The share of examples that may stay without a score.
    pub max_unmeasured: f64,
    /// The time limit of an example; null for the limit of the server.
    #[schema(minimum = 0)]
    pub timeout_ms: Option<i64>,
    /// Whether each example is also recorded as a run.
    pub record: bool,
    /// Whether results of calls are those that evaluations recorded before.
    pub reuse_calls: bool,
    /// The number of examples, and how many have ended.
    pub counts: EvaluationCountsView,
    /// The mean score so far; failed examples count as 0, unmeasured ones do not count. Null before the first score.
    pub mean_score: Option<f64>,
    /// Calls, tokens and cost of the graph so far.
    pub usage: UsageView,
    /// Calls, tokens and cost of the metric so far.
    pub judging: UsageView,
    /// The reason why the evaluation as a whole failed.
    pub error: Option<ProblemView<'a>>,
    /// The time when the evaluation was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when the evaluation started.
    #[serde(serialize_with = "timestamp_or_null")]
    pub started_at: Option<DateTime<Utc>>,
    /// The time when the evaluation ended.
    #[serde(serialize_with = "timestamp_or_null")]
    pub finished_at: Option<DateTime<Utc>>,
}

impl<'a> From<&'a EvaluationRow> for EvaluationView<'a> {
    fn from(row: &'a EvaluationRow) -> Self {
        Self {
            id: row.id,
            graph: &row.graph_name,
            version: row.graph_version,
            state_version: row.state_version,
            dataset: (&row.dataset).into(),
            metric: (&row.metric).into(),
            status: row.status.as_str(),
            concurrency: row.concurrency,
            max_errors: row.max_errors,
            max_unmeasured: row.max_unmeasured.unwrap_or(MAX_UNMEASURED),
            timeout_ms: row.timeout_ms,
            record: row.record,
            reuse_calls: row.reuse_calls,
            counts: row.tally.into(),
            mean_score: row.tally.mean(),
            usage: (&row.spent).into(),
            judging: (&UsageTotals::from(row.judging)).into(),
            error: row.error.as_deref().map(ProblemView::recorded),
            created_at: row.created_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
        }
    }
}

impl EvaluationView<'static> {
    fn example() -> Self {
        Self {
            id: example::ID,
            graph: "support-reply",
            version: 1,
            state_version: 1,
            dataset: example::raw(&PickedDatasetView::example()),
            metric: r#"{"exact":{"field":"mood"}}"#.into(),
            status: "succeeded",
            concurrency: None,
            max_errors: Some(10),
            max_unmeasured: MAX_UNMEASURED,
            timeout_ms: None,
            record: false,
            reuse_calls: false,
            counts: EvaluationCountsView { total: 4, done: 4, failed: 0, unmeasured: 0 },
            mean_score: Some(0.75),
            usage: UsageView::example(),
            judging: UsageView::default(),
            error: None,
            created_at: example::time(0),
            started_at: Some(example::time(1)),
            finished_at: Some(example::time(4)),
        }
    }
}

/// The number of examples, and how many have ended.
#[derive(Serialize, ToSchema)]
#[schema(as = EvaluationCounts)]
pub struct EvaluationCountsView {
    /// All examples.
    #[schema(minimum = 0)]
    pub total: i32,
    /// Examples that have ended, failed and unmeasured ones included.
    #[schema(minimum = 0)]
    pub done: i32,
    /// Examples that failed; their score is 0.
    #[schema(minimum = 0)]
    pub failed: i32,
    /// Examples without a score, because the provider, the time or a budget failed; not counted as failed.
    #[schema(minimum = 0)]
    pub unmeasured: i32,
}

impl From<EvaluationTotals> for EvaluationCountsView {
    fn from(tally: EvaluationTotals) -> Self {
        let EvaluationTotals { total, done, failed, unmeasured, .. } = tally;
        Self { total, done, failed, unmeasured }
    }
}

/// The progress of an evaluation, as its events report it.
#[derive(Serialize)]
pub struct EvaluationProgressView<'a> {
    status: &'a str,
    #[serde(flatten)]
    counts: EvaluationCountsView,
    mean_score: Option<f64>,
}

impl<'a> From<&'a EvaluationRow> for EvaluationProgressView<'a> {
    fn from(row: &'a EvaluationRow) -> Self {
        let mean_score = row.tally.mean();
        Self { status: row.status.as_str(), counts: row.tally.into(), mean_score }
    }
}

/// A server-sent event of an evaluation: `evaluation.progress` (`{status, total, done, failed,
/// unmeasured, mean_score}`). The last event, `evaluation.completed`, `evaluation.failed` or
/// `evaluation.cancelled`, carries the evaluation. The server sends a comment at least every 15 s.
#[derive(ToSchema)]
pub struct EvaluationEvents {
    /// The id, a number.
    pub id: Option<String>,
    /// The kind.
    pub event: String,
    /// A JSON document without line breaks.
    pub data: String,
}

/// A page of evaluations.
pub type EvaluationPage = PageView<EvaluationView<'static>>;
