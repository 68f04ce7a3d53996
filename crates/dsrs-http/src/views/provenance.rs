//! The provenance of the outputs of a run. It is built as text; these types only describe it.

use indexmap::IndexMap;
use utoipa::ToSchema;

use super::Json;

/// The provenance of the outputs of a run.
#[derive(ToSchema)]
#[schema(as = Provenance)]
pub struct ProvenanceView {
    /// Lineages by output; empty while the run has no outputs.
    pub outputs: IndexMap<String, LineageView>,
    /// Outputs whose lineage would take too long to compute, by name.
    pub omitted: Vec<String>,
}

/// The lineage of one value.
#[derive(ToSchema)]
#[schema(as = Lineage)]
pub struct LineageView {
    /// `text`, `fstring`, `response` (of an LM), `structured`, `int`, `float`, `error`,
    /// `tool_result`, `binary`, `bool`, `null`, `list`, `tuple` or `other`.
    pub kind: String,
    /// The origin: `node.field` or a part of it, or `input:name`.
    pub r#ref: String,
    /// Metadata of the value.
    pub meta: ValueMeta,
    /// The direct sources of the value, as references.
    pub sources: Vec<String>,
    /// Every node that contributed, including nodes of nested graphs (`node.inner`).
    pub nodes: Vec<String>,
    /// Every part of the inputs that it depends on, as references.
    pub inputs: Vec<String>,
    /// The predictors whose calls contributed.
    pub parameters: Vec<UsedParameter>,
    /// The answered LM calls that contributed: ids of spans of the trace.
    pub lm_calls: Vec<u32>,
    /// The calls of tools that contributed: ids of spans of the trace. The passages that a search found are its result.
    pub tool_calls: Vec<u32>,
    /// The lineages of its fields; absent if they do not differ.
    #[schema(value_type = Option<Object>)]
    pub fields: Option<Json>,
}

/// Metadata of a value; absent members are unknown.
#[derive(ToSchema)]
pub struct ValueMeta {
    /// The model that answered.
    pub model: Option<String>,
    /// Input tokens of its node.
    pub input_tokens: Option<u64>,
    /// Output tokens of its node.
    pub output_tokens: Option<u64>,
    /// The cost of its node.
    pub cost: Option<f64>,
    /// The type of the value.
    pub schema: Option<String>,
    /// The strategy of its node.
    pub source: Option<String>,
    /// The node that produced it.
    pub node_id: Option<String>,
}

/// The state of a predictor at the time of a call.
#[derive(ToSchema)]
pub struct UsedParameter {
    /// The path of the predictor.
    pub path: String,
    /// The state version; null for predictors inside a tool or a reward.
    pub state_version: Option<i32>,
    /// The stored graph to which the state version belongs, if the predictor is in a nested graph
    /// and the state of the run does not include it.
    pub graph: Option<String>,
    /// Identifies path and content: equal for the same content everywhere, different after a change.
    pub param_id: Option<String>,
}
