//! A streamed chat completion: chunks put together to the reply that the same answer would have
//! been in one piece. Knows no HTTP.

use std::fmt::Display;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::wire::{NoReply, Text, Tokens, usage};
use crate::lm::{Heard, LmReply, ToolCall};

/// What ends a stream.
const DONE: &str = "[DONE]";

/// No model asks for more at once; an index beyond it is nonsense.
const MOST_CALLS: usize = 1024;

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    model: Option<Text>,
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: usize,
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<Text>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<Text>,
    #[serde(default)]
    refusal: Option<Text>,
    #[serde(default)]
    tool_calls: Option<Vec<Called>>,
}

/// A piece of a call. Some servers leave the index out and send each call whole.
#[derive(Deserialize)]
struct Called {
    #[serde(default)]
    index: Option<usize>,
    #[serde(default)]
    id: Option<Text>,
    #[serde(default)]
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    name: Option<Text>,
    #[serde(default)]
    arguments: Option<String>,
}

/// A call as far as it has come.
#[derive(Default)]
struct Calling {
    id: Option<Arc<str>>,
    name: Option<Arc<str>>,
    arguments: String,
}

/// The chunks so far.
#[derive(Default)]
pub(super) struct Chunks {
    text: String,
    refusal: String,
    calls: Vec<Calling>,
    model: Option<Arc<str>>,
    finish_reason: Option<Arc<str>>,
    tokens: Option<Tokens>,
    is_done: bool,
}

impl Chunks {
    /// Takes the data of one event and hands over what it adds to the text.
    pub(super) fn take(&mut self, data: &str, heard: Heard<'_>) -> Result<(), NoReply> {
        if data.trim() == DONE {
            self.is_done = true;
            return Ok(());
        }
        let malformed = |error: &dyn Display| NoReply::Malformed(error.to_string());
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| malformed(&error))?;
        if chunk.error.is_some() {
            return Err(NoReply::Error);
        }
        self.model = self.model.take().or(chunk.model.map(|model| model.0));
        self.tokens = chunk.usage.or(self.tokens.take());
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index == 0) {
            self.finish_reason =
                choice.finish_reason.map(|reason| reason.0).or(self.finish_reason.take());
            if let Some(delta) = choice.delta {
                self.add(delta, heard)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, delta: Delta, heard: Heard<'_>) -> Result<(), NoReply> {
        if let Some(Text(piece)) = delta.content.filter(|piece| !piece.0.is_empty()) {
            self.text.push_str(&piece);
            heard(&piece);
        }
        if let Some(Text(piece)) = delta.refusal {
            self.refusal.push_str(&piece);
        }
        for called in delta.tool_calls.into_iter().flatten() {
            self.add_call(called)?;
        }
        Ok(())
    }

    fn add_call(&mut self, called: Called) -> Result<(), NoReply> {
        let index = called.index.unwrap_or(self.calls.len());
        if index >= MOST_CALLS {
            return Err(NoReply::Malformed(format!("a call of a tool has the index {index}")));
        }
        if index >= self.calls.len() {
            self.calls.resize_with(index + 1, Calling::default);
        }
        let Some(calling) = self.calls.get_mut(index) else { return Ok(()) };
        calling.id = calling.id.take().or(called.id.map(|id| id.0));
        if let Some(function) = called.function {
            calling.name = calling.name.take().or(function.name.map(|name| name.0));
            calling.arguments.push_str(function.arguments.as_deref().unwrap_or_default());
        }
        Ok(())
    }

    /// The reply, if the chunks came to its end.
    pub(super) fn finish(self, asked: &Arc<str>) -> Result<LmReply, NoReply> {
        if !self.is_done && self.finish_reason.is_none() {
            return Err(NoReply::BrokenOff);
        }
        let text = if self.text.is_empty() { self.refusal } else { self.text };
        let calls = self.calls.into_iter().enumerate();
        Ok(LmReply {
            text: text.into(),
            tool_calls: calls.filter_map(|(number, calling)| calling.finish(number)).collect(),
            model: self.model.unwrap_or_else(|| asked.clone()),
            finish_reason: self.finish_reason,
            usage: usage(self.tokens),
        })
    }
}

impl Calling {
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

    /// The reply of these events, and the pieces that were heard.
    fn read(events: &[&str]) -> (Result<LmReply, NoReply>, Vec<String>) {
        let (mut chunks, mut heard) = (Chunks::default(), Vec::new());
        for data in events {
            let taken = chunks.take(data, &mut |piece| heard.push(piece.to_owned()));
            if let Err(error) = taken {
                return (Err(error), heard);
            }
        }
        (chunks.finish(&"asked".into()), heard)
    }

    #[test]
    fn the_pieces_of_a_text_are_heard_and_together_are_the_reply() {
        let (reply, heard) = read(&[
            r#"{"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"hel"}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"content":"another choice"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
            "[DONE]",
        ]);
        let reply = reply.unwrap();
        assert_eq!(heard, ["hel", "lo"]);
        assert_eq!((&*reply.text, &*reply.model), ("hello", "m-1"));
        assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
        assert_eq!((reply.usage.lm_calls, reply.usage.input_tokens), (1, 3));
        assert_eq!(reply.usage.output_tokens, 2);
    }

    #[test]
    fn calls_of_tools_are_put_together_by_their_index() {
        let (reply, heard) = read(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"add","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}},{"index":1,"function":{"name":"now"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}"#,
        ]);
        let told = |call: &ToolCall| format!("{} {} {}", call.id, call.name, call.arguments);
        let calls: Vec<_> = reply.unwrap().tool_calls.iter().map(told).collect();
        assert_eq!(calls, [r#"a add {"x":1}"#, "call_1 now {}"]);
        assert!(heard.is_empty());
    }

    #[test]
    fn a_stream_that_ends_too_soon_or_holds_an_error_is_no_reply() {
        let hello = r#"{"choices":[{"delta":{"content":"hello"}}]}"#;
        assert_eq!(read(&[hello]).0, Err(NoReply::BrokenOff));
        assert_eq!(read(&[]).0, Err(NoReply::BrokenOff));
        let failed = r#"{"error":{"message":"overloaded"}}"#;
        assert_eq!(read(&[hello, failed]), (Err(NoReply::Error), vec!["hello".to_owned()]));
        assert!(matches!(read(&["<html>"]).0, Err(NoReply::Malformed(_))));
        let many = r#"{"choices":[{"delta":{"tool_calls":[{"index":999999999999}]}}]}"#;
        assert!(matches!(read(&[many]).0, Err(NoReply::Malformed(_))));
        assert_eq!(&*read(&["[DONE]"]).0.unwrap().text, "");
    }

    #[test]
    fn a_refusal_is_a_text_that_was_not_heard() {
        let (reply, heard) =
            read(&[r#"{"choices":[{"delta":{"refusal":"i will not"},"finish_reason":"stop"}]}"#]);
        assert_eq!(&*reply.unwrap().text, "i will not");
        assert!(heard.is_empty());
    }
}
