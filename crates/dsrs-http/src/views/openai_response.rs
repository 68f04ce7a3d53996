//! The protocol of OpenAI's responses, as far as a graph speaks it. Unknown members of requests are ignored, as clients
//! of this protocol expect.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// A request for a response.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChatResponseBody)]
pub struct ResponseBody {
    /// The name of a chat model; `name@3` is its version 3.
    pub model: String,
    /// A text, or a list of messages. The graph gets the text of the last message of the user, and the messages if it has
    /// an input for them.
    #[schema(value_type = Value)]
    pub input: Value,
    /// A message before all others.
    #[serde(default)]
    pub instructions: Option<String>,
    /// Whether the answer is a stream of events.
    #[serde(default)]
    pub stream: Option<bool>,
    /// The form of the answer: `{"format": {"type": "json_schema", "schema": …}}` with a schema that the outputs of the
    /// graph fit. The answer is then the JSON of the outputs; with a schema that has `additionalProperties: false`, of those
    /// that the schema has.
    #[serde(default)]
    pub text: Option<ResponseText>,
    /// An earlier response: refused, because no conversation is stored.
    #[serde(default)]
    pub previous_response_id: Option<String>,
    /// Whether the client does not wait: refused.
    #[serde(default)]
    pub background: Option<bool>,
    /// Tools of the client. A graph has its own: these are accepted only if `tool_choice` demands the call of one. The
    /// answer is then the call of the first one whose parameters are outputs of the graph.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    pub tools: Option<Vec<Map<String, Value>>>,
    /// `required`, or `{"type": "function", "name": …}`: the answer is the call of a tool. `none` and `auto` have no effect.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub tool_choice: Value,
    /// A stored conversation: refused, because none is stored.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub conversation: Value,
    /// A stored prompt: refused, because none is stored.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub prompt: Value,
    /// The kinds of the answer: only `["text"]`.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub modalities: Value,
    /// The user on whose behalf the client asks: the `user_id` of the run, at most 200 characters.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub user: Value,
    /// The metadata of the run: at most 16 members.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub metadata: Value,
}

/// The form of a text.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChatResponseText)]
pub struct ResponseText {
    /// `{"type": "text"}`, `{"type": "json_object"}`, or `{"type": "json_schema", "schema": …}`.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub format: Option<Map<String, Value>>,
}

/// A response.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ChatResponse)]
pub struct ResponseView {
    /// `resp_` and the id of the run.
    pub id: String,
    /// `response`.
    pub object: &'static str,
    /// The time when the run was created, in seconds since 1970.
    pub created_at: i64,
    /// `in_progress`, `completed`, `incomplete` or `failed`.
    pub status: &'static str,
    /// The graph and its version.
    pub model: String,
    /// The message, or the call of a tool of the client if the request demands one, when the response is complete.
    #[schema(value_type = Vec<Object>)]
    pub output: Vec<Value>,
    /// The reason why the response failed.
    #[schema(value_type = Option<Object>)]
    pub error: Option<Value>,
    /// The reason why the response is incomplete: `{"reason": "max_output_tokens"}`, or `content_filter` if a model refused to answer.
    #[schema(value_type = Option<Object>)]
    pub incomplete_details: Option<Value>,
    /// The instructions of the request.
    pub instructions: Option<String>,
    /// Empty.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// Always false.
    pub parallel_tool_calls: bool,
    /// `none`.
    pub tool_choice: &'static str,
    /// Empty.
    #[schema(value_type = Vec<Object>)]
    pub tools: Vec<Value>,
    /// The tokens of the run.
    pub usage: Option<ResponseUsageView>,
}

/// The tokens of a run.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
#[schema(as = ChatResponseUsage)]
pub struct ResponseUsageView {
    /// Input tokens of all its calls.
    pub input_tokens: i64,
    /// Of them.
    pub input_tokens_details: CachedTokensView,
    /// Output tokens of all its calls.
    pub output_tokens: i64,
    /// Of them.
    pub output_tokens_details: ReasoningTokensView,
    /// Both.
    pub total_tokens: i64,
}

/// Input tokens that the provider had cached.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
#[schema(as = ChatCachedTokens)]
pub struct CachedTokensView {
    /// The number of input tokens that the provider had cached.
    pub cached_tokens: i64,
}

/// Output tokens that are not in the answer.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
#[schema(as = ChatReasoningTokens)]
pub struct ReasoningTokensView {
    /// The number of output tokens that are not in the answer, as far as the run counts them.
    pub reasoning_tokens: i64,
}

impl ResponseView {
    /// A response that is in progress.
    pub(crate) fn started(
        run: &str,
        created_at: i64,
        model: &str,
        instructions: Option<&str>,
    ) -> Self {
        Self {
            id: format!("resp_{run}"),
            object: "response",
            created_at,
            status: "in_progress",
            model: model.to_owned(),
            output: Vec::new(),
            error: None,
            incomplete_details: None,
            instructions: instructions.map(str::to_owned),
            metadata: Map::new(),
            parallel_tool_calls: false,
            tool_choice: "none",
            tools: Vec::new(),
            usage: None,
        }
    }

    /// The same with the usage of its run.
    pub(crate) fn counted(mut self, usage: &Value) -> Self {
        self.usage = Some(ResponseUsageView::of(usage));
        self
    }

    /// The same with its item.
    pub(crate) fn completed(mut self, item: Value) -> Self {
        self.output = vec![item];
        self.status = "completed";
        self
    }

    /// The same with the reason why there is no whole answer, and its item as far as there is one.
    pub(crate) fn incomplete(mut self, reason: &str, item: Option<Value>) -> Self {
        self.output = item.into_iter().collect();
        self.status = "incomplete";
        self.incomplete_details = Some(json!({"reason": reason}));
        self
    }

    /// The same with the reason why there is no text.
    pub(crate) fn failed(mut self, code: &str, message: &str) -> Self {
        self.status = "failed";
        self.error = Some(json!({"code": code, "message": message}));
        self
    }

    /// The item of its answer: a message with a text, or the call of a tool with these arguments.
    pub(crate) fn item(&self, called: Option<&str>, text: &str, is_whole: bool) -> Value {
        let status = if is_whole { "completed" } else { "incomplete" };
        match called {
            None => self.message(status, &[output_text(text)]),
            Some(name) => self.call(status, name, text),
        }
    }

    /// The id of its message.
    pub(crate) fn message_id(&self) -> String {
        self.id.replacen("resp_", "msg_", 1)
    }

    /// The id of its call.
    pub(crate) fn call_item_id(&self) -> String {
        self.id.replacen("resp_", "fc_", 1)
    }

    /// Its call of a tool of the client.
    pub(crate) fn call(&self, status: &str, name: &str, arguments: &str) -> Value {
        json!({
            "id": self.call_item_id(), "type": "function_call", "status": status,
            "call_id": self.id.replacen("resp_", "call_", 1), "name": name, "arguments": arguments
        })
    }

    /// Its message.
    pub(crate) fn message(&self, status: &str, content: &[Value]) -> Value {
        json!({
            "id": self.message_id(), "type": "message", "status": status, "role": "assistant",
            "content": content
        })
    }
}

impl ResponseUsageView {
    /// The tokens of a run.
    fn of(usage: &Value) -> Self {
        let count = |name: &str| usage[name].as_i64().unwrap_or_default();
        let (input_tokens, output_tokens) = (count("input_tokens"), count("output_tokens"));
        Self {
            input_tokens,
            input_tokens_details: CachedTokensView { cached_tokens: count("cached_tokens") },
            output_tokens,
            output_tokens_details: ReasoningTokensView {
                reasoning_tokens: count("reasoning_tokens"),
            },
            total_tokens: input_tokens + output_tokens,
        }
    }
}

/// What a refusal of a model is in a message.
pub(crate) fn refusal_part(text: &str) -> Value {
    json!({"type": "refusal", "refusal": text})
}

/// The content of a message.
pub(crate) fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}
