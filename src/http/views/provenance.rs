//! Where outputs of a run came from, as the OpenAPI document tells it.

use indexmap::IndexMap;
use utoipa::ToSchema;

use super::Json;

/// Where the outputs of a run came from.
#[derive(ToSchema)]
pub struct Provenance {
    /// By output; none while the run has no outputs.
    pub outputs: IndexMap<String, Lineage>,
    /// Outputs of which it would take too long to tell, by name.
    pub omitted: Vec<String>,
}

/// Where one value came from.
#[derive(ToSchema)]
pub struct Lineage {
    /// `text`, `fstring`, `response` (of an LM), `structured`, `int`, `float`, `error`,
    /// `tool_result`, `binary`, `bool`, `null`, `list`, `tuple` or `other`.
    pub kind: String,
    /// What made it: `node.field`, and deeper if need be, or `input:name`.
    pub r#ref: String,
    /// What is known of it.
    pub meta: ValueMeta,
    /// What it was made of directly, as references.
    pub sources: Vec<String>,
    /// Every node that had a part in it, those of graphs within (`node.inner`) too.
    pub nodes: Vec<String>,
    /// Every part of the inputs that it depends on, as references.
    pub inputs: Vec<String>,
    /// The predictors whose calls it came from.
    pub parameters: Vec<UsedParameter>,
    /// The LM calls that were answered on the way: ids of spans of the trace.
    pub lm_calls: Vec<u32>,
    /// The same of its fields, where they came in different ways; absent where they did not.
    #[schema(value_type = Option<Object>)]
    pub fields: Option<Json>,
}

/// What is known of a value; absent members are not.
#[derive(ToSchema)]
pub struct ValueMeta {
    /// The model that answered, where it was one.
    pub model: Option<String>,
    /// Tokens that its node read to make it.
    pub input_tokens: Option<u64>,
    /// Tokens that its node wrote to make it.
    pub output_tokens: Option<u64>,
    /// What its node paid to make it.
    pub cost: Option<f64>,
    /// Its type.
    pub schema: Option<String>,
    /// The strategy of the node that made it.
    pub source: Option<String>,
    /// The node that made it.
    pub node_id: Option<String>,
}

/// A predictor's state as it was.
#[derive(ToSchema)]
pub struct UsedParameter {
    /// The predictor's path.
    pub path: String,
    /// The state version that it had; null for predictors of what a tool or a reward names.
    pub state_version: Option<i32>,
    /// The stored graph whose state version that is, where it is a node of this one and the run's
    /// own state says nothing of the predictor.
    pub graph: Option<String>,
    /// Names path and content: the same wherever that content stands, another when it changes.
    pub param_id: Option<String>,
}
