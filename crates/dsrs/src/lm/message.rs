//! LM requests and replies, independent of any provider's wire format.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    AnswerEnd, DecodingConstraint, LmParams, OmittedParams, ReplyReasoning, RequestTrace,
    TokenLogprobs, ToolCall, ToolSet,
};

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The instructions.
    System,
    /// The question.
    User,
    /// The answer.
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Its author.
    pub role: Role,
    /// The text.
    pub content: Arc<str>,
    /// The tool calls that it requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The id of the tool call that it is the result of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Arc<str>>,
    /// The reasoning that led to its tool calls. Some providers refuse the results of calls without it.
    #[serde(rename = "reasoning_content", skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Arc<ReplyReasoning>>,
}

impl Message {
    /// A system message.
    #[must_use]
    pub fn system(content: impl Into<Arc<str>>) -> Self {
        Self::plain(Role::System, content)
    }

    /// A user message.
    #[must_use]
    pub fn user(content: impl Into<Arc<str>>) -> Self {
        Self::plain(Role::User, content)
    }

    /// An assistant message.
    #[must_use]
    pub fn assistant(content: impl Into<Arc<str>>) -> Self {
        Self::plain(Role::Assistant, content)
    }

    /// An assistant message with tool calls.
    #[must_use]
    pub fn calling(content: impl Into<Arc<str>>, tool_calls: Vec<ToolCall>) -> Self {
        Self { tool_calls, ..Self::plain(Role::Assistant, content) }
    }

    /// The message of a reply with tool calls, as its model expects to see it again.
    #[must_use]
    pub fn of_reply(reply: LmReply) -> Self {
        Self { reasoning: reply.reasoning, ..Self::calling(reply.text, reply.tool_calls) }
    }

    /// The result of a tool call.
    #[must_use]
    pub fn result(call: &ToolCall, content: impl Into<Arc<str>>) -> Self {
        Self { tool_call_id: Some(call.id.clone()), ..Self::plain(Role::Tool, content) }
    }

    fn plain(role: Role, content: impl Into<Arc<str>>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            reasoning: None,
        }
    }
}

/// The messages at the start of every call of a predictor, and their JSON, which is written once and
/// copied into every request and record.
#[derive(Debug, Default)]
pub struct Prefix {
    messages: Vec<Message>,
    json: OnceLock<String>,
    digest: OnceLock<[u8; 32]>,
}

impl Prefix {
    /// A shared prefix of these messages.
    #[must_use]
    pub fn of(messages: impl Into<Vec<Message>>) -> Arc<Self> {
        let (json, digest) = (OnceLock::new(), OnceLock::new());
        Arc::new(Self { messages: messages.into(), json, digest })
    }

    /// The messages as JSON objects with `role` and `content`, separated by commas.
    #[must_use]
    pub fn json(&self) -> &str {
        self.json.get_or_init(|| {
            let list = serde_json::to_string(&self.messages).unwrap_or_default();
            let inner = list.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
            inner.unwrap_or_default().to_owned()
        })
    }

    /// The SHA-256 of [`Prefix::json`]: a name for prefixes that are stored once.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        self.digest.get_or_init(|| Sha256::digest(self.json()).into())
    }
}

impl Deref for Prefix {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        &self.messages
    }
}

impl Eq for Prefix {}

impl PartialEq for Prefix {
    fn eq(&self, other: &Self) -> bool {
        self.messages == other.messages
    }
}

/// A conversation: a shared prefix that is rendered once per predictor state (system and demos), then
/// the messages of this call.
#[derive(Clone, Debug)]
pub struct Chat {
    /// The system message and the demos.
    pub prefix: Arc<Prefix>,
    /// The messages of this call.
    pub turns: Vec<Message>,
}

impl Chat {
    /// All messages in order.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.prefix.iter().chain(&self.turns)
    }
}

/// One LM request.
#[derive(Clone, Debug)]
pub struct LmRequest {
    /// The conversation.
    pub chat: Chat,
    /// The final settings.
    pub params: LmParams,
    /// The constraint for constrained decoding.
    pub constraint: Option<DecodingConstraint>,
    /// The tools that the LM may call.
    pub tools: Option<Arc<ToolSet>>,
    /// Whether the reply is to have the probabilities of its tokens.
    pub logprobs: bool,
    /// The span that sends it, for a run in a distributed trace. No part of what is asked.
    pub trace: Option<RequestTrace>,
}

impl LmRequest {
    /// A request without constraint, tools and probabilities.
    #[must_use]
    pub const fn new(chat: Chat, params: LmParams) -> Self {
        Self { chat, params, constraint: None, tools: None, logprobs: false, trace: None }
    }
}

/// The reply of an LM.
#[derive(Clone, Debug, PartialEq)]
pub struct LmReply {
    /// The text.
    pub text: Arc<str>,
    /// The tool calls that it requests.
    pub tool_calls: Vec<ToolCall>,
    /// What the model wrote before its answer, if the provider reports it.
    pub reasoning: Option<Arc<ReplyReasoning>>,
    /// The settings that were not sent, because the endpoint refuses them.
    pub omitted: OmittedParams,
    /// The provider's name of the model that answered.
    pub model: Arc<str>,
    /// The provider's id of the answer.
    pub id: Option<Arc<str>>,
    /// Why the answer ended, in the provider's terms (`stop`, `length`, …).
    pub finish_reason: Option<Arc<str>>,
    /// What the model or a filter said when it refused to answer.
    pub refusal: Option<Arc<str>>,
    /// The probabilities of its tokens, if they were asked for and the endpoint reports them.
    pub logprobs: Vec<TokenLogprobs>,
    /// Its usage.
    pub usage: Usage,
}

impl LmReply {
    /// A text of a model.
    #[must_use]
    pub fn of(text: impl Into<Arc<str>>, model: impl Into<Arc<str>>) -> Self {
        let usage = Usage { lm_calls: 1, ..Usage::default() };
        let (text, model) = (text.into(), model.into());
        Self {
            text,
            tool_calls: Vec::new(),
            reasoning: None,
            omitted: OmittedParams::default(),
            model,
            id: None,
            finish_reason: None,
            refusal: None,
            logprobs: Vec::new(),
            usage,
        }
    }

    /// How the answer ended.
    #[must_use]
    pub fn end(&self) -> AnswerEnd {
        match &self.refusal {
            Some(_) => AnswerEnd::Filtered,
            None => self.finish_reason.as_deref().map_or(AnswerEnd::Finished, AnswerEnd::of_reason),
        }
    }
}

/// Calls, tokens and cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// Answered requests.
    pub lm_calls: u64,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Those of the output tokens that the model spent on reasoning.
    pub reasoning_tokens: u64,
    /// Those of the input tokens that the provider read from its cache.
    pub cached_tokens: u64,
    /// Those of the input tokens that the provider wrote to its cache, if it charges for that.
    pub cache_write_tokens: u64,
    /// Money, in the currency of the configured prices; `None` without prices.
    pub cost: Option<f64>,
}

impl Usage {
    /// The greater of each of two usages' figures.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            lm_calls: self.lm_calls.max(other.lm_calls),
            input_tokens: self.input_tokens.max(other.input_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            reasoning_tokens: self.reasoning_tokens.max(other.reasoning_tokens),
            cached_tokens: self.cached_tokens.max(other.cached_tokens),
            cache_write_tokens: self.cache_write_tokens.max(other.cache_write_tokens),
            cost: match (self.cost, other.cost) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            },
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.lm_calls += other.lm_calls;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
        self.cached_tokens += other.cached_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.cost = match (self.cost, other.cost) {
            (None, cost) | (cost, None) => cost,
            (Some(one), Some(two)) => Some(one + two),
        };
    }
}
