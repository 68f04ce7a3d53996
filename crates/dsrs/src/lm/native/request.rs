//! Translates a request into the types of the library. Does not send it.

use std::collections::HashMap;
use std::sync::Arc;

use genai::Headers;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ContentPart, JsonSpec, MessageContent,
    ReasoningEffort as NativeEffort, Tool, ToolCall as NativeCall, ToolChoice, ToolResponse,
};
use serde_json::Value;

use super::fault::Fault;
use crate::lm::{
    DecodingConstraint, ExtraBody, ExtraHeaders, LmErrorKind, LmParams, LmRequest, Message,
    ReasoningEffort, ReplyReasoning, RequestTrace, Role, ToolCall, ToolSet, ToolSpec,
};

/// How messages are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageForm {
    /// Whether the end of the shared prefix is marked for the provider's cache.
    pub(super) marks_prefix: bool,
    /// Whether the results of the calls of one message are one message.
    pub(super) joins_results: bool,
}

/// The conversation of a request, and these settings.
pub(super) fn translate(
    request: &LmRequest,
    params: &LmParams,
    form: MessageForm,
) -> Result<(ChatRequest, ChatOptions), Fault> {
    let mut chat = ChatRequest::new(messages(request, form));
    if let Some(tools) = &request.tools {
        chat = chat.with_tools(tools.iter().map(tool));
    }
    Ok((chat, options(request, params)?))
}

fn options(request: &LmRequest, params: &LmParams) -> Result<ChatOptions, Fault> {
    let stop = params.stop.iter().flatten().map(ToString::to_string);
    let options = ChatOptions {
        temperature: params.temperature,
        max_tokens: params.max_tokens,
        top_p: params.top_p,
        seed: params.seed.and_then(|seed| u64::try_from(seed).ok()),
        stop_sequences: stop.collect(),
        capture_usage: Some(true),
        capture_tool_calls: Some(true),
        reasoning_effort: params.reasoning_effort.map(effort),
        extra_headers: headers(params.extra_headers.as_ref(), request.trace.as_ref()),
        extra_body: extra_body(params),
        tool_choice: request.tools.as_ref().and_then(|tools| forced(tools)),
        ..ChatOptions::default()
    };
    match &request.constraint {
        None => Ok(options),
        Some(DecodingConstraint::JsonSchema { schema, .. }) => {
            Ok(options.with_response_format(JsonSpec::new("answer", json(schema.get()))))
        }
        Some(DecodingConstraint::Gbnf(_)) => {
            let why = "not sent: the protocol does not support grammars".to_owned();
            Err(Fault::new(LmErrorKind::ConstraintRefused, why))
        }
    }
}

/// The call that the LM has to make, if it has no choice.
fn forced(tools: &ToolSet) -> Option<ToolChoice> {
    tools.forced().map(|tool| ToolChoice::tool(&*tool.name))
}

const fn effort(effort: ReasoningEffort) -> NativeEffort {
    match effort {
        ReasoningEffort::None | ReasoningEffort::Tokens(0) => NativeEffort::Zero,
        ReasoningEffort::Minimal => NativeEffort::Minimal,
        ReasoningEffort::Low => NativeEffort::Low,
        ReasoningEffort::Medium => NativeEffort::Medium,
        ReasoningEffort::High => NativeEffort::High,
        ReasoningEffort::XHigh => NativeEffort::XHigh,
        ReasoningEffort::Max => NativeEffort::Max,
        ReasoningEffort::Tokens(tokens) => NativeEffort::Budget(tokens),
    }
}

fn headers(extra: Option<&ExtraHeaders>, trace: Option<&RequestTrace>) -> Option<Headers> {
    let extra = extra.into_iter().flat_map(ExtraHeaders::iter);
    let extra = extra.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let trace = trace.map(RequestTrace::headers).into_iter().flatten();
    let pairs: Vec<_> = extra.chain(trace.map(|(name, value)| (name.to_owned(), value))).collect();
    (!pairs.is_empty()).then(|| pairs.into())
}

/// Extra members, and the service tier: the library knows only OpenAI's tiers.
fn extra_body(params: &LmParams) -> Option<Value> {
    let mut members = serde_json::Map::new();
    for (name, value) in params.extra_body.iter().flat_map(ExtraBody::iter) {
        members.insert(name.to_owned(), json(&value.to_json()));
    }
    if let Some(tier) = &params.service_tier {
        members.insert("service_tier".to_owned(), Value::String(tier.to_string()));
    }
    (!members.is_empty()).then_some(Value::Object(members))
}

fn messages(request: &LmRequest, form: MessageForm) -> Vec<ChatMessage> {
    let marked = request.chat.prefix.len().checked_sub(1).filter(|_| form.marks_prefix);
    // Some providers require the name of the tool with its result.
    let mut called: HashMap<&str, &str> = HashMap::new();
    let mut messages: Vec<ChatMessage> = Vec::new();
    let mut results: Vec<ToolResponse> = Vec::new();
    for (position, turn) in request.chat.messages().enumerate() {
        called.extend(turn.tool_calls.iter().map(|call| (&*call.id, &*call.name)));
        if turn.role == Role::Tool {
            match form.joins_results {
                true => results.push(result(turn, &called)),
                false => messages.push(result(turn, &called).into()),
            }
            continue;
        }
        // The results of the calls of one message are sent together.
        if !results.is_empty() {
            messages.push(std::mem::take(&mut results).into());
        }
        let message = message(turn);
        messages.push(match marked {
            Some(last) if last == position => message.with_options(CacheControl::Ephemeral),
            _ => message,
        });
    }
    if !results.is_empty() {
        messages.push(results.into());
    }
    messages
}

fn message(turn: &Message) -> ChatMessage {
    let text = &*turn.content;
    match turn.role {
        Role::System => ChatMessage::system(text),
        Role::User | Role::Tool => ChatMessage::user(text),
        Role::Assistant if turn.tool_calls.is_empty() => ChatMessage::assistant(text),
        Role::Assistant => {
            let reasoning = turn.reasoning.as_deref();
            let thoughts = reasoning.into_iter().flat_map(thoughts);
            let text = (!text.is_empty()).then(|| ContentPart::from_text(text));
            let mut calls: Vec<_> = turn.tool_calls.iter().map(native_call).collect();
            // Gemini expects the signatures at the first call.
            if let (Some(first), Some(reasoning)) = (calls.first_mut(), reasoning) {
                first.thought_signatures = signatures(reasoning);
            }
            let calls = calls.into_iter().map(ContentPart::ToolCall);
            let parts: Vec<_> = thoughts.chain(text).chain(calls).collect();
            ChatMessage::assistant(MessageContent::from_parts(parts))
        }
    }
}

/// The blocks of reasoning with their signatures, as Anthropic expects them.
fn thoughts(reasoning: &ReplyReasoning) -> impl Iterator<Item = ContentPart> {
    let text = |text: &Arc<str>| ContentPart::ReasoningContent(text.to_string());
    let signature = |text: &Arc<str>| ContentPart::ThoughtSignature(text.to_string());
    reasoning.signatures.iter().map(signature).chain(reasoning.texts.iter().map(text))
}

fn signatures(reasoning: &ReplyReasoning) -> Option<Vec<String>> {
    let texts: Vec<_> = reasoning.signatures.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then_some(texts)
}

fn native_call(call: &ToolCall) -> NativeCall {
    NativeCall {
        call_id: call.id.to_string(),
        fn_name: call.name.to_string(),
        fn_arguments: json(&call.arguments),
        thought_signatures: None,
    }
}

fn result(turn: &Message, called: &HashMap<&str, &str>) -> ToolResponse {
    let id = turn.tool_call_id.as_deref().unwrap_or_default();
    let response = ToolResponse::new(id, &*turn.content);
    match called.get(id) {
        Some(&name) => response.with_fn_name(name),
        None => response,
    }
}

fn tool(spec: &ToolSpec) -> Tool {
    Tool::new(&*spec.name)
        .with_description(&*spec.description)
        .with_schema(json(spec.parameters.get()))
}

/// Parses JSON; text of a model that is no JSON becomes an empty object.
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::Object(serde_json::Map::new()))
}
