//! Optimizations.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::optimization_result::{ACTIVATION, OptimizationActivation, OptimizationResult, RESULT};
use super::time::{timestamp, timestamp_or_null};
use super::{DatasetReference, Json, Metric, PageView, RawJson, UsageView, example};
use crate::protocol::problem_view::ProblemView;
use dsrs_store::optimization::OptimizationRow;

/// A request to optimize a graph.
#[derive(ToSchema)]
pub struct OptimizationBody {
    /// The name of the optimizer.
    pub optimizer: String,
    /// The examples that demos and reflections come from: the name of a dataset, or
    /// `{dataset, version?, split?, seed?, fractions?, limit?}`.
    #[schema(value_type = DatasetReference)]
    pub trainset: Json,
    /// The examples that candidates are chosen by.
    #[schema(value_type = Option<DatasetReference>)]
    pub valset: Option<Json>,
    /// The examples that only the result is measured on.
    #[schema(value_type = Option<DatasetReference>)]
    pub testset: Option<Json>,
    /// The metric: its name, or `{name: options}`.
    #[schema(value_type = Metric)]
    pub metric: Json,
    /// The config of the optimizer; `/v1/optimizers/{name}` has its JSON Schema.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Json>,
    /// The limits of what the optimization may spend. Default: no limits.
    pub budget: Option<OptimizationBudget>,
    /// `never`, or `if_better`: the result becomes active if the confidence interval of its gain on
    /// the held-out examples is above 0. Default: `never`.
    pub activate: Option<String>,
    /// The seed of all random choices. Default: 0.
    pub seed: Option<u64>,
    /// Rollouts that run at the same time. Default, and maximum: the limit of the server.
    pub concurrency: Option<u32>,
    /// The share of the examples of an evaluation, and of all rollouts, that may stay without a score because the
    /// provider, the time or a budget failed. If more do, the optimization fails. Default: 0.05.
    #[schema(minimum = 0, maximum = 1)]
    pub max_unmeasured: Option<f64>,
    /// The alias of the model that writes proposals. Default: `default`.
    pub prompt_model: Option<String>,
    /// The time limit of the graph for one example. Default, and maximum: the limit of the server.
    pub timeout_ms: Option<u64>,
    /// A version of the graph. Default: the newest.
    pub version: Option<i32>,
    /// A version of the state. Default: the active version.
    pub state_version: Option<i32>,
}

/// The limits of what an optimization may spend over all attempts. Null means no limit.
#[derive(ToSchema)]
pub struct OptimizationBudget {
    /// Requests to models, failed ones included.
    pub lm_calls: Option<u64>,
    /// Input and output tokens.
    pub tokens: Option<u64>,
    /// Money, in the currency of the configured prices.
    pub cost: Option<f64>,
    /// Seconds of work.
    pub seconds: Option<f64>,
}

/// An optimization.
#[derive(Serialize, ToSchema)]
#[schema(as = Optimization, examples(json!(OptimizationView::example())))]
pub struct OptimizationView<'a> {
    /// The id of the optimization.
    pub id: Uuid,
    /// The name of the graph.
    pub graph: &'a str,
    /// The graph version that it starts from.
    pub version: i32,
    /// The state version that it starts from.
    pub state_version: i32,
    /// The name of the optimizer.
    pub optimizer: &'a str,
    /// The config of the optimizer, as requested.
    #[schema(value_type = Object)]
    pub config: RawJson<'a>,
    /// The metric with all its options, defaults included.
    #[schema(value_type = Object)]
    pub metric: RawJson<'a>,
    /// The part of a dataset that `trainset` named, with its version.
    #[schema(value_type = Object)]
    pub trainset: RawJson<'a>,
    /// The same for `valset`.
    #[schema(value_type = Option<Object>)]
    pub valset: RawJson<'a>,
    /// The same for `testset`.
    #[schema(value_type = Option<Object>)]
    pub testset: RawJson<'a>,
    /// The number of examples in each set.
    #[schema(value_type = OptimizationExamples)]
    pub examples: RawJson<'a>,
    /// The limits of the optimization.
    #[schema(value_type = OptimizationBudget)]
    pub budget: RawJson<'a>,
    /// `never` or `if_better`.
    #[schema(value_type = String)]
    pub activate: RawJson<'a>,
    /// The seed of all random choices.
    #[schema(value_type = u64)]
    pub seed: RawJson<'a>,
    /// Rollouts that run at the same time.
    #[schema(value_type = u32)]
    pub concurrency: RawJson<'a>,
    /// The share of examples that may stay without a score; null if an older server accepted the optimization.
    #[schema(value_type = Option<f64>)]
    pub max_unmeasured: RawJson<'a>,
    /// The alias of the model that writes proposals.
    #[schema(value_type = Option<String>)]
    pub prompt_model: RawJson<'a>,
    /// The time limit of the graph for one example; null for the limit of the server.
    #[schema(value_type = Option<u64>)]
    pub timeout_ms: RawJson<'a>,
    /// `queued`, `running`, `succeeded` (also if the budget was spent before the optimizer
    /// finished), `failed` or `cancelled`.
    pub status: &'a str,
    /// Calls, tokens and cost of all attempts so far.
    pub usage: UsageView,
    /// Seconds of work so far.
    pub seconds: f64,
    /// The number of candidates so far.
    #[schema(value_type = u32)]
    pub candidates: i64,
    /// The result of the optimization; null before its end, absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<OptimizationResult>)]
    pub result: Option<RawJson<'a>>,
    /// The state version that the result was stored as; null if the result is another graph, or if
    /// nothing better was found.
    pub found_state_version: Option<i32>,
    /// Whether the result was activated; null before the end.
    #[schema(value_type = Option<OptimizationActivation>)]
    pub activation: Option<RawJson<'a>>,
    /// The reason why the optimization failed.
    pub error: Option<ProblemView<'a>>,
    /// The time when the optimization was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when the optimization started.
    #[serde(serialize_with = "timestamp_or_null")]
    pub started_at: Option<DateTime<Utc>>,
    /// The time when the optimization ended.
    #[serde(serialize_with = "timestamp_or_null")]
    pub finished_at: Option<DateTime<Utc>>,
    /// Related resources.
    pub links: OptimizationLinksView,
}

impl<'a> OptimizationView<'a> {
    /// An optimization in a list: without its result.
    pub(crate) fn listed(row: &'a OptimizationRow) -> Self {
        let request: StoredRequest<'a> = serde_json::from_str(&row.request).unwrap_or_default();
        Self {
            id: row.id,
            graph: &row.graph_name,
            version: row.graph_version,
            state_version: row.state_version,
            optimizer: &row.optimizer,
            config: request.config,
            metric: request.metric,
            trainset: request.trainset,
            valset: request.valset,
            testset: request.testset,
            examples: request.examples,
            budget: request.budget,
            activate: request.activate,
            seed: request.seed,
            concurrency: request.concurrency,
            max_unmeasured: request.max_unmeasured,
            prompt_model: request.prompt_model,
            timeout_ms: request.timeout_ms,
            status: row.status.as_str(),
            usage: (&row.spent).into(),
            seconds: row.seconds,
            candidates: row.candidates,
            result: None,
            found_state_version: row.found_state,
            activation: row.activated.as_ref().map(RawJson::from),
            error: row.error.as_deref().map(ProblemView::recorded),
            created_at: row.created_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
            links: row.into(),
        }
    }
}

impl<'a> From<&'a OptimizationRow> for OptimizationView<'a> {
    fn from(row: &'a OptimizationRow) -> Self {
        let result = row.result.as_ref().map_or(RawJson::NULL, RawJson::from);
        Self { result: Some(result), ..Self::listed(row) }
    }
}

impl OptimizationView<'static> {
    fn example() -> Self {
        let links = OptimizationLinksView::new(example::ID, example::ID, Some(2));
        Self {
            id: example::ID,
            graph: "support-reply",
            version: 1,
            state_version: 1,
            optimizer: "labeled_few_shot",
            config: r#"{"k":4}"#.into(),
            metric: r#"{"exact":{"field":"mood"}}"#.into(),
            trainset: example::raw(&super::PickedDatasetView::example()),
            valset: RawJson::NULL,
            testset: RawJson::NULL,
            examples: r#"{"train":16,"val":8,"held_out":8}"#.into(),
            budget: r#"{"lm_calls":200,"tokens":null,"cost":null,"seconds":null}"#.into(),
            activate: r#""if_better""#.into(),
            seed: "7".into(),
            concurrency: "8".into(),
            max_unmeasured: "0.05".into(),
            prompt_model: RawJson::NULL,
            timeout_ms: RawJson::NULL,
            status: "succeeded",
            usage: UsageView::example(),
            seconds: 3.5,
            candidates: 2,
            result: Some(RESULT.into()),
            found_state_version: Some(2),
            activation: Some(ACTIVATION.into()),
            error: None,
            created_at: example::time(0),
            started_at: Some(example::time(1)),
            finished_at: Some(example::time(5)),
            links,
        }
    }
}

/// The stored request of an optimization.
#[derive(Default, Deserialize)]
struct StoredRequest<'a> {
    #[serde(borrow)]
    config: RawJson<'a>,
    metric: RawJson<'a>,
    trainset: RawJson<'a>,
    valset: RawJson<'a>,
    testset: RawJson<'a>,
    examples: RawJson<'a>,
    budget: RawJson<'a>,
    activate: RawJson<'a>,
    seed: RawJson<'a>,
    concurrency: RawJson<'a>,
    #[serde(default)]
    max_unmeasured: RawJson<'a>,
    prompt_model: RawJson<'a>,
    timeout_ms: RawJson<'a>,
}

/// The number of examples in each set. No example is in two sets.
#[derive(ToSchema)]
pub struct OptimizationExamples {
    /// Examples that demos and reflections come from.
    pub train: u32,
    /// Examples that candidates are chosen by.
    pub val: u32,
    /// Examples that the result is measured on.
    pub held_out: u32,
}

/// The resources related to an optimization.
#[derive(Serialize, ToSchema)]
#[schema(as = OptimizationLinks)]
pub struct OptimizationLinksView {
    /// The optimization.
    #[serde(rename = "self")]
    pub own: String,
    /// The events of the optimization.
    pub events: String,
    /// The candidates of the optimization.
    pub candidates: String,
    /// The graph.
    pub graph: String,
    /// The state version that the result was stored as.
    pub state: Option<String>,
}

impl OptimizationLinksView {
    fn new(id: Uuid, graph: Uuid, state: Option<i32>) -> Self {
        let (own, graph) = (format!("/v1/optimizations/{id}"), format!("/v1/graphs/{graph}"));
        Self {
            events: format!("{own}/events"),
            candidates: format!("{own}/candidates"),
            state: state.map(|state| format!("{graph}/state/versions/{state}")),
            own,
            graph,
        }
    }
}

impl From<&OptimizationRow> for OptimizationLinksView {
    fn from(row: &OptimizationRow) -> Self {
        Self::new(row.id, row.graph_id, row.found_state)
    }
}

/// A server-sent event of an optimization: `optimization.started`, `optimization.phase` (`{phase}`),
/// `optimization.candidate` (`{number, parents, origin}`), `optimization.scored` (`{number, full,
/// best, scored}`), `optimization.progress` (`{done, of, usage}`), then `optimization.completed`,
/// `optimization.failed` or `optimization.cancelled`; and `gap` (`{from, to}`: events that are no
/// longer available). `id` increases by one. The server sends a comment at least every 15 s.
#[derive(ToSchema)]
pub struct OptimizationEvents {
    /// The id, a number.
    pub id: Option<String>,
    /// The kind.
    pub event: String,
    /// A JSON document without line breaks.
    pub data: String,
}

/// A page of optimizations.
pub type OptimizationPage = PageView<OptimizationView<'static>>;
