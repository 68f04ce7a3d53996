//! The definition of a graph: its nodes and edges, as requests and documents have it.

use indexmap::IndexMap;
use utoipa::ToSchema;

use super::{Json, SignatureNotation, TypeDefinitions};

/// The definition of a graph. What is left out is inferred.
#[derive(ToSchema)]
pub struct GraphDefinition {
    /// `[a-z][a-z0-9_-]{0,62}`.
    pub name: String,
    /// A description of the graph.
    pub description: Option<String>,
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

/// One node of a graph.
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
    /// How often to repeat an LM request after a transient failure.
    pub retries: Option<u32>,
    /// How often to repeat an LM call after an answer that cannot be parsed.
    pub parse_retries: Option<u32>,
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
}

/// One edge of a graph.
#[derive(ToSchema)]
#[schema(as = Edge)]
pub struct EdgeView {
    /// `node.field` or a deeper selection; `input.field` for the graph's inputs.
    pub from: String,
    /// `node.field`.
    pub to: String,
}
