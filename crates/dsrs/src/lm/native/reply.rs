//! Reads whole and streamed answers of the library as replies.

use std::sync::Arc;

use futures_util::StreamExt;
use genai::chat::{
    ChatResponse, ChatStreamEvent, ChatStreamResponse, ContentPart, MessageContent, StopReason,
    StreamEnd, ToolCall as NativeCall, Usage as NativeUsage,
};
use serde_json::Value;

use super::end_notes::{EndNotes, NoteCollector};
use super::fault::Fault;
use crate::lm::{
    AnswerEnd, DeltaSink, LmErrorKind, LmReply, OmittedParams, ReplyReasoning, ToolCall, Usage,
};

/// The reply of a whole answer.
pub(super) fn whole(answer: ChatResponse) -> Result<LmReply, Fault> {
    let notes = answer.captured_raw_body.as_ref().map(EndNotes::of).unwrap_or_default();
    if let Some(fault) = Fault::blocked(&notes) {
        return Err(fault);
    }
    let parts = ReplyParts::of(answer.content);
    let reported = answer.stop_reason.as_ref().map(reason);
    let finish_reason = notes.incomplete.clone().or(reported);
    unless_failed(LmReply {
        reasoning: parts.reasoning(answer.reasoning_content),
        text: parts.text.into(),
        tool_calls: parts.tool_calls,
        omitted: OmittedParams::default(),
        model: (&*answer.provider_model_iden.model_name).into(),
        id: answer.response_id.map(Arc::from),
        refusal: notes.refusal_of(finish_reason.as_deref()),
        finish_reason,
        logprobs: Vec::new(),
        usage: usage(Some(&answer.usage)),
    })
}

/// The reply, unless its finish reason says that the provider failed.
fn unless_failed(reply: LmReply) -> Result<LmReply, Fault> {
    match (reply.end(), &reply.finish_reason) {
        (AnswerEnd::Failed, Some(reason)) => {
            let what = format!("the answer ended with `{reason}`: the provider failed");
            Err(Fault::new(LmErrorKind::Provider, what))
        }
        _ => Ok(reply),
    }
}

/// The content of an answer.
#[derive(Default)]
struct ReplyParts {
    text: String,
    tool_calls: Vec<ToolCall>,
    thoughts: Vec<Arc<str>>,
    signatures: Vec<Arc<str>>,
}

impl ReplyParts {
    fn of(content: MessageContent) -> Self {
        let mut found = Self::default();
        for part in content.into_parts() {
            match part {
                ContentPart::Text(piece) => found.text.push_str(&piece),
                ContentPart::ToolCall(asked) => found.add_call(asked),
                ContentPart::ReasoningContent(text) => found.thoughts.push(text.into()),
                ContentPart::ThoughtSignature(text) => found.sign(text),
                _ => {}
            }
        }
        found
    }

    fn add_call(&mut self, asked: NativeCall) {
        for signature in asked.thought_signatures.iter().flatten() {
            self.sign(signature.clone());
        }
        self.tool_calls.push(call(asked));
    }

    /// Signatures of calls are repeated beside them.
    fn sign(&mut self, signature: String) {
        if !self.signatures.iter().any(|known| **known == *signature) {
            self.signatures.push(signature.into());
        }
    }

    /// The reasoning in the content, else the text that stands beside it.
    fn reasoning(&self, beside: Option<String>) -> Option<Arc<ReplyReasoning>> {
        let mut texts = self.thoughts.clone();
        if texts.is_empty() {
            texts.extend(beside.filter(|text| !text.trim().is_empty()).map(Arc::from));
        }
        let signatures = self.signatures.clone();
        let is_empty = texts.is_empty() && signatures.is_empty();
        (!is_empty).then(|| Arc::new(ReplyReasoning { texts, signatures }))
    }
}

/// The reply of a streamed answer.
pub(super) async fn streamed(
    mut answer: ChatStreamResponse,
    deltas: &mut DeltaSink<'_>,
    most_bytes: usize,
    collector: &NoteCollector,
) -> Result<LmReply, Fault> {
    let model: Arc<str> = (&*answer.model_iden.model_name).into();
    let (mut text, mut bytes) = (String::new(), 0);
    while let Some(event) = answer.stream.next().await {
        let event = event.map_err(|error| {
            Fault::blocked(&collector.notes()).unwrap_or_else(|| Fault::of(&error))
        })?;
        bytes += size(&event);
        if bytes > most_bytes {
            let why = "the answer is too large".to_owned();
            return Err(Fault::new(LmErrorKind::Malformed, why));
        }
        match event {
            ChatStreamEvent::Chunk(piece) if !piece.content.is_empty() => {
                text.push_str(&piece.content);
                deltas.send(&piece.content);
            }
            ChatStreamEvent::End(end) => return finish(end, text, model, collector.notes()),
            _ => {}
        }
    }
    Err(incomplete())
}

/// About how many bytes an event adds to what the library stores of the answer.
fn size(event: &ChatStreamEvent) -> usize {
    const BASE: usize = 16;
    BASE + match event {
        ChatStreamEvent::Chunk(piece)
        | ChatStreamEvent::ReasoningChunk(piece)
        | ChatStreamEvent::ThoughtSignatureChunk(piece) => piece.content.len(),
        // Some protocols repeat the arguments so far.
        _ => 0,
    }
}

/// Some protocols have no final event. The stop reason distinguishes a complete answer from a lost
/// connection.
fn finish(
    end: StreamEnd,
    text: String,
    model: Arc<str>,
    notes: EndNotes,
) -> Result<LmReply, Fault> {
    if let Some(fault) = Fault::blocked(&notes) {
        return Err(fault);
    }
    let reported = end.captured_stop_reason.as_ref().map(reason).ok_or_else(incomplete)?;
    let finish_reason = Some(notes.incomplete.clone().unwrap_or(reported));
    let usage = usage(end.captured_usage.as_ref());
    let parts = end.captured_content.map(ReplyParts::of).unwrap_or_default();
    unless_failed(LmReply {
        reasoning: parts.reasoning(end.captured_reasoning_content),
        text: text.into(),
        tool_calls: parts.tool_calls,
        omitted: OmittedParams::default(),
        model,
        id: end.captured_response_id.map(Arc::from),
        refusal: notes.refusal_of(finish_reason.as_deref()),
        finish_reason,
        logprobs: Vec::new(),
        usage,
    })
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
    let Some(reported) = reported else { return Usage { lm_calls: 1, ..Usage::default() } };
    let input = reported.prompt_tokens_details.as_ref();
    let output = reported.completion_tokens_details.as_ref();
    Usage {
        lm_calls: 1,
        input_tokens: count(reported.prompt_tokens),
        output_tokens: count(reported.completion_tokens),
        reasoning_tokens: count(output.and_then(|details| details.reasoning_tokens)),
        cached_tokens: count(input.and_then(|details| details.cached_tokens)),
        cache_write_tokens: count(input.and_then(|details| details.cache_creation_tokens)),
        cost: None,
    }
}
