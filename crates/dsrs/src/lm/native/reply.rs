//! Answers in the library's terms, read as replies: whole ones, and those that are heard while they
//! arrive.

use std::sync::Arc;

use futures_util::StreamExt;
use genai::chat::{
    ChatResponse, ChatStreamEvent, ChatStreamResponse, ContentPart, MessageContent, StopReason,
    StreamEnd, ToolCall as NativeCall, Usage as NativeUsage,
};
use serde_json::Value;

use super::fault::Fault;
use crate::lm::{DeltaSink, LmErrorKind, LmReply, ToolCall, Usage};

/// A reply of an answer that came whole.
pub(super) fn whole(answer: ChatResponse) -> LmReply {
    let mut text = String::new();
    let mut tool_calls = Vec::new();
    for part in answer.content.into_parts() {
        match part {
            ContentPart::Text(piece) => text.push_str(&piece),
            ContentPart::ToolCall(asked) => tool_calls.push(call(asked)),
            // What a model thinks by itself is no part of its answer.
            _ => {}
        }
    }
    LmReply {
        text: text.into(),
        tool_calls,
        model: (&*answer.provider_model_iden.model_name).into(),
        finish_reason: answer.stop_reason.as_ref().map(reason),
        usage: usage(Some(&answer.usage)),
    }
}

/// A reply of an answer that arrives piece by piece.
pub(super) async fn heard(
    mut answer: ChatStreamResponse,
    heard: DeltaSink<'_>,
) -> Result<LmReply, Fault> {
    let model: Arc<str> = (&*answer.model_iden.model_name).into();
    let mut text = String::new();
    while let Some(event) = answer.stream.next().await {
        match event.map_err(|error| Fault::of(&error))? {
            ChatStreamEvent::Chunk(piece) if !piece.content.is_empty() => {
                text.push_str(&piece.content);
                heard(&piece.content);
            }
            ChatStreamEvent::End(end) => return ended(end, text, model),
            _ => {}
        }
    }
    Err(broken())
}

/// Some protocols have no end but that nothing more comes; the reason why the model stopped is what
/// tells it from a connection that broke.
fn ended(end: StreamEnd, text: String, model: Arc<str>) -> Result<LmReply, Fault> {
    let finish_reason = Some(end.captured_stop_reason.as_ref().map(reason).ok_or_else(broken)?);
    let usage = usage(end.captured_usage.as_ref());
    let calls = end.captured_content.map(MessageContent::into_tool_calls).unwrap_or_default();
    let tool_calls = calls.into_iter().map(call).collect();
    Ok(LmReply { text: text.into(), tool_calls, model, finish_reason, usage })
}

fn broken() -> Fault {
    let why = "the connection broke off before the end of the answer".to_owned();
    Fault::new(LmErrorKind::Connection, why)
}

fn call(asked: NativeCall) -> ToolCall {
    let arguments = match asked.fn_arguments {
        Value::String(text) => text,
        Value::Null => "{}".to_owned(),
        data => data.to_string(),
    };
    ToolCall { id: asked.call_id.into(), name: asked.fn_name.into(), arguments: arguments.into() }
}

/// Why the model stopped, in the words that all other models have for it.
fn reason(reason: &StopReason) -> Arc<str> {
    match reason {
        StopReason::Completed(_) | StopReason::StopSequence(_) => "stop".into(),
        StopReason::MaxTokens(_) => "length".into(),
        StopReason::ToolCall(_) => "tool_calls".into(),
        StopReason::ContentFilter(_) => "content_filter".into(),
        StopReason::Other(word) => word.as_str().into(),
    }
}

fn usage(told: Option<&NativeUsage>) -> Usage {
    let count = |tokens: Option<i32>| tokens.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    let cached = |told: &NativeUsage| told.prompt_tokens_details.as_ref()?.cached_tokens;
    Usage {
        lm_calls: 1,
        input_tokens: count(told.and_then(|told| told.prompt_tokens)),
        output_tokens: count(told.and_then(|told| told.completion_tokens)),
        cached_tokens: count(told.and_then(cached)),
        cost: None,
    }
}
