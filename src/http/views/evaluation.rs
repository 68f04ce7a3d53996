//! Evaluations, their results and comparisons.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::dataset::PickedDatasetView;
use super::time::{timestamp, timestamp_or_null};
use super::{Json, Page, RawJson, UsageView, example};
use crate::app::ScoreComparison;
use crate::http::protocol::problem_view::{LeniencyView, ProblemView};
use crate::store::batch::UsageTotals;
use crate::store::evaluation::{
    EvaluationResultRow, EvaluationRow, EvaluationTotals, ScorePairRow,
};

/// The dataset and the metric to evaluate a graph with.
#[derive(ToSchema)]
pub struct EvaluationBody {
    /// The name of a dataset, or `{dataset, version?, split?, seed?, fractions?, limit?}` for a part
    /// of it.
    #[schema(value_type = Value)]
    pub dataset: Json,
    /// The metric: its name, or `{name: options}`.
    #[schema(value_type = Value)]
    pub metric: Json,
    /// A version of the graph. Default: the newest.
    pub version: Option<i32>,
    /// A version of the state. Default: the active version.
    pub state_version: Option<i32>,
    /// Examples that run at the same time. Default, and maximum: the limit of the server.
    pub concurrency: Option<u32>,
    /// The evaluation fails if more examples than this fail. Default: no limit.
    pub max_errors: Option<u32>,
    /// The time limit of the graph for one example, and of the metric. Default, and maximum: the
    /// limit of the server.
    pub timeout_ms: Option<u64>,
    /// Whether each example is also recorded as a run, with its trace. Default: false.
    pub record: Option<bool>,
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
    /// The time limit of an example; null for the limit of the server.
    #[schema(minimum = 0)]
    pub timeout_ms: Option<i64>,
    /// Whether each example is also recorded as a run.
    pub record: bool,
    /// The number of examples, and how many have ended.
    pub counts: EvaluationCountsView,
    /// The mean score so far; failed examples count as 0. Null before the first score.
    pub mean_score: Option<f64>,
    /// Calls, tokens and cost of the graph so far.
    pub usage: UsageView,
    /// Calls, tokens and cost of the metric so far.
    pub judging: UsageView,
    /// Why the evaluation as a whole failed.
    pub error: Option<ProblemView<'a>>,
    /// When it was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// When it started.
    #[serde(serialize_with = "timestamp_or_null")]
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
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
            timeout_ms: row.timeout_ms,
            record: row.record,
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
            timeout_ms: None,
            record: false,
            counts: EvaluationCountsView { total: 4, done: 4, failed: 0 },
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
    /// Examples that have a score, failed ones included.
    #[schema(minimum = 0)]
    pub done: i32,
    /// Examples that failed; their score is 0.
    #[schema(minimum = 0)]
    pub failed: i32,
}

impl From<EvaluationTotals> for EvaluationCountsView {
    fn from(tally: EvaluationTotals) -> Self {
        Self { total: tally.total, done: tally.done, failed: tally.failed }
    }
}

/// The result of one example.
#[derive(Serialize, ToSchema)]
#[schema(as = EvaluationResult, examples(json!(EvaluationResultView::example())))]
pub struct EvaluationResultView<'a> {
    /// The position of the example in the version of the dataset.
    #[schema(minimum = 0)]
    pub position: i32,
    /// The id of the example in the dataset.
    pub example_id: &'a str,
    /// The score of the outputs, from 0 to 1; 0 if the example failed.
    pub score: f64,
    /// The explanation of the score, if the metric writes one.
    #[schema(value_type = Option<String>)]
    pub feedback: Option<RawJson<'a>>,
    /// The outputs of the graph.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<RawJson<'a>>,
    /// Why the example failed.
    pub error: Option<ProblemView<'a>>,
    /// Calls, tokens and cost of the graph.
    #[schema(value_type = UsageView)]
    pub usage: RawJson<'a>,
    /// Calls, tokens and cost of the metric.
    #[schema(value_type = UsageView)]
    pub judging: RawJson<'a>,
    /// The leniencies of the parser, by the path of the predictor; only predictors that needed any.
    #[schema(value_type = BTreeMap<String, Vec<LeniencyView>>)]
    pub parse_reports: RawJson<'a>,
    /// The duration of the graph.
    #[schema(minimum = 0)]
    pub duration_ms: i64,
    /// The run of the example, with its trace; null if it was not recorded.
    pub run_id: Option<Uuid>,
}

impl<'a> From<&'a EvaluationResultRow> for EvaluationResultView<'a> {
    fn from(row: &'a EvaluationResultRow) -> Self {
        Self {
            position: row.position,
            example_id: &row.example_id,
            score: row.score,
            feedback: row.feedback.as_ref().map(RawJson::from),
            outputs: row.outputs.as_ref().map(RawJson::from),
            error: row.error.as_deref().map(ProblemView::recorded),
            usage: (&row.usage).into(),
            judging: (&row.judging).into(),
            parse_reports: (&row.parse_reports).into(),
            duration_ms: row.duration_ms,
            run_id: row.run_id,
        }
    }
}

impl EvaluationResultView<'static> {
    fn example() -> Self {
        Self {
            position: 1,
            example_id: "5e884898da280471",
            score: 0.0,
            feedback: Some(r#""mood: expected \"angry\", found \"calm\"""#.into()),
            outputs: Some(r#"{"answer":"It arrives tomorrow.","mood":"calm"}"#.into()),
            error: None,
            usage: example::raw(&UsageView::example()),
            judging: example::raw(&UsageView::default()),
            parse_reports: "{}".into(),
            duration_ms: 512,
            run_id: None,
        }
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

/// Server-sent events of an evaluation: `evaluation.progress` (`{status, total, done, failed,
/// mean_score}`). The last event, `evaluation.completed`, `evaluation.failed` or
/// `evaluation.cancelled`, carries the evaluation. The server sends a comment at least every 15 s.
#[derive(ToSchema)]
#[schema(value_type = String)]
pub struct EvaluationEvents(#[allow(dead_code, reason = "only its schema is used")] String);

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
        let ScoreComparison { before, after, sum, .. } = compared;
        Self {
            before: ComparedEvaluationView::new(before, sum.mean_before),
            after: ComparedEvaluationView::new(after, sum.mean_after),
            n: sum.n,
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

/// One of two compared evaluations.
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
    /// Its score before.
    pub before: f64,
    /// Its score after.
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

/// A page of evaluations.
pub type EvaluationPage = Page<EvaluationView<'static>>;

/// A page of results.
pub type EvaluationResultPage = Page<EvaluationResultView<'static>>;
