//! Reads whole and streamed answers of the library as replies.

use std::sync::Arc;

use futures_util::StreamExt;
use genai::chat::{
    ChatResponse, ChatStreamEvent, ChatStreamResponse, ContentPart, MessageContent, StopReason,
    StreamEnd, ToolCall as NativeCall, Usage as NativeUsage,
};
use serde_json::Value;

use super::fault::Fault;
use crate::lm::{DeltaSink, LmErrorKind, LmReply, ToolCall, Usage};

/// The reply of a whole answer.
pub(super) fn whole(answer: ChatResponse) -> LmReply {
    let mut text = String::new();
    let mut tool_calls = Vec::new();
    for part in answer.content.into_parts() {
        match part {
            ContentPart::Text(piece) => text.push_str(&piece),
            ContentPart::ToolCall(asked) => tool_calls.push(call(asked)),
            // The thoughts of a model are not part of its answer.
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

/// The reply of a streamed answer.
pub(super) async fn streamed(
    mut answer: ChatStreamResponse,
    deltas: &mut DeltaSink<'_>,
) -> Result<LmReply, Fault> {
    let model: Arc<str> = (&*answer.model_iden.model_name).into();
    let mut text = String::new();
    while let Some(event) = answer.stream.next().await {
        match event.map_err(|error| Fault::of(&error))? {
            ChatStreamEvent::Chunk(piece) if !piece.content.is_empty() => {
                text.push_str(&piece.content);
                deltas.send(&piece.content);
            }
            ChatStreamEvent::End(end) => return finish(end, text, model),
            _ => {}
        }
    }
    Err(incomplete())
}

/// Some protocols have no final event. The stop reason distinguishes a complete answer from a lost
/// connection.
fn finish(end: StreamEnd, text: String, model: Arc<str>) -> Result<LmReply, Fault> {
    let finish_reason = Some(end.captured_stop_reason.as_ref().map(reason).ok_or_else(incomplete)?);
    let usage = usage(end.captured_usage.as_ref());
    let calls = end.captured_content.map(MessageContent::into_tool_calls).unwrap_or_default();
    let tool_calls = calls.into_iter().map(call).collect();
    Ok(LmReply { text: text.into(), tool_calls, model, finish_reason, usage })
}

fn incomplete() -> Fault {
    let why = "the connection was lost before the end of the answer".to_owned();
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

/// The finish reason in the terms of OpenAI.
fn reason(reason: &StopReason) -> Arc<str> {
    match reason {
        StopReason::Completed(_) | StopReason::StopSequence(_) => "stop".into(),
        StopReason::MaxTokens(_) => "length".into(),
        StopReason::ToolCall(_) => "tool_calls".into(),
        StopReason::ContentFilter(_) => "content_filter".into(),
        StopReason::Other(word) => word.as_str().into(),
    }
}

fn usage(reported: Option<&NativeUsage>) -> Usage {
    let count = |tokens: Option<i32>| tokens.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    let cached = |usage: &NativeUsage| usage.prompt_tokens_details.as_ref()?.cached_tokens;
    Usage {
        lm_calls: 1,
        input_tokens: count(reported.and_then(|usage| usage.prompt_tokens)),
        output_tokens: count(reported.and_then(|usage| usage.completion_tokens)),
        cached_tokens: count(reported.and_then(cached)),
        cost: None,
    }
}
