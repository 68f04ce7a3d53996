//! The chunks of a streamed chat completion, combined into the reply that a whole answer would be.
//! Knows no HTTP.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::reply::{
    NoReply, answer_id, arguments, is_error, no_choices, reason, refusal, unless_failed,
};
use super::token_counts::{TokenCounts, usage};
use super::wire_logprobs::token_logprobs;
use super::wire_text::{LooseText, WireText};
use crate::lm::sse::SseEvent;
use crate::lm::{DeltaSink, LmReply, OmittedParams, ReplyReasoning, TokenLogprobs, ToolCall};

/// The data of the last event of a stream.
const DONE: &str = "[DONE]";

/// The name of an event that contains an error of the provider.
const ERROR: &str = "error";

/// The names of events that hold a chunk.
const USUAL: [&str; 2] = ["", "message"];

/// No model makes more tool calls at once.
const MOST_CALLS: usize = 1024;

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(default, borrow)]
    id: LooseText<'a>,
    #[serde(default)]
    model: Option<WireText>,
    #[serde(default)]
    choices: Option<Vec<ChunkChoice>>,
    #[serde(default)]
    usage: Option<TokenCounts>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default, borrow)]
    object: LooseText<'a>,
}

#[derive(Deserialize)]
struct ChunkChoice {
    #[serde(default)]
    index: usize,
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<WireText>,
    /// An error of the provider, as OpenRouter writes it.
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    content_filter_results: Option<Value>,
    #[serde(default)]
    logprobs: Option<Value>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<WireText>,
    #[serde(default)]
    refusal: Option<WireText>,
    #[serde(default)]
    reasoning_content: Option<WireText>,
    #[serde(default)]
    reasoning: Option<WireText>,
    #[serde(default)]
    tool_calls: Option<Vec<ToolCallDelta>>,
}

/// A part of a tool call. Some servers omit the index or use the same one for all calls, and send
/// each call in one chunk; some send the arguments as an object.
#[derive(Deserialize)]
struct ToolCallDelta {
    #[serde(default)]
    index: Option<usize>,
    #[serde(default)]
    id: Option<WireText>,
    #[serde(default)]
    function: Option<Function>,
}

#[derive(Default, Deserialize)]
struct Function {
    #[serde(default)]
    name: Option<WireText>,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

/// A tool call as far as it has arrived.
#[derive(Default)]
struct PartialToolCall {
    /// Its position among the calls, according to the server.
    index: usize,
    id: Option<Arc<str>>,
    name: Option<Arc<str>>,
    arguments: String,
}

/// The chunks so far.
pub(super) struct Chunks {
    text: String,
    refusal: String,
    reasoning: String,
    calls: Vec<PartialToolCall>,
    logprobs: Vec<TokenLogprobs>,
    id: Option<Arc<str>>,
    model: Option<Arc<str>>,
    finish_reason: Option<Arc<str>>,
    /// The results of Azure's filter that came last.
    filters: Option<Value>,
    tokens: Option<TokenCounts>,
    /// How many more bytes of text and calls are accepted.
    room: usize,
    /// The same for reasoning.
    reasoning_room: usize,
    /// Whether any choice has arrived.
    has_choice: bool,
    has_usage: bool,
    is_done: bool,
}

impl Chunks {
    /// No chunks yet. At most `limit` bytes of text and calls are accepted.
    pub(super) const fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            refusal: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
            logprobs: Vec::new(),
            id: None,
            model: None,
            finish_reason: None,
            filters: None,
            tokens: None,
            room: limit,
            reasoning_room: limit,
            has_choice: false,
            has_usage: false,
            is_done: false,
        }
    }

    /// Whether nothing relevant follows.
    pub(super) const fn are_done(&self) -> bool {
        self.is_done
    }

    /// Whether the usage of the whole answer has arrived, behind which only the end of the stream follows.
    pub(super) const fn have_usage(&self) -> bool {
        self.has_usage
    }

    /// Whether the answer is complete. Its usage may follow.
    pub(super) const fn are_finished(&self) -> bool {
        self.is_done || self.finish_reason.is_some()
    }

    /// Reads one event and sends the text that it adds.
    pub(super) fn push(
        &mut self,
        event: &SseEvent,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<(), NoReply> {
        if event.name == ERROR {
            return Err(NoReply::Error);
        }
        match self.push_data(&event.data, deltas) {
            // Gateways that leave out the blank line between events send several in one.
            Err(NoReply::BrokenEvent(_)) if event.data.contains('\n') => {
                event.data.lines().try_for_each(|line| self.push_data(line, deltas))
            }
            // An event that a server adds, such as a sign of life.
            Err(NoReply::BrokenEvent(_)) if !USUAL.contains(&event.name.as_str()) => Ok(()),
            outcome => outcome,
        }
    }

    fn push_data(&mut self, data: &str, deltas: &mut DeltaSink<'_>) -> Result<(), NoReply> {
        let data = data.trim();
        if data == DONE {
            self.is_done = true;
        }
        if self.is_done || data.is_empty() {
            return Ok(());
        }
        let broken = |error: serde_json::Error| NoReply::BrokenEvent(error.to_string());
        self.push_chunk(serde_json::from_str(data).map_err(broken)?, deltas)
    }

    fn push_chunk(&mut self, chunk: Chunk<'_>, deltas: &mut DeltaSink<'_>) -> Result<(), NoReply> {
        if chunk.error.is_some() || is_error(&chunk.object) {
            return Err(NoReply::Error);
        }
        self.id = self.id.take().or_else(|| answer_id(&chunk.id));
        self.model = self.model.take().or(chunk.model.map(|model| model.0));
        let counts = chunk.usage.is_some();
        self.tokens = chunk.usage.or(self.tokens.take());
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index == 0) {
            self.has_choice = true;
            if choice.error.is_some() {
                return Err(NoReply::Error);
            }
            self.finish_reason = reason(choice.finish_reason).or(self.finish_reason.take());
            self.filters = choice.content_filter_results.or(self.filters.take());
            self.add_logprobs(choice.logprobs)?;
            if let Some(delta) = choice.delta {
                self.add(delta, deltas)?;
            }
        }
        // Some servers count the tokens so far in every chunk.
        self.has_usage = counts && self.finish_reason.is_some();
        Ok(())
    }

    fn add(&mut self, delta: Delta, deltas: &mut DeltaSink<'_>) -> Result<(), NoReply> {
        if let Some(WireText(piece)) = delta.content.filter(|piece| !piece.0.is_empty()) {
            self.reserve(piece.len())?;
            self.text.push_str(&piece);
            deltas.send(&piece);
        }
        if let Some(WireText(piece)) = delta.refusal {
            self.reserve(piece.len())?;
            self.refusal.push_str(&piece);
        }
        if let Some(WireText(piece)) = delta.reasoning_content.or(delta.reasoning) {
            self.add_reasoning(&piece);
        }
        for called in delta.tool_calls.into_iter().flatten() {
            self.add_call(called)?;
        }
        Ok(())
    }

    /// Reasoning is not the answer: what exceeds its room is dropped.
    fn add_reasoning(&mut self, piece: &str) {
        if let Some(room) = self.reasoning_room.checked_sub(piece.len()) {
            self.reasoning_room = room;
            self.reasoning.push_str(piece);
        }
    }

    fn add_call(&mut self, called: ToolCallDelta) -> Result<(), NoReply> {
        let function = called.function.unwrap_or_default();
        let given = function.arguments.as_deref().map(arguments).unwrap_or_default();
        let id = called.id.as_ref().map_or(0, |id| id.0.len());
        let name = function.name.as_ref().map_or(0, |name| name.0.len());
        self.reserve(given.len() + id + name)?;
        let calling = match self.calling(called.index, called.id.as_ref(), function.name.is_some())
        {
            Some(at) => self.calls.get_mut(at),
            None if self.calls.len() >= MOST_CALLS => {
                let reason = format!("it calls more than {MOST_CALLS} tools at once");
                return Err(NoReply::Malformed(reason));
            }
            None => {
                let index = called.index.unwrap_or(self.calls.len());
                Some(self.calls.push_mut(PartialToolCall { index, ..PartialToolCall::default() }))
            }
        };
        let Some(calling) = calling else { return Ok(()) };
        calling.id = calling.id.take().or(called.id.map(|id| id.0));
        calling.name = calling.name.take().or(function.name.map(|name| name.0));
        calling.arguments.push_str(&given);
        Ok(())
    }

    /// The call that a part belongs to; `None` if it begins a call. Ids take precedence over indexes.
    /// A part without id, index and name belongs to the last call.
    fn calling(
        &self,
        index: Option<usize>,
        id: Option<&WireText>,
        is_named: bool,
    ) -> Option<usize> {
        let has_id = |calling: &PartialToolCall| match (id, &calling.id) {
            (Some(id), Some(known)) => id.0 == *known,
            _ => true,
        };
        match (index, id) {
            (Some(index), _) => {
                self.calls.iter().rposition(|calling| calling.index == index && has_id(calling))
            }
            (None, Some(id)) => {
                self.calls.iter().rposition(|calling| calling.id.as_ref() == Some(&id.0))
            }
            (None, None) if is_named => None,
            (None, None) => self.calls.len().checked_sub(1),
        }
    }

    fn add_logprobs(&mut self, logprobs: Option<Value>) -> Result<(), NoReply> {
        for token in token_logprobs(logprobs) {
            let texts = token.alternatives.iter().map(|(text, _)| text.len());
            self.reserve(texts.sum())?;
            self.logprobs.push(token);
        }
        Ok(())
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), NoReply> {
        self.room = self.room.checked_sub(bytes).ok_or(NoReply::TooLarge)?;
        Ok(())
    }

    /// The reply, if it is complete.
    pub(super) fn finish(self, asked: &Arc<str>) -> Result<LmReply, NoReply> {
        if !self.are_finished() {
            return Err(NoReply::Incomplete);
        }
        if !self.has_choice {
            return Err(no_choices());
        }
        let mut calls = self.calls;
        calls.sort_by_key(|calling| calling.index);
        let calls = calls.into_iter().enumerate();
        unless_failed(LmReply {
            text: self.text.into(),
            tool_calls: calls.filter_map(|(number, calling)| calling.finish(number)).collect(),
            reasoning: ReplyReasoning::of(self.reasoning),
            omitted: OmittedParams::default(),
            model: self.model.unwrap_or_else(|| asked.clone()),
            id: self.id,
            finish_reason: self.finish_reason,
            refusal: refusal(Some(self.refusal.into()), self.filters.as_ref()),
            logprobs: self.logprobs,
            usage: usage(self.tokens),
        })
    }
}

impl PartialToolCall {
    fn finish(self, number: usize) -> Option<ToolCall> {
        let id = self.id.unwrap_or_else(|| format!("call_{number}").into());
        let empty = self.arguments.trim().is_empty();
        let arguments = if empty { "{}".into() } else { self.arguments.into() };
        Some(ToolCall { id, name: self.name?, arguments })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reply of these events, and its deltas.
    fn read(events: &[&str]) -> (Result<LmReply, NoReply>, Vec<String>) {
        let (mut chunks, mut deltas) = (Chunks::new(1000), Vec::new());
        let mut receive = |delta: &str| deltas.push(delta.to_owned());
        let mut sink = DeltaSink::to(&mut receive);
        for data in events {
            let (name, data) = data
                .split_once("=")
                .filter(|(name, _)| ["error", "ping"].contains(name))
                .unwrap_or(("", data));
            let event = SseEvent { name: name.to_owned(), data: data.to_owned() };
            if let Err(error) = chunks.push(&event, &mut sink) {
                return (Err(error), deltas);
            }
        }
        (chunks.finish(&"asked".into()), deltas)
    }

    #[test]
    fn the_deltas_of_a_text_together_are_the_reply() {
        let (reply, deltas) = read(&[
            r#"{"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"hel"}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"content":"another choice"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
            "[DONE]",
        ]);
        let reply = reply.unwrap();
        assert_eq!(deltas, ["hel", "lo"]);
        assert_eq!((&*reply.text, &*reply.model), ("hello", "m-1"));
        assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
        assert_eq!((reply.usage.lm_calls, reply.usage.input_tokens), (1, 3));
        assert_eq!(reply.usage.output_tokens, 2);
    }

    #[test]
    fn reasoning_arrives_before_the_text_and_is_not_streamed() {
        let (reply, deltas) = read(&[
            r#"{"choices":[{"delta":{"reasoning_content":"2 and"}}]}"#,
            r#"{"choices":[{"delta":{"reasoning_content":" 2","content":null}}]}"#,
            r#"{"choices":[{"delta":{"content":"4"},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ]);
        let reply = reply.unwrap();
        assert_eq!((&*reply.text, reply.reasoning.unwrap().text()), ("4", "2 and 2".to_owned()));
        assert_eq!(deltas, ["4"]);
    }

    #[test]
    fn probabilities_of_tokens_are_collected_from_the_chunks() {
        let (reply, _) = read(&[
            r#"{"choices":[{"delta":{"content":"ye"},"logprobs":{"content":[{"token":"ye","logprob":-0.5}]}}]}"#,
            r#"{"choices":[{"delta":{"content":"s"},"logprobs":{"content":[{"token":"s","logprob":-1}]}}]}"#,
            r#"{"choices":[{"delta":{},"logprobs":null,"finish_reason":"stop"}]}"#,
            "[DONE]",
        ]);
        let wanted = [TokenLogprobs::of("ye", -0.5, []), TokenLogprobs::of("s", -1.0, [])];
        assert_eq!(reply.unwrap().logprobs, wanted);
    }

    /// The calls that these parts form, each part in its own chunk.
    fn calls(pieces: &[&str]) -> Vec<String> {
        let chunk =
            |piece: &&str| format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{piece}]}}}}]}}"#);
        let mut chunks: Vec<String> = pieces.iter().map(chunk).collect();
        chunks.push(r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#.into());
        let (reply, deltas) = read(&chunks.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(deltas.is_empty());
        let line = |call: &ToolCall| format!("{} {} {}", call.id, call.name, call.arguments);
        reply.unwrap().tool_calls.iter().map(line).collect()
    }

    #[test]
    fn tool_calls_are_combined_by_their_index() {
        let pieces = [
            r#"{"index":0,"id":"a","function":{"name":"add","arguments":""}}"#,
            r#"{"index":0,"function":{"arguments":"{\"x\":"}},{"index":1,"function":{"name":"now"}}"#,
            r#"{"index":0,"function":{"arguments":"1}"}}"#,
        ];
        assert_eq!(calls(&pieces), [r#"a add {"x":1}"#, "call_1 now {}"]);
    }

    #[test]
    fn calls_of_one_index_are_distinguished_by_their_ids() {
        let pieces = [
            r#"{"index":0,"id":"a","function":{"name":"add","arguments":"{\"x\":"}}"#,
            r#"{"index":0,"function":{"arguments":"1}"}}"#,
            r#"{"index":0,"id":"b","function":{"name":"add","arguments":"{\"x\":"}}"#,
            r#"{"index":0,"id":"b","function":{"arguments":"2}"}}"#,
        ];
        assert_eq!(calls(&pieces), [r#"a add {"x":1}"#, r#"b add {"x":2}"#]);
    }

    #[test]
    fn a_part_without_index_id_and_name_belongs_to_the_last_call() {
        let pieces = [
            r#"{"id":"a","function":{"name":"add","arguments":"{\"x\":"}}"#,
            r#"{"function":{"arguments":"1"}}"#,
            r#"{"id":"a","function":{"arguments":"}"}}"#,
            r#"{"function":{"name":"now"}}"#,
        ];
        assert_eq!(calls(&pieces), [r#"a add {"x":1}"#, "call_1 now {}"]);
    }

    #[test]
    fn arguments_may_be_an_object() {
        let pieces = [r#"{"index":0,"id":"a","function":{"name":"add","arguments":{"x":1}}}"#];
        assert_eq!(calls(&pieces), [r#"a add {"x":1}"#]);
    }

    #[test]
    fn an_incomplete_stream_or_one_with_an_error_is_no_reply() {
        let hello = r#"{"choices":[{"delta":{"content":"hello"}}]}"#;
        assert_eq!(read(&[hello]).0, Err(NoReply::Incomplete));
        assert_eq!(read(&[]).0, Err(NoReply::Incomplete));
        let failed = r#"{"error":{"message":"overloaded"}}"#;
        assert_eq!(read(&[hello, failed]), (Err(NoReply::Error), vec!["hello".to_owned()]));
        assert!(matches!(read(&["<html>"]).0, Err(NoReply::BrokenEvent(_))));
        let call = |number: usize| format!(r#"{{"index":{number}}}"#);
        let many = (0..=MOST_CALLS).map(call).collect::<Vec<_>>().join(",");
        let many = format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{many}]}}}}]}}"#);
        assert!(matches!(read(&[&many]).0, Err(NoReply::Malformed(_))));
        let long = format!(r#"{{"choices":[{{"delta":{{"content":"{}"}}}}]}}"#, "x".repeat(501));
        assert_eq!(read(&[&long, &long]).0, Err(NoReply::TooLarge));
    }

    #[test]
    fn events_of_odd_servers_are_read() {
        let one = r#"{"choices":[{"delta":{"content":"hel"},"finish_reason":""}]}"#;
        let two = r#"{"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}"#;
        let glued = format!("{one}\n{two}\n[DONE]");
        for events in [&[one, "", "  ", two, "[DONE]"][..], &[&glued], &[one, "ping=alive", two]] {
            assert_eq!(&*read(events).0.unwrap().text, "hello", "{events:?}");
        }
        assert_eq!(read(&[one]).0, Err(NoReply::Incomplete));
        assert_eq!(read(&[one, two, r#"{"error":{"code":502}}"#]).0, Err(NoReply::Error));
        let choice = r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":429}}]}"#;
        assert_eq!(read(&[one, choice]).0, Err(NoReply::Error));
        let named = r#"{"choices":[{"delta":{},"finish_reason":"abort"}]}"#;
        assert_eq!(read(&[one, named]).0, Err(NoReply::Failed("abort".into())));
    }

    #[test]
    fn a_stream_without_choices_is_no_reply() {
        let usage = r#"{"choices":[],"usage":{"prompt_tokens":3}}"#;
        for events in [&["[DONE]"][..], &[usage, "[DONE]"]] {
            assert_eq!(read(events).0, Err(NoReply::Malformed("it has no choices".into())));
        }
        let empty = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
        assert_eq!(&*read(&[empty, "[DONE]"]).0.unwrap().text, "");
    }

    #[test]
    fn an_event_or_an_object_may_be_an_error_of_the_provider() {
        for error in ["error={}", "error=overloaded", r#"{"object":"error","message":"no"}"#] {
            assert_eq!(read(&[error]).0, Err(NoReply::Error), "{error}");
        }
    }

    #[test]
    fn a_refusal_is_no_text_and_is_not_streamed() {
        let (reply, deltas) =
            read(&[r#"{"choices":[{"delta":{"refusal":"i will not"},"finish_reason":"stop"}]}"#]);
        let reply = reply.unwrap();
        assert_eq!((&*reply.text, reply.refusal.as_deref()), ("", Some("i will not")));
        assert!(deltas.is_empty());
    }
}
