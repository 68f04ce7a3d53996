//! Optimizations, their candidates and optimizers, as the OpenAPI document tells them.

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Json, PredictorDiff, PredictorState, UsageView};
use crate::http::protocol::problem_view::ProblemView;

/// An optimizer.
#[derive(ToSchema)]
pub struct Optimizer {
    /// The name by which it is asked for.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// Whether what it finds may be another graph, not only another state.
    pub changes_graph: bool,
    /// The JSON Schema of its config.
    #[schema(value_type = Object)]
    pub config_schema: Json,
}

/// A page of optimizers.
#[derive(ToSchema)]
pub struct OptimizerPage {
    /// In alphabetical order.
    pub items: Vec<Optimizer>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// What is to be optimized, and how.
#[derive(ToSchema)]
pub struct OptimizationBody {
    /// The optimizer's name.
    pub optimizer: String,
    /// The examples that demos and reflections are taken from: the name of a dataset, or
    /// `{dataset, version?, split?, seed?, fractions?, limit?}`.
    #[schema(value_type = Object)]
    pub trainset: Json,
    /// The examples that candidates are chosen by.
    #[schema(value_type = Option<Object>)]
    pub valset: Option<Json>,
    /// The examples that only the result is measured on.
    #[schema(value_type = Option<Object>)]
    pub testset: Option<Json>,
    /// Who judges: a name, or `{name: options}`.
    #[schema(value_type = Object)]
    pub metric: Json,
    /// The optimizer's config; its schema is at `/v1/optimizers/{name}`.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Json>,
    /// What may be spent; without limits where nothing is said.
    pub budget: Option<OptimizationBudget>,
    /// `never` (if not given), or `if_better`: what is found is put in force when the interval of its
    /// gain on the held-out examples excludes none.
    pub activate: Option<String>,
    /// What all chance comes from; 0 if not given.
    pub seed: Option<u64>,
    /// Rollouts at the same time, if fewer than the server's limit.
    pub concurrency: Option<u32>,
    /// The alias of the model that is asked for proposals; `default` if not given.
    pub prompt_model: Option<String>,
    /// How long the graph may take on an example, if less than the server's limit.
    pub timeout_ms: Option<u64>,
    /// A graph version other than the newest.
    pub version: Option<i32>,
    /// A state version other than the one in force.
    pub state_version: Option<i32>,
}

/// What may be spent, over all attempts. What is null has no limit.
#[derive(ToSchema)]
pub struct OptimizationBudget {
    /// Requests that are sent, those that fail included.
    pub lm_calls: Option<u64>,
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// Money, in the currency of the configured prices.
    pub cost: Option<f64>,
    /// Seconds of work.
    pub seconds: Option<f64>,
}

/// An optimization.
#[derive(ToSchema)]
pub struct Optimization {
    /// Its id.
    pub id: Uuid,
    /// The graph's name.
    pub graph: String,
    /// The graph version that it begins with.
    pub version: i32,
    /// The state version that it begins with.
    pub state_version: i32,
    /// The optimizer's name.
    pub optimizer: String,
    /// The optimizer's config, as it was given.
    #[schema(value_type = Object)]
    pub config: Json,
    /// Who judges, with all that was left unsaid.
    #[schema(value_type = Object)]
    pub metric: Json,
    /// The version of the dataset that `trainset` named, and which part of it.
    #[schema(value_type = Object)]
    pub trainset: Json,
    /// The same of `valset`.
    #[schema(value_type = Option<Object>)]
    pub valset: Option<Json>,
    /// The same of `testset`.
    #[schema(value_type = Option<Object>)]
    pub testset: Option<Json>,
    /// How many examples there are for what.
    pub examples: OptimizationExamples,
    /// What may be spent.
    pub budget: OptimizationBudget,
    /// `never` or `if_better`.
    pub activate: String,
    /// What all chance comes from.
    pub seed: u64,
    /// Rollouts at the same time.
    pub concurrency: u32,
    /// The alias of the model that is asked for proposals.
    pub prompt_model: Option<String>,
    /// How long the graph may take on an example, if less than the server's limit.
    pub timeout_ms: Option<u64>,
    /// `queued`, `running`, `succeeded` (also when the budget was spent before its end), `failed` or
    /// `cancelled`.
    pub status: String,
    /// What was paid for so far, by all attempts.
    pub usage: UsageView,
    /// How long it was worked on so far.
    pub seconds: f64,
    /// How many candidates there are so far.
    pub candidates: u32,
    /// What was found; null before its end, absent in lists.
    pub result: Option<OptimizationResult>,
    /// The state version that was stored of what was found; null where it is another graph, or
    /// nothing better was found.
    pub found_state_version: Option<i32>,
    /// Whether what was found was put in force; null before the end.
    pub activation: Option<OptimizationActivation>,
    /// The problem that it failed with.
    pub error: Option<ProblemView<'static>>,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When work on it began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Where to go from here.
    pub links: OptimizationLinks,
}

/// How many examples there are for what. None is in two sets.
#[derive(ToSchema)]
pub struct OptimizationExamples {
    /// Demos and reflections are taken from these.
    pub train: u32,
    /// Candidates are chosen by these.
    pub val: u32,
    /// The result is measured on these.
    pub held_out: u32,
}

/// What an optimization found.
#[derive(ToSchema)]
pub struct OptimizationResult {
    /// Why it stopped before its end, if it did.
    pub stopped: Option<OptimizationStop>,
    /// How the program as it was did on the held-out examples.
    pub baseline: Option<OptimizationScore>,
    /// The candidate that was chosen; number 0 where nothing better was found.
    pub best: OptimizationBest,
    /// The two side by side; null where there is nothing to compare.
    pub comparison: Option<OptimizationComparison>,
    /// What turns the program as it was into the best; null where they are the same.
    pub diff: Option<OptimizationDiff>,
}

/// Why an optimization stopped before its end.
#[derive(ToSchema)]
pub struct OptimizationStop {
    /// `budget` or `cancelled`.
    pub reason: String,
    /// The limit of the budget that was reached.
    pub limit: Option<String>,
    /// The same for a person.
    pub detail: String,
}

/// A mean of scores.
#[derive(ToSchema)]
pub struct OptimizationScore {
    /// The mean.
    pub score: f64,
    /// Over how many examples.
    pub n: u32,
}

/// The candidate that was chosen.
#[derive(ToSchema)]
pub struct OptimizationBest {
    /// Its number.
    pub candidate: u32,
    /// How it was made.
    pub origin: String,
    /// Its mean score on the held-out examples.
    pub score: Option<f64>,
    /// How many of them it was measured on.
    pub n: u32,
    /// How it did on the examples that it was chosen by.
    pub val: Option<CandidateScore>,
    /// Whether it is another graph.
    pub changes_graph: bool,
}

/// The program as it was and the best, on the held-out examples.
#[derive(ToSchema)]
pub struct OptimizationComparison {
    /// How many examples.
    pub n: u32,
    /// The mean score before.
    pub before: f64,
    /// The mean score after.
    pub after: f64,
    /// The mean of what examples gained.
    pub gain: f64,
    /// The lower end of the 95 % confidence interval of the gain (paired bootstrap).
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Examples that score more than before.
    pub wins: u32,
    /// Examples that score the same.
    pub ties: u32,
    /// Examples that score less.
    pub losses: u32,
}

/// What turns a program into another.
#[derive(ToSchema)]
pub struct OptimizationDiff {
    /// What is different in the state, by predictor path.
    pub predictors: IndexMap<String, PredictorDiff>,
    /// The same to read.
    pub text: String,
    /// What is different in the graph; null where nothing is.
    pub graph: Option<OptimizationGraphDiff>,
}

/// What turns a graph into another.
#[derive(ToSchema)]
pub struct OptimizationGraphDiff {
    /// As edits.
    #[schema(value_type = Vec<Object>)]
    pub edits: Vec<Json>,
    /// The same to read.
    pub text: String,
}

/// Whether what was found was put in force.
#[derive(ToSchema)]
pub struct OptimizationActivation {
    /// Whether it was.
    pub activated: bool,
    /// Why, or why not.
    pub reason: String,
    /// The graph version that it is in force for.
    pub graph_version: Option<i32>,
    /// The state version that was put in force.
    pub state_version: Option<i32>,
}

/// Where to go from an optimization.
#[derive(ToSchema)]
pub struct OptimizationLinks {
    /// The optimization.
    #[serde(rename = "self")]
    pub own: String,
    /// Its events.
    pub events: String,
    /// What was tried.
    pub candidates: String,
    /// The graph.
    pub graph: String,
    /// The state version that was found.
    pub state: Option<String>,
}

/// A page of optimizations.
#[derive(ToSchema)]
pub struct OptimizationPage {
    /// Newest first.
    pub items: Vec<Optimization>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// How a candidate did on some examples.
#[derive(ToSchema)]
pub struct CandidateScore {
    /// How many examples.
    pub n: u32,
    /// The mean of the scores.
    pub score: f64,
    /// What candidates are chosen by: the mean, less what its cost weighs where that counts.
    pub objective: f64,
    /// How many failed.
    pub failures: u32,
    /// What the program used.
    pub usage: UsageView,
}

/// A candidate, in a list.
#[derive(ToSchema)]
pub struct OptimizationCandidateItem {
    /// Counted from 0, which is the program as it was.
    pub number: u32,
    /// The candidates it was made from.
    pub parents: Vec<u32>,
    /// How it was made.
    pub origin: String,
    /// How it did on all examples that candidates are chosen by; null where it was not tried on all.
    pub full: Option<CandidateScore>,
    /// How it did each time that it was tried on some.
    pub partial: Vec<CandidateScore>,
    /// Whether it is another graph.
    pub changes_graph: bool,
}

/// A candidate.
#[derive(ToSchema)]
pub struct OptimizationCandidate {
    /// As in the list.
    #[serde(flatten)]
    pub item: OptimizationCandidateItem,
    /// Its state, by predictor path.
    pub predictors: IndexMap<String, PredictorState>,
    /// Its graph; null where it is the one that the optimization began with.
    #[schema(value_type = Option<Object>)]
    pub definition: Option<Json>,
    /// What turns the program as it was into it.
    pub diff: OptimizationDiff,
}

/// A page of candidates.
#[derive(ToSchema)]
pub struct OptimizationCandidatePage {
    /// In their order.
    pub items: Vec<OptimizationCandidateItem>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// Server-sent events: `optimization.started`, `optimization.phase` (`{phase}`),
/// `optimization.candidate` (`{number, parents, origin}`), `optimization.scored` (`{number, full, best,
/// scored}`), `optimization.progress` (`{done, of, usage}`), then `optimization.completed`,
/// `optimization.failed` or `optimization.cancelled`; and `gap` (`{from, to}`: events that are gone).
/// `id` grows by one; a comment comes at least every 15 s.
#[derive(ToSchema)]
#[schema(value_type = String)]
pub struct OptimizationEvents(#[allow(dead_code, reason = "only its schema is of use")] String);
