//! Translates a request into the types of the library. Does not send it.

use std::collections::HashMap;

use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ContentPart, JsonSpec, MessageContent, Tool,
    ToolCall as NativeCall, ToolResponse,
};
use serde_json::Value;

use super::fault::Fault;
use crate::lm::{DecodingConstraint, LmErrorKind, LmRequest, Message, Role, ToolCall, ToolSpec};

/// The conversation and the settings of a request.
pub(super) fn translate(request: &LmRequest) -> Result<(ChatRequest, ChatOptions), Fault> {
    let mut chat = ChatRequest::new(messages(request));
    if let Some(tools) = &request.tools {
        chat = chat.with_tools(tools.iter().map(tool));
    }
    Ok((chat, options(request)?))
}

fn options(request: &LmRequest) -> Result<ChatOptions, Fault> {
    let params = &request.params;
    let stop = params.stop.iter().flatten().map(ToString::to_string);
    let options = ChatOptions {
        temperature: params.temperature,
        max_tokens: params.max_tokens,
        top_p: params.top_p,
        seed: params.seed.and_then(|seed| u64::try_from(seed).ok()),
        stop_sequences: stop.collect(),
        capture_usage: Some(true),
        capture_tool_calls: Some(true),
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

fn messages(request: &LmRequest) -> Vec<ChatMessage> {
    // Some providers require the name of the tool with its result.
    let mut called: HashMap<&str, &str> = HashMap::new();
    let mut messages: Vec<ChatMessage> = Vec::new();
    let mut results: Vec<ToolResponse> = Vec::new();
    for turn in request.chat.messages() {
        called.extend(turn.tool_calls.iter().map(|call| (&*call.id, &*call.name)));
        if turn.role == Role::Tool {
            results.push(result(turn, &called));
            continue;
        }
        // The results of the calls of one message are sent together.
        if !results.is_empty() {
            messages.push(std::mem::take(&mut results).into());
        }
        messages.push(message(turn));
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
            let text = (!text.is_empty()).then(|| ContentPart::from_text(text));
            let calls = turn.tool_calls.iter().map(|call| ContentPart::ToolCall(native_call(call)));
            let parts: Vec<_> = text.into_iter().chain(calls).collect();
            ChatMessage::assistant(MessageContent::from_parts(parts))
        }
    }
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
