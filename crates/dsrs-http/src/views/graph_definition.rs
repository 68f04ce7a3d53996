//! The definition of a graph: its nodes and edges, as requests and documents have it.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use utoipa::ToSchema;

use super::model::ReasoningEffortView;
use super::{Json, SignatureNotation, TypeDefinitions};

/// The definition of a graph. What is left out is inferred.
#[derive(ToSchema)]
pub struct GraphDefinition {
    /// `[a-z][a-z0-9_-]{0,62}`.
    pub name: String,
    /// A description of the graph.
    pub description: Option<String>,
    /// The ways in which clients of other protocols reach the graph.
    pub expose: Option<ExposureView>,
    /// Classes, enums and JSON Schemas by name.
    #[schema(value_type = Option<TypeDefinitions>)]
    pub types: Option<Json>,
    /// A type or a field by name.
    #[schema(value_type = Option<Object>)]
    pub inputs: Option<Json>,
    /// Nodes by name.
    pub nodes: IndexMap<String, NodeView>,
    /// The connections between nodes.
    pub edges: Option<Vec<EdgeView>>,
    /// A selection by name.
    pub outputs: Option<IndexMap<String, String>>,
}

/// The ways in which clients of other protocols reach a graph.
#[derive(ToSchema)]
#[schema(as = Exposure)]
#[serde(deny_unknown_fields)]
pub struct ExposureView {
    /// As a chat model for clients of OpenAI's API. Left out, the graph is one if it fits.
    pub openai: Option<ChatExposureView>,
    /// As a tool of the MCP server. Left out, the graph is none.
    pub mcp: Option<ToolExposureView>,
}

/// Whether a graph is a chat model, or with which parts.
#[derive(ToSchema)]
#[schema(as = ChatExposure)]
#[serde(untagged)]
pub enum ChatExposureView {
    /// Whether it is one.
    Switch(bool),
    /// The name and the parts.
    Model(ChatMappingView),
}

/// The name and the parts of a chat model.
#[derive(ToSchema)]
#[schema(as = ChatMapping)]
#[serde(deny_unknown_fields)]
pub struct ChatMappingView {
    /// The name of the model. Default: the name of the graph.
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9_.:/-]+$")]
    pub model: Option<String>,
    /// The input that gets the text of the last message of the user, or the whole conversation if its type is that of
    /// one. All other inputs need defaults.
    pub input: Option<String>,
    /// The output that is the answer.
    pub output: Option<String>,
}

/// Whether a graph is a tool, or under which name.
#[derive(ToSchema)]
#[schema(as = ToolExposure)]
#[serde(untagged)]
pub enum ToolExposureView {
    /// Whether it is one.
    Switch(bool),
    /// The name and the description.
    Tool(ToolNamesView),
}

/// The name and the description of a tool.
#[derive(ToSchema)]
#[schema(as = ToolNames)]
#[serde(deny_unknown_fields)]
pub struct ToolNamesView {
    /// The name of the tool. Default: the name of the graph.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    pub name: Option<String>,
    /// The description of the tool, for models. Default: the description of the graph.
    #[schema(max_length = 4096)]
    pub description: Option<String>,
}

/// A node of a graph.
#[derive(ToSchema)]
#[schema(as = Node)]
pub struct NodeView {
    /// The name of a strategy.
    pub strategy: String,
    /// The signature. Ops have none, because their types are inferred; strategies with a signature of
    /// their own need none.
    #[schema(value_type = Option<SignatureNotation>)]
    pub signature: Option<Json>,
    /// The config, according to the strategy's config schema.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Json>,
    /// The model and its settings.
    pub lm: Option<LmSettings>,
    /// The time limit of the node, including retries.
    pub timeout_ms: Option<u64>,
    /// The number of times to repeat an LM request after a transient failure.
    pub retries: Option<u32>,
    /// The number of times to repeat an LM call after an answer that cannot be parsed.
    pub parse_retries: Option<u32>,
    /// The paths that predictors of the node have in the files of a DSPy program, by their paths
    /// within the node: `{"": "steps[0]"}`. Default: the same paths as here.
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    pub dspy_paths: Option<Json>,
}

/// A model and its settings.
#[derive(ToSchema)]
pub struct LmSettings {
    /// A configured alias.
    pub model: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The maximum number of tokens of an answer.
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling seed.
    pub seed: Option<i64>,
    /// Texts that end the answer.
    pub stop: Option<Vec<String>>,
    /// The effort of a reasoning model before it answers: `none`, `minimal`, `low`, `medium`, `high`,
    /// `xhigh`, `max`, or a number of tokens.
    pub reasoning_effort: Option<ReasoningEffortView>,
    /// The provider's name of the class of service, such as `flex`.
    pub service_tier: Option<String>,
    /// The treatment of an answer that a limit of tokens cuts within an output: `fail` (the default) fails the node
    /// with `answer_incomplete`; `accept` uses what arrived if it fits, with a note in the report; `continue` asks
    /// for the rest, up to four times.
    pub on_length: Option<OnLengthView>,
    /// Further members of the request to the endpoint, for features that have no setting. They cannot
    /// replace members that the server writes.
    #[schema(value_type = Option<Object>, additional_properties)]
    pub extra_body: Option<Json>,
    /// Further headers of the request to the endpoint. They cannot replace headers that the server writes.
    pub extra_headers: Option<BTreeMap<String, String>>,
}

/// The treatment of an answer that a limit of tokens cuts within an output.
#[derive(ToSchema)]
#[schema(as = OnLength, rename_all = "lowercase")]
pub enum OnLengthView {
    /// The node fails.
    Fail,
    /// What arrived is used if it fits.
    Accept,
    /// The model is asked for the rest.
    Continue,
}

/// An edge of a graph.
#[derive(ToSchema)]
#[schema(as = Edge)]
pub struct EdgeView {
    /// `node.field` or a deeper selection; `input.field` for the graph's inputs.
    pub from: String,
    /// `node.field`.
    pub to: String,
}
