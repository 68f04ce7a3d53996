//! The shapes of requests and answers as the OpenAPI document tells them. Requests are read by the
//! collecting reader and answers are written as text, so these structs only describe; the test of
//! every example keeps them honest.

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

/// Any JSON value.
pub type Json = Value;

/// What went wrong (RFC 9457).
#[derive(ToSchema)]
pub struct Problem {
    /// A URI of the code.
    pub r#type: String,
    /// A short title, the same for every problem of the code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened, for a person.
    pub detail: String,
    /// Stable and machine-readable.
    pub code: String,
    /// All problems found in the body.
    pub errors: Vec<ProblemItem>,
    /// The request's id, as in `X-Request-Id`.
    pub request_id: String,
    /// The run that failed.
    pub run_id: Option<Uuid>,
    /// The node that failed.
    pub node: Option<String>,
    /// The predictor that failed.
    pub predictor: Option<String>,
    /// What the LM answered, to the letter.
    pub raw: Option<String>,
}

/// One thing that is wrong with a body.
#[derive(ToSchema)]
pub struct ProblemItem {
    /// JSON Pointer into the request body.
    pub pointer: String,
    /// Stable and machine-readable.
    pub code: String,
    /// Names the thing and the way out.
    pub detail: String,
}

/// A graph as it is posted. What is left out is inferred.
#[derive(ToSchema)]
pub struct GraphDefinition {
    /// `[a-z][a-z0-9_-]{0,62}`.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Classes, enums and JSON Schemas by name.
    #[schema(value_type = Option<Object>)]
    pub types: Option<Json>,
    /// A type or a field by name.
    #[schema(value_type = Option<Object>)]
    pub inputs: Option<Json>,
    /// Nodes by name.
    pub nodes: IndexMap<String, Node>,
    /// Who feeds whom.
    pub edges: Option<Vec<Edge>>,
    /// A selection by name.
    pub outputs: Option<IndexMap<String, String>>,
}

/// One node of a graph.
#[derive(ToSchema)]
pub struct Node {
    /// A strategy of the registry.
    pub strategy: String,
    /// A signature in one of its three spellings.
    #[schema(value_type = Object)]
    pub signature: Json,
    /// As the strategy's config schema says.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Json>,
    /// Which model, and how.
    pub lm: Option<LmSettings>,
    /// The whole node, retries included.
    pub timeout_ms: Option<u64>,
    /// Repeats of one LM request that failed in passing.
    pub retries: Option<u32>,
    /// Times the LM is asked again after an answer that does not fit.
    pub parse_retries: Option<u32>,
}

/// Which model to ask, and how.
#[derive(ToSchema)]
pub struct LmSettings {
    /// A configured alias.
    pub model: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The most tokens to answer with.
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling seed.
    pub seed: Option<i64>,
    /// Texts at which the answer ends.
    pub stop: Option<Vec<String>>,
}

/// One edge of a graph.
#[derive(ToSchema)]
pub struct Edge {
    /// `node.field` or a deeper selection; `input.field` for the graph's inputs.
    pub from: String,
    /// `node.field`.
    pub to: String,
}

/// A graph: its resolved definition, and what is read-only.
#[derive(ToSchema)]
pub struct Graph {
    /// The definition's members.
    #[schema(inline)]
    #[serde(flatten)]
    pub definition: GraphDefinition,
    /// Its id.
    pub id: Uuid,
    /// This version.
    pub version: i32,
    /// The state version in force for it.
    pub state_version: i32,
    /// SHA-256 of the canonical definition.
    pub content_hash: String,
    /// When the graph was made.
    pub created_at: DateTime<Utc>,
    /// When this version was made.
    pub updated_at: DateTime<Utc>,
}

/// A graph after a PUT, with what became of its state.
#[derive(ToSchema)]
pub struct PutGraph {
    /// The graph.
    #[serde(flatten)]
    pub graph: Graph,
    /// What carried over.
    pub state: CarriedState,
}

/// What became of the predictor state.
#[derive(ToSchema)]
pub struct CarriedState {
    /// Paths that carried over.
    pub carried: Vec<String>,
    /// Paths that did not.
    pub dropped: Vec<DroppedPath>,
}

/// A predictor whose state did not carry over.
#[derive(ToSchema)]
pub struct DroppedPath {
    /// Its path.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A definition that is valid.
#[derive(ToSchema)]
pub struct ValidGraph {
    /// Always true; an invalid one is a problem.
    pub valid: bool,
    /// The resolved definition.
    pub graph: GraphDefinition,
}

/// One line of the list of graphs.
#[derive(ToSchema)]
pub struct GraphItem {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its newest version.
    pub version: i32,
    /// The state version in force.
    pub state_version: i32,
    /// When the graph was made.
    pub created_at: DateTime<Utc>,
    /// When its newest version was made.
    pub updated_at: DateTime<Utc>,
}

/// One line of a graph's history.
#[derive(ToSchema)]
pub struct VersionItem {
    /// The version.
    pub version: i32,
    /// What it is for.
    pub description: Option<String>,
    /// The state version in force for it.
    pub state_version: i32,
    /// SHA-256 of the canonical definition.
    pub content_hash: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub created_by: String,
}

/// A page of graphs.
#[derive(ToSchema)]
pub struct GraphPage {
    /// Newest first.
    pub items: Vec<GraphItem>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// A page of versions.
#[derive(ToSchema)]
pub struct VersionPage {
    /// Newest first.
    pub items: Vec<VersionItem>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// What to render.
#[derive(ToSchema)]
pub struct RenderRequest {
    /// The node's inputs.
    #[schema(value_type = Object)]
    pub inputs: Json,
    /// The node.
    pub node: String,
    /// A graph version other than the newest.
    pub version: Option<i32>,
    /// A state version other than the one in force.
    pub state_version: Option<i32>,
}

/// Messages by predictor path.
#[derive(ToSchema)]
pub struct Rendered {
    /// By path.
    pub predictors: IndexMap<String, RenderedMessages>,
}

/// The messages of one predictor.
#[derive(ToSchema)]
pub struct RenderedMessages {
    /// In the order in which they are sent.
    pub messages: Vec<Message>,
}

/// One turn of a conversation.
#[derive(ToSchema)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// What is said.
    pub content: String,
}

/// What to execute.
#[derive(ToSchema)]
pub struct ExecuteBody {
    /// The graph's inputs.
    #[schema(value_type = Object)]
    pub inputs: Json,
    /// A graph version other than the newest.
    pub version: Option<i32>,
    /// A state version other than the one in force.
    pub state_version: Option<i32>,
    /// Whether the answer has the trace.
    pub trace: Option<bool>,
    /// How long the run may take, if less than the server's limit.
    pub timeout_ms: Option<u64>,
}

/// A run.
#[derive(ToSchema)]
pub struct Run {
    /// Its id.
    pub id: Uuid,
    /// The graph's name.
    pub graph: String,
    /// The graph version that ran.
    pub version: i32,
    /// The state version that it ran with.
    pub state_version: i32,
    /// `queued`, `running`, `waiting`, `succeeded`, `failed` or `cancelled`.
    pub status: String,
    /// What it was given, completed.
    #[schema(value_type = Object)]
    pub inputs: Json,
    /// What came out.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<Json>,
    /// The problem it ended with.
    pub error: Option<Problem>,
    /// Calls, tokens and cost.
    pub usage: Usage,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When it started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// From start to end.
    pub duration_ms: Option<i64>,
    /// Each node's outcome, by name.
    pub nodes: IndexMap<String, RunNode>,
    /// What happened; `/execute` answers it with `trace: true` only.
    pub trace: Option<Trace>,
}

/// A run as `/execute` answers it.
#[derive(ToSchema)]
pub struct Executed {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// The same as `id`.
    pub run_id: Uuid,
}

/// Calls, tokens and cost.
#[derive(ToSchema)]
pub struct Usage {
    /// LM requests that were answered.
    pub lm_calls: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Of the tokens read, those from the provider's cache.
    pub cached_tokens: u64,
    /// Null without configured prices.
    pub cost: Option<f64>,
}

/// One node of a run.
#[derive(ToSchema)]
pub struct RunNode {
    /// `pending`, `running`, `succeeded`, `failed`, `skipped`, `cancelled` or `waiting`.
    pub status: String,
    /// When it started.
    pub started_at: Option<DateTime<Utc>>,
    /// How long it took.
    pub duration_ms: Option<i64>,
    /// What it gave.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<Json>,
    /// Why it failed.
    pub error: Option<NodeError>,
}

/// Why a node failed.
#[derive(ToSchema)]
pub struct NodeError {
    /// What happened, for a person.
    pub detail: String,
    /// Stable and machine-readable.
    pub code: String,
    /// The predictor that failed.
    pub predictor: Option<String>,
}

/// What happened in a run.
#[derive(ToSchema)]
pub struct Trace {
    /// In the order in which they started.
    pub spans: Vec<Span>,
}

/// One thing that happened; absent members do not apply.
#[derive(ToSchema)]
pub struct Span {
    /// Counted from 1 within the run.
    pub id: u32,
    /// The span it belongs to.
    pub parent_id: Option<u32>,
    /// `node`, `predictor`, `lm` or `tool`.
    pub kind: String,
    /// What it is called.
    pub name: String,
    /// The node it belongs to.
    pub node: String,
    /// The predictor it belongs to.
    pub predictor: Option<String>,
    /// `succeeded`, `failed` or `cancelled`.
    pub status: String,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// How long it took.
    pub duration_ms: Option<i64>,
    /// What went in.
    #[schema(value_type = Option<Object>)]
    pub inputs: Option<Json>,
    /// What came out.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<Json>,
    /// What was said to the LM.
    pub messages: Option<Vec<Message>>,
    /// What the LM answered, to the letter.
    pub raw: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Which try this is.
    pub attempt: Option<u32>,
    /// What it used.
    pub usage: Option<Usage>,
    /// The leniencies of the parser.
    #[schema(value_type = Option<Vec<Object>>)]
    pub parse_report: Option<Json>,
    /// The outcomes of checks.
    pub checks: Option<Vec<Check>>,
    /// Why it failed.
    pub error: Option<String>,
}

/// The outcome of a check.
#[derive(ToSchema)]
pub struct Check {
    /// The output field.
    pub field: String,
    /// The label, or the expression.
    pub label: String,
    /// Whether it held.
    pub passed: bool,
}

/// One line of the list of runs.
#[derive(ToSchema)]
pub struct RunItem {
    /// Its id.
    pub id: Uuid,
    /// The graph's name.
    pub graph: String,
    /// The graph version that ran.
    pub version: i32,
    /// The state version that it ran with.
    pub state_version: i32,
    /// Where it stands.
    pub status: String,
    /// The problem it ended with.
    pub error: Option<Problem>,
    /// Calls, tokens and cost.
    pub usage: Usage,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When it started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// From start to end.
    pub duration_ms: Option<i64>,
}

/// A page of runs.
#[derive(ToSchema)]
pub struct RunPage {
    /// Newest first.
    pub items: Vec<RunItem>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// What is tuned in one predictor.
#[derive(ToSchema)]
pub struct PredictorState {
    /// Null means the signature's own.
    pub instruction: Option<String>,
    /// Worked examples.
    pub demos: Option<Vec<Demo>>,
    /// LM settings that stand over the node's.
    pub lm: Option<LmSettings>,
}

/// A worked example.
#[derive(ToSchema)]
pub struct Demo {
    /// Inputs by field.
    #[schema(value_type = Object)]
    pub input: Json,
    /// Outputs by field.
    #[schema(value_type = Object)]
    pub output: Json,
}

/// A predictor state to put in force.
#[derive(ToSchema)]
pub struct PutState {
    /// By path; paths left out go back to their defaults.
    pub predictors: IndexMap<String, PredictorState>,
}

/// One predictor's member of a state.
#[derive(ToSchema)]
pub struct ShownPredictorState {
    /// What is tuned.
    #[serde(flatten)]
    pub state: PredictorState,
    /// The instruction that calls use.
    pub effective_instruction: String,
}

/// A predictor state.
#[derive(ToSchema)]
pub struct State {
    /// Its number within the graph.
    pub version: i32,
    /// The graph version that it fits.
    pub graph_version: i32,
    /// Every predictor by path.
    pub predictors: IndexMap<String, ShownPredictorState>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub created_by: String,
    /// The state it was made from.
    pub parent: Option<i32>,
    /// What an optimizer measured.
    pub score: Option<f64>,
}

/// One line of a graph's state history.
#[derive(ToSchema)]
pub struct StateItem {
    /// Its number within the graph.
    pub version: i32,
    /// The graph version that it fits.
    pub graph_version: i32,
    /// Whether it is in force for that graph version.
    pub in_force: bool,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub created_by: String,
    /// The state it was made from.
    pub parent: Option<i32>,
    /// What an optimizer measured.
    pub score: Option<f64>,
}

/// A page of state versions.
#[derive(ToSchema)]
pub struct StatePage {
    /// Newest first.
    pub items: Vec<StateItem>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// A predictor of a graph.
#[derive(ToSchema)]
pub struct Predictor {
    /// Its path: the node's name, then the strategy's own path.
    pub path: String,
    /// The node.
    pub node: String,
    /// Its fields, those that its strategy adds included.
    pub schema: Signature,
    /// What is tuned, and the instruction that calls use.
    #[serde(flatten)]
    pub state: ShownPredictorState,
}

/// A page of predictors.
#[derive(ToSchema)]
pub struct PredictorPage {
    /// In the graph's order.
    pub items: Vec<Predictor>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// A signature in its canonical spelling.
#[derive(ToSchema)]
pub struct Signature {
    /// What the LM is told to do.
    pub instructions: String,
    /// Inputs, in order.
    pub inputs: Vec<Field>,
    /// Outputs, in order.
    pub outputs: Vec<Field>,
}

/// One field of a signature.
#[derive(ToSchema)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// A type expression.
    pub r#type: String,
    /// What it stands for.
    pub description: Option<String>,
    /// The name that the LM sees instead.
    pub alias: Option<String>,
    /// `json`, `yaml` or `text`.
    pub format: Option<String>,
    /// The value it takes when it is not given.
    #[schema(value_type = Option<Object>)]
    pub default: Option<Json>,
    /// `assert` or `check` expressions.
    #[schema(value_type = Option<Vec<Object>>)]
    pub constraints: Option<Json>,
    /// Whether the parser may use no leniency.
    pub strict: Option<bool>,
}

/// A strategy of the registry.
#[derive(ToSchema)]
pub struct Strategy {
    /// The name that nodes use.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON Schema of its config.
    #[schema(value_type = Object)]
    pub config_schema: Json,
    /// Whether running it calls an LM.
    pub calls_lm: bool,
    /// The paths of its predictors.
    pub predictors: Vec<String>,
}

/// A page of strategies.
#[derive(ToSchema)]
pub struct StrategyPage {
    /// By name.
    pub items: Vec<Strategy>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// What to preview.
#[derive(ToSchema)]
pub struct PreviewRequest {
    /// A signature in one of its three spellings.
    #[schema(value_type = Object)]
    pub signature: Json,
    /// What the signature may name.
    #[schema(value_type = Option<Object>)]
    pub types: Option<Json>,
    /// As the strategy's config schema says.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Json>,
}

/// What a strategy makes of a signature.
#[derive(ToSchema)]
pub struct PreviewAnswer {
    /// The transformed signature.
    pub schema: Signature,
    /// Each predictor inside, by path.
    pub predictors: IndexMap<String, PreviewedPredictor>,
}

/// One predictor of a preview.
#[derive(ToSchema)]
pub struct PreviewedPredictor {
    /// Its own signature.
    pub schema: Signature,
    /// Its system prompt.
    pub system: String,
}

/// A configured model.
#[derive(ToSchema)]
pub struct Model {
    /// The alias that nodes use.
    pub name: String,
    /// The protocol of its endpoint.
    pub provider: String,
    /// The provider's name for it.
    pub model: String,
    /// Whether the alias `default` stands for it.
    pub default: bool,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The most tokens to answer with.
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling seed.
    pub seed: Option<i64>,
    /// What the endpoint can do beyond plain chat.
    pub capabilities: Vec<String>,
}

/// A page of models.
#[derive(ToSchema)]
pub struct ModelPage {
    /// In configured order.
    pub items: Vec<Model>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// Two types to compare.
#[derive(ToSchema)]
pub struct AssignableRequest {
    /// A type expression or a JSON Schema object.
    #[schema(value_type = Object)]
    pub from: Json,
    /// A type expression or a JSON Schema object.
    #[schema(value_type = Object)]
    pub to: Json,
    /// What they may name.
    #[schema(value_type = Option<Object>)]
    pub types: Option<Json>,
}

/// Whether one type may flow into another.
#[derive(ToSchema)]
pub struct AssignableAnswer {
    /// Whether.
    pub assignable: bool,
    /// The source, canonically.
    pub from: String,
    /// The target, canonically.
    pub to: String,
    /// Where they part.
    pub path: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// The process is up.
#[derive(ToSchema)]
pub struct Health {
    /// `ok`.
    pub status: String,
}

/// The server takes work.
#[derive(ToSchema)]
pub struct Ready {
    /// `ready`.
    pub status: String,
    /// `up`.
    pub database: String,
    /// `applied`.
    pub migrations: String,
}
