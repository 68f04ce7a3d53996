//! What happened in a run, span by span, as the OpenAPI document tells it.

use chrono::{DateTime, Utc};
use utoipa::ToSchema;

use super::{Json, UsageView};
use crate::http::protocol::problem_view::LeniencyView;

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
    /// `node`, `attempt` (one of several tries of a strategy at the same inputs), `element` (the work
    /// of `map` on one element), `predictor`, `lm`, `embedding` (vectors of a call's inputs: `outputs`
    /// are the demos that were chosen by them, with their places among all and their likeness, in the
    /// order of the prompt) or `tool`.
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
    /// The calls of tools that the LM asked for beside its text.
    pub tool_calls: Option<Vec<ToolCall>>,
    /// The model that answered, or made the vectors.
    pub model: Option<String>,
    /// Which try this is, from 1: of an LM request, or of an attempt within its strategy; of an
    /// element, which one.
    pub attempt: Option<u32>,
    /// Whether the answer is one that was kept of the same request (`cache_bytes` of the model), or
    /// what a node gave for the same inputs in another run of its batch (`dedupe`): it costs nothing.
    /// Absent where it is not.
    pub cached: Option<bool>,
    /// How long the request stood in line before it was sent, if it had to: LM requests are limited,
    /// and runs take turns.
    pub queued_ms: Option<i64>,
    /// How good an attempt was found to be.
    pub reward: Option<f64>,
    /// How the answer was constrained, where the model is to be: `gbnf`, `json_schema`, or `refused`
    /// when its server has refused that and the request went without.
    pub constraint: Option<String>,
    /// What it used.
    pub usage: Option<UsageView>,
    /// The leniencies of the parser.
    pub parse_report: Option<Vec<LeniencyView>>,
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

/// One turn of a conversation.
#[derive(ToSchema)]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// What is said.
    pub content: String,
    /// The calls of tools that an assistant asks for.
    pub tool_calls: Option<Vec<ToolCall>>,
    /// The call that a tool's turn is the result of.
    pub tool_call_id: Option<String>,
}

/// A call of a tool that an LM asks for.
#[derive(ToSchema)]
pub struct ToolCall {
    /// What the provider calls it.
    pub id: String,
    /// `function`.
    pub r#type: String,
    /// The tool and its arguments.
    pub function: ToolCallFunction,
}

/// A tool and the arguments to call it with.
#[derive(ToSchema)]
pub struct ToolCallFunction {
    /// The tool's name.
    pub name: String,
    /// The arguments as the LM wrote them: JSON, if all is well.
    pub arguments: String,
}
