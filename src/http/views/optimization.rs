//! Optimizations and their candidates. The result of an optimization is stored as text: its types
//! only describe it.

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::time::{timestamp, timestamp_or_null};
use super::{Json, Page, PredictorDiff, PredictorState, RawJson, UsageView, example};
use crate::http::protocol::problem_view::ProblemView;
use crate::store::optimization::OptimizationRow;
use crate::store::optimization_candidate::CandidateRow;

/// What to optimize, and how.
#[derive(ToSchema)]
pub struct OptimizationBody {
    /// The name of the optimizer.
    pub optimizer: String,
    /// The examples that demos and reflections come from: the name of a dataset, or
    /// `{dataset, version?, split?, seed?, fractions?, limit?}`.
    #[schema(value_type = Object)]
    pub trainset: Json,
    /// The examples that candidates are chosen by.
    #[schema(value_type = Option<Object>)]
    pub valset: Option<Json>,
    /// The examples that only the result is measured on.
    #[schema(value_type = Option<Object>)]
    pub testset: Option<Json>,
    /// The metric: its name, or `{name: options}`.
    #[schema(value_type = Object)]
    pub metric: Json,
    /// The config of the optimizer; `/v1/optimizers/{name}` has its JSON Schema.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Json>,
    /// What the optimization may spend. Default: no limits.
    pub budget: Option<OptimizationBudget>,
    /// `never`, or `if_better`: the result becomes active if the confidence interval of its gain on
    /// the held-out examples is above 0. Default: `never`.
    pub activate: Option<String>,
    /// The seed of all random choices. Default: 0.
    pub seed: Option<u64>,
    /// Rollouts that run at the same time. Default, and maximum: the limit of the server.
    pub concurrency: Option<u32>,
    /// The alias of the model that writes proposals. Default: `default`.
    pub prompt_model: Option<String>,
    /// The time limit of the graph for one example. Default, and maximum: the limit of the server.
    pub timeout_ms: Option<u64>,
    /// A version of the graph. Default: the newest.
    pub version: Option<i32>,
    /// A version of the state. Default: the active version.
    pub state_version: Option<i32>,
}

/// What an optimization may spend over all attempts. Null means no limit.
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
    /// What it may spend.
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
    /// The alias of the model that writes proposals.
    #[schema(value_type = Option<String>)]
    pub prompt_model: RawJson<'a>,
    /// The time limit of the graph for one example; null for the limit of the server.
    #[schema(value_type = Option<u64>)]
    pub timeout_ms: RawJson<'a>,
    /// `queued`, `running`, `succeeded` (also if the budget was spent before the optimizer
    /// finished), `failed` or `cancelled`.
    pub status: &'a str,
    /// What all attempts have used so far.
    pub usage: UsageView,
    /// Seconds of work so far.
    pub seconds: f64,
    /// The number of candidates so far.
    #[schema(value_type = u32)]
    pub candidates: i64,
    /// What the optimization found; null before its end, absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<OptimizationResult>)]
    pub result: Option<RawJson<'a>>,
    /// The state version that the result was stored as; null if the result is another graph, or if
    /// nothing better was found.
    pub found_state_version: Option<i32>,
    /// Whether the result was activated; null before the end.
    #[schema(value_type = Option<OptimizationActivation>)]
    pub activation: Option<RawJson<'a>>,
    /// Why it failed.
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

const RESULT: &str = concat!(
    r#"{"stopped":null,"baseline":{"score":0.5,"n":8},"best":{"candidate":1,"#,
    r#""origin":"labeled demos","score":0.75,"n":8,"val":null,"changes_graph":false},"#,
    r#""comparison":{"n":8,"before":0.5,"after":0.75,"gain":0.25,"low":0.0,"high":0.5,"wins":2,"#,
    r#""ties":6,"losses":0},"diff":null}"#
);

const ACTIVATION: &str = concat!(
    r#"{"activated":false,"reason":"the interval of the gain includes 0","#,
    r#""graph_version":null,"state_version":null}"#
);

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

/// What an optimization found.
#[derive(ToSchema)]
pub struct OptimizationResult {
    /// Why it stopped before the optimizer finished.
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

/// Why an optimization stopped before the optimizer finished.
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
    /// The number of examples.
    pub n: u32,
}

/// The best candidate.
#[derive(ToSchema)]
pub struct OptimizationBest {
    /// The number of the candidate.
    pub candidate: u32,
    /// How it was made.
    pub origin: String,
    /// Its mean score on the held-out examples.
    pub score: Option<f64>,
    /// The number of held-out examples that it was measured on.
    pub n: u32,
    /// Its score on the examples that it was chosen by.
    pub val: Option<CandidateScore>,
    /// Whether it changes the graph.
    pub changes_graph: bool,
}

/// The original program and the best candidate, compared on the held-out examples.
#[derive(ToSchema)]
pub struct OptimizationComparison {
    /// The number of examples.
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
}

/// The changes from one program to another.
#[derive(ToSchema)]
pub struct OptimizationDiff {
    /// Changes of the state, by predictor path.
    pub predictors: IndexMap<String, PredictorDiff>,
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
    /// Why, or why not.
    pub reason: String,
    /// The graph version that it is active for.
    pub graph_version: Option<i32>,
    /// The state version that was activated.
    pub state_version: Option<i32>,
}

/// The resources related to an optimization.
#[derive(Serialize, ToSchema)]
#[schema(as = OptimizationLinks)]
pub struct OptimizationLinksView {
    /// The optimization.
    #[serde(rename = "self")]
    pub own: String,
    /// Its events.
    pub events: String,
    /// Its candidates.
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

/// The score of a candidate on some examples.
#[derive(ToSchema)]
pub struct CandidateScore {
    /// The number of examples.
    pub n: u32,
    /// The mean score.
    pub score: f64,
    /// The value that candidates are compared by: the mean score, minus a penalty for cost if the
    /// optimizer has one.
    pub objective: f64,
    /// The number of failed examples.
    pub failures: u32,
    /// What the program used.
    pub usage: UsageView,
}

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
    /// How it was made.
    #[schema(value_type = String)]
    pub origin: RawJson<'a>,
    /// Its score on all examples that candidates are chosen by; null if it was not tried on all.
    #[schema(value_type = Option<CandidateScore>)]
    pub full: RawJson<'a>,
    /// Its scores on parts of these examples, one for each time it was tried.
    #[schema(value_type = Vec<CandidateScore>)]
    pub partial: RawJson<'a>,
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
}

/// A candidate.
#[derive(Serialize, ToSchema)]
#[schema(as = OptimizationCandidate, examples(json!(OptimizationCandidateView::example())))]
pub struct OptimizationCandidateView<'a> {
    /// The candidate as in the list.
    #[serde(flatten)]
    pub item: OptimizationCandidateItemView<'a>,
    /// Its state, by predictor path.
    #[schema(value_type = IndexMap<String, PredictorState>)]
    pub predictors: RawJson<'a>,
    /// Its graph; null if it is the original graph.
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

/// Server-sent events of an optimization: `optimization.started`, `optimization.phase` (`{phase}`),
/// `optimization.candidate` (`{number, parents, origin}`), `optimization.scored` (`{number, full,
/// best, scored}`), `optimization.progress` (`{done, of, usage}`), then `optimization.completed`,
/// `optimization.failed` or `optimization.cancelled`; and `gap` (`{from, to}`: events that are no
/// longer available). `id` increases by one. The server sends a comment at least every 15 s.
#[derive(ToSchema)]
#[schema(value_type = String)]
pub struct OptimizationEvents(#[allow(dead_code, reason = "only its schema is used")] String);

/// A page of optimizations.
pub type OptimizationPage = Page<OptimizationView<'static>>;

/// A page of candidates.
pub type OptimizationCandidatePage = Page<OptimizationCandidateItemView<'static>>;
