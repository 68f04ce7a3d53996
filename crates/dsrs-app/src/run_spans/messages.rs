//! Messages to models and their replies in the JSON form of the semantic conventions: messages of parts. Knows no spans
//! of OpenTelemetry.

use dsrs::lm::{Message, Role, ToolCall};
use dsrs::predict::Span;
use serde_json::{Value, json};

/// The messages of a request.
pub(super) fn input(span: &Span) -> Option<String> {
    let (prefix, turns) = span.messages.as_ref()?;
    let messages: Vec<Value> = prefix.iter().chain(turns).map(message).collect();
    Some(Value::Array(messages).to_string())
}

/// The reply.
pub(super) fn output(span: &Span) -> Option<String> {
    let reply = span.raw.as_ref()?;
    let reasoning =
        span.reasoning.iter().map(|found| json!({"type": "reasoning", "content": found.text()}));
    let text = (!reply.is_empty()).then(|| text(reply));
    let parts: Vec<Value> = reasoning.chain(text).chain(span.tool_calls.iter().map(call)).collect();
    let reason = span.finish_reason.as_deref().unwrap_or("stop");
    Some(json!([{"role": "assistant", "parts": parts, "finish_reason": reason}]).to_string())
}

/// One message of a user, as inputs or outputs of a whole run.
pub(super) fn plain(role: &str, content: &str) -> String {
    match role {
        "assistant" => {
            json!([{"role": role, "parts": [text(content)], "finish_reason": "stop"}]).to_string()
        }
        _ => json!([{"role": role, "parts": [text(content)]}]).to_string(),
    }
}

fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    if let Some(id) = &message.tool_call_id {
        let response =
            json!({"type": "tool_call_response", "id": &**id, "response": &*message.content});
        return json!({"role": role, "parts": [response]});
    }
    let reasoning = message.reasoning.iter();
    let reasoning = reasoning.map(|found| json!({"type": "reasoning", "content": found.text()}));
    let text = (!message.content.is_empty()).then(|| text(&message.content));
    let parts: Vec<Value> =
        reasoning.chain(text).chain(message.tool_calls.iter().map(call)).collect();
    json!({"role": role, "parts": parts})
}

fn text(content: &str) -> Value {
    json!({"type": "text", "content": content})
}

fn call(call: &ToolCall) -> Value {
    let arguments = serde_json::from_str(&call.arguments)
        .unwrap_or_else(|_| Value::String(call.arguments.to_string()));
    json!({"type": "tool_call", "id": &*call.id, "name": &*call.name, "arguments": arguments})
}
