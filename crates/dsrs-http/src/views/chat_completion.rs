//! The protocol of OpenAI's chat completions, as far as a graph speaks it. Unknown members of requests are ignored, as
//! clients of this protocol expect.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::openai_response::{CachedTokensView, ReasoningTokensView};
use super::trace::ToolCallView;

/// A request for an answer to messages.
#[derive(Debug, Deserialize, ToSchema)]
pub struct ChatCompletionBody {
    /// The name of a graph; `name@3` is its version 3.
    pub model: String,
    /// The conversation. The graph gets the text of the last message of the user, and the messages if it has an input
    /// `history` or `messages`.
    #[schema(min_items = 1)]
    pub messages: Vec<ChatMessageBody>,
    /// Whether the answer is a stream of events.
    #[serde(default)]
    pub stream: Option<bool>,
    /// Options of a stream.
    #[serde(default)]
    pub stream_options: Option<StreamOptions>,
    /// A form of the answer: `{"type": "json_object"}`, or `{"type": "json_schema", "json_schema": {"schema": …}}` with a
    /// schema that the outputs of the graph fit. The answer is then the JSON of the outputs; with a schema that has
    /// `additionalProperties: false`, of those that the schema has.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub response_format: Option<Map<String, Value>>,
    /// The number of answers: only 1.
    #[serde(default)]
    pub n: Option<u32>,
    /// Tools of the client. A graph has its own: these are accepted only if `tool_choice` demands the call of one. The
    /// answer is then the call of the first one whose parameters are outputs of the graph.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    pub tools: Option<Vec<Map<String, Value>>>,
    /// `required`, or `{"type": "function", "function": {"name": …}}`: the answer is the call of a tool. `none` and `auto`
    /// have no effect.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub tool_choice: Value,
    /// An older form of `tools`: refused.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub functions: Value,
    /// An older form of `tool_choice`.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub function_call: Value,
    /// Probabilities of tokens: refused, because a graph has none.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub logprobs: Value,
    /// The number of alternatives of each token: refused, because a graph has none.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub top_logprobs: Value,
    /// Sound as the answer: refused.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub audio: Value,
    /// The user on whose behalf the client asks: the `user_id` of the run, at most 200 characters.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub user: Value,
    /// The metadata of the run: at most 16 members.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub metadata: Value,
    /// The kinds of the answer: only `["text"]`.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub modalities: Value,
}

/// A message of a conversation.
#[derive(Debug, Deserialize, ToSchema)]
pub struct ChatMessageBody {
    /// `system`, `user`, `assistant`, `developer` or `tool`.
    pub role: String,
    /// A text, or a list of parts of the type `text`. Other parts are refused. A message of the assistant may have null.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub content: Value,
    /// The calls of a message of the assistant: the arguments of the first one stand for a content that is null.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    pub tool_calls: Value,
}

/// Options of a stream.
#[derive(Debug, Deserialize, ToSchema)]
pub struct StreamOptions {
    /// Whether a last chunk has the usage.
    #[serde(default)]
    pub include_usage: Option<bool>,
}

/// The answer to messages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatCompletion)]
pub struct ChatCompletionView {
    /// `chatcmpl-` and the id of the run.
    pub id: String,
    /// `chat.completion`.
    pub object: &'static str,
    /// The time when the run was created, in seconds since 1970.
    pub created: i64,
    /// The graph and its version.
    pub model: String,
    /// The answer.
    pub choices: Vec<ChatChoiceView>,
    /// The tokens of the run.
    pub usage: ChatUsageView,
}

/// The one answer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatChoice)]
pub struct ChatChoiceView {
    /// 0.
    pub index: u32,
    /// The message.
    pub message: ChatAnswerView,
    /// `stop`; `tool_calls` if the answer is a call; `length` if a limit of tokens cut the answer of a model;
    /// `content_filter` if a model refused to answer.
    pub finish_reason: &'static str,
}

/// The message of the graph.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatAnswer)]
pub struct ChatAnswerView {
    /// `assistant`.
    pub role: &'static str,
    /// The text of the output, or its JSON. Null if the answer is a call, cut or refused.
    pub content: Option<String>,
    /// The call of a tool of the client, if the request demands one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCallView>>,
    /// The text of the refusal of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

impl Default for ChatAnswerView {
    fn default() -> Self {
        Self { role: "assistant", content: None, tool_calls: None, refusal: None }
    }
}

/// The tokens of a run.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
#[schema(as = ChatUsage)]
pub struct ChatUsageView {
    /// Input tokens of all its calls.
    pub prompt_tokens: i64,
    /// Of them.
    pub prompt_tokens_details: CachedTokensView,
    /// Output tokens of all its calls.
    pub completion_tokens: i64,
    /// Of them.
    pub completion_tokens_details: ReasoningTokensView,
    /// Both.
    pub total_tokens: i64,
}

/// The graphs that answer messages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatModelList)]
pub struct ChatModelListView {
    /// `list`.
    pub object: &'static str,
    /// The graphs, newest first.
    pub data: Vec<ChatModelView>,
}

/// A graph that answers messages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatModelItem)]
pub struct ChatModelView {
    /// The name of the model.
    pub id: String,
    /// `model`.
    pub object: &'static str,
    /// The time when the model was created, in seconds since 1970.
    pub created: i64,
    /// `dsrs`.
    pub owned_by: &'static str,
}
