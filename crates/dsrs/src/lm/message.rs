//! What is said to an LM and what it answers, free of any provider's wire format.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use super::{DecodingConstraint, ToolCall, ToolSet};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The rules of the conversation.
    System,
    /// The one who asks.
    User,
    /// The one who answers.
    Assistant,
    /// A tool that was called.
    Tool,
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Arc<str>,
    /// The calls that it asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that it is the result of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Arc<str>>,
}

impl Message {
    /// A system turn.
    #[must_use]
    pub fn system(content: impl Into<Arc<str>>) -> Self {
        Self::says(Role::System, content)
    }

    /// A user turn.
    #[must_use]
    pub fn user(content: impl Into<Arc<str>>) -> Self {
        Self::says(Role::User, content)
    }

    /// An assistant turn.
    #[must_use]
    pub fn assistant(content: impl Into<Arc<str>>) -> Self {
        Self::says(Role::Assistant, content)
    }

    /// An assistant turn that asks for calls of tools.
    #[must_use]
    pub fn calling(content: impl Into<Arc<str>>, tool_calls: Vec<ToolCall>) -> Self {
        Self { tool_calls, ..Self::says(Role::Assistant, content) }
    }

    /// The result of a call.
    #[must_use]
    pub fn result(call: &ToolCall, content: impl Into<Arc<str>>) -> Self {
        Self { tool_call_id: Some(call.id.clone()), ..Self::says(Role::Tool, content) }
    }

    fn says(role: Role, content: impl Into<Arc<str>>) -> Self {
        Self { role, content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }
}

/// The turns that every call of a predictor starts with, and their JSON, which is written once and
/// then copied into every request and record.
#[derive(Debug, Default)]
pub struct Prefix {
    messages: Vec<Message>,
    json: OnceLock<String>,
}

impl Prefix {
    /// A prefix of these turns, to be shared.
    #[must_use]
    pub fn of(messages: impl Into<Vec<Message>>) -> Arc<Self> {
        Arc::new(Self { messages: messages.into(), json: OnceLock::new() })
    }

    /// The turns as JSON objects with `role` and `content`, with commas between them.
    #[must_use]
    pub fn json(&self) -> &str {
        self.json.get_or_init(|| {
            let list = serde_json::to_string(&self.messages).unwrap_or_default();
            let inner = list.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
            inner.unwrap_or_default().to_owned()
        })
    }
}

impl Deref for Prefix {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        &self.messages
    }
}

impl PartialEq for Prefix {
    fn eq(&self, other: &Self) -> bool {
        self.messages == other.messages
    }
}

/// A conversation: a prefix rendered once per predictor state and shared (system and demos), then
/// the turns of this call.
#[derive(Clone, Debug)]
pub struct Chat {
    /// System and demo turns.
    pub prefix: Arc<Prefix>,
    /// The turns of this call.
    pub turns: Vec<Message>,
}

impl Chat {
    /// All turns in order.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.prefix.iter().chain(&self.turns)
    }
}

/// Sampling and size settings. `None` leaves the choice to whoever stands behind: state over node
/// over model alias over provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LmParams {
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The most tokens to answer with.
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling seed.
    pub seed: Option<i64>,
    /// Texts at which the answer ends.
    pub stop: Option<Vec<Arc<str>>>,
}

impl LmParams {
    /// These settings, with the gaps filled from `behind`.
    #[must_use]
    pub fn over(&self, behind: &Self) -> Self {
        Self {
            temperature: self.temperature.or(behind.temperature),
            max_tokens: self.max_tokens.or(behind.max_tokens),
            top_p: self.top_p.or(behind.top_p),
            seed: self.seed.or(behind.seed),
            stop: self.stop.clone().or_else(|| behind.stop.clone()),
        }
    }
}

/// One request to an LM.
#[derive(Clone, Debug)]
pub struct LmRequest {
    /// The conversation.
    pub chat: Chat,
    /// Settings, complete.
    pub params: LmParams,
    /// What the server is to hold the answer to.
    pub constraint: Option<DecodingConstraint>,
    /// The tools that the LM may have called.
    pub tools: Option<Arc<ToolSet>>,
}

impl LmRequest {
    /// A plain request: free in its form, without tools.
    #[must_use]
    pub const fn new(chat: Chat, params: LmParams) -> Self {
        Self { chat, params, constraint: None, tools: None }
    }
}

/// What an LM answered.
#[derive(Clone, Debug, PartialEq)]
pub struct LmReply {
    /// The text.
    pub text: Arc<str>,
    /// The calls of tools that it asks for.
    pub tool_calls: Vec<ToolCall>,
    /// The model that answered, in the provider's words.
    pub model: Arc<str>,
    /// Why it stopped, in the provider's words (`stop`, `length`, …).
    pub finish_reason: Option<Arc<str>>,
    /// What it used.
    pub usage: Usage,
}

impl LmReply {
    /// A text from a model, of which nothing else is known.
    #[must_use]
    pub fn of(text: impl Into<Arc<str>>, model: impl Into<Arc<str>>) -> Self {
        let usage = Usage { lm_calls: 1, ..Usage::default() };
        let (text, model) = (text.into(), model.into());
        Self { text, tool_calls: Vec::new(), model, finish_reason: None, usage }
    }
}

/// Tokens, calls and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// Requests that were answered.
    pub lm_calls: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Of the tokens read, those from the provider's cache.
    pub cached_tokens: u64,
    /// Money, in the currency of the configured prices; `None` without prices.
    pub cost: Option<f64>,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.lm_calls += other.lm_calls;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cached_tokens += other.cached_tokens;
        self.cost = match (self.cost, other.cost) {
            (None, cost) | (cost, None) => cost,
            (Some(one), Some(two)) => Some(one + two),
        };
    }
}
