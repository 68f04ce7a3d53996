//! The trace of a run, span by span. It is stored as text; these types only describe it.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::example_prompt::{PROMPT, outputs};
use super::{Json, UsageView, example};
use crate::protocol::problem_view::LeniencyView;

/// The trace of a run.
#[derive(ToSchema)]
#[schema(as = Trace)]
pub struct TraceView {
    /// In the order in which they started.
    pub spans: Vec<SpanView>,
}

impl TraceView {
    /// The stored trace of a node with one LM call.
    pub(super) fn example() -> Value {
        let span = |id: u32, kind: &str, name: &str| {
            json!({
                "id": id,
                "kind": kind,
                "name": name,
                "node": "triage",
                "status": "succeeded",
                "started_at": dsrs_app::timestamp(example::time(0)),
                "duration_ms": 1000
            })
        };
        let values = json!({"inputs": example::inputs(), "outputs": outputs()});
        let predictor = json!({"parent_id": 1, "predictor": "triage"});
        let call = json!({
            "parent_id": 2,
            "predictor": "triage",
            "messages": PROMPT.messages,
            "raw": PROMPT.answer,
            "alias": "default",
            "model": "gpt-4o-mini",
            "finish_reason": "stop",
            "attempt": 1,
            "usage": UsageView::example()
        });
        json!({"spans": [
            merged([span(1, "node", "triage"), values.clone()]),
            merged([span(2, "predictor", "triage"), predictor, values]),
            merged([span(3, "lm", "gpt-4o-mini"), call])
        ]})
    }
}

/// One object with the members of several.
fn merged(parts: impl IntoIterator<Item = Value>) -> Value {
    let members = parts.into_iter().filter_map(|part| match part {
        Value::Object(members) => Some(members),
        _ => None,
    });
    Value::Object(members.flatten().collect())
}

/// A step of a run; absent members do not apply.
#[derive(ToSchema)]
#[schema(as = Span)]
pub struct SpanView {
    /// Counted from 1 within the run.
    pub id: u32,
    /// The span that contains it.
    pub parent_id: Option<u32>,
    /// `node`, `attempt` (one of several tries of a strategy at the same inputs), `element` (the work
    /// of `map` on one element), `predictor`, `lm`, `embedding` (the vectors of a call's inputs:
    /// `outputs` are the demos that were chosen by them, with their positions and similarities, in the
    /// order of the prompt) or `tool`.
    pub kind: String,
    /// The name of the node, predictor, model or tool.
    pub name: String,
    /// The node that contains it.
    pub node: String,
    /// The predictor that contains it.
    pub predictor: Option<String>,
    /// `succeeded`, `failed` or `cancelled`.
    pub status: String,
    /// The time when the span started.
    pub started_at: DateTime<Utc>,
    /// The duration of the step, in milliseconds.
    pub duration_ms: Option<i64>,
    /// The inputs of the step.
    #[schema(value_type = Option<Object>)]
    pub inputs: Option<Json>,
    /// The outputs of the step.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<Json>,
    /// The messages to the LM.
    pub messages: Option<Vec<MessageView>>,
    /// The unchanged answer of the LM.
    pub raw: Option<String>,
    /// The tool calls that the LM requested besides its text.
    pub tool_calls: Option<Vec<ToolCallView>>,
    /// The text that the model wrote before its answer, if the provider reports it.
    pub reasoning: Option<String>,
    /// The settings that were not sent, because the endpoint of the model refuses them, such as
    /// `temperature`.
    pub omitted_settings: Option<Vec<String>>,
    /// The alias of the model in the settings of the server.
    pub alias: Option<String>,
    /// The model that answered or computed the vectors.
    pub model: Option<String>,
    /// The reason why the answer ended, in the words of the provider: `stop`, `length`, `content_filter`, … Absent if the
    /// provider did not say.
    pub finish_reason: Option<String>,
    /// The number of the attempt, from 1: of an LM request, or of a strategy; for an element, its
    /// number.
    pub attempt: Option<u32>,
    /// Whether the answer comes from the cache of the model (`cache_bytes`), or from another run of
    /// the batch with the same inputs (`dedupe`). Such an answer costs nothing. Absent if not.
    pub cached: Option<bool>,
    /// The number of milliseconds that the request waited before it was sent: LM requests are limited, and
    /// runs take turns. Absent if the request did not wait.
    pub queued_ms: Option<i64>,
    /// The reward of an attempt.
    pub reward: Option<f64>,
    /// The constraint of the answer, if the model is configured so: `gbnf`, `json_schema`, or
    /// `refused` if the server of the model refused the constraint and the request was sent without it.
    pub constraint: Option<String>,
    /// Calls, tokens and cost.
    pub usage: Option<UsageView>,
    /// The leniencies of the parser.
    pub parse_report: Option<Vec<LeniencyView>>,
    /// The outcomes of checks.
    pub checks: Option<Vec<Check>>,
    /// The reason why the step failed.
    pub error: Option<String>,
}

/// The outcome of a check.
#[derive(ToSchema)]
pub struct Check {
    /// The output field.
    pub field: String,
    /// The label, or the expression.
    pub label: String,
    /// Whether the condition holds.
    pub passed: bool,
}

/// A message of a conversation.
#[derive(ToSchema)]
#[schema(as = Message)]
pub struct MessageView {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// The text.
    pub content: String,
    /// The tool calls that an assistant requests.
    pub tool_calls: Option<Vec<ToolCallView>>,
    /// The id of the tool call that this message is the result of.
    pub tool_call_id: Option<String>,
    /// The reasoning that led to the tool calls of an assistant.
    pub reasoning_content: Option<String>,
}

/// A call of a tool: one that an LM requests, or one that a graph answers to a client of OpenAI's API.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolCall)]
pub struct ToolCallView {
    /// The id that the provider assigned; `call_` and the id of the run in an answer of a graph.
    pub id: String,
    /// `function`.
    pub r#type: String,
    /// The tool and its arguments.
    pub function: ToolCallFunction,
}

impl ToolCallView {
    /// The call that a run answers.
    pub(crate) fn of_run(run: &str, name: &str, arguments: String) -> Self {
        let function = ToolCallFunction { name: name.to_owned(), arguments };
        Self { id: format!("call_{run}"), r#type: "function".to_owned(), function }
    }
}

/// A tool and its arguments.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolCallFunction {
    /// The name of the tool.
    pub name: String,
    /// The arguments as the LM wrote them, normally JSON.
    pub arguments: String,
}
