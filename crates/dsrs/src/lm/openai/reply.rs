//! The wire format of a chat completion, deserialized straight into a reply. Knows no HTTP.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::lm::{LmReply, ToolCall, Usage};

#[derive(Deserialize)]
struct Completion {
    #[serde(default)]
    model: Option<WireText>,
    #[serde(default)]
    choices: Option<Vec<CompletionChoice>>,
    #[serde(default)]
    usage: Option<TokenCounts>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    object: Option<WireText>,
}

#[derive(Deserialize)]
struct CompletionChoice {
    message: CompletionMessage,
    #[serde(default)]
    finish_reason: Option<WireText>,
}

#[derive(Deserialize)]
struct CompletionMessage {
    #[serde(default)]
    content: Option<WireText>,
    #[serde(default)]
    refusal: Option<WireText>,
    #[serde(default)]
    tool_calls: Option<Vec<WireToolCall>>,
}

/// A tool call. Some providers omit the id, some write the arguments as an object.
#[derive(Deserialize)]
struct WireToolCall {
    #[serde(default)]
    id: Option<WireText>,
    function: WireFunction,
}

#[derive(Deserialize)]
struct WireFunction {
    name: WireText,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

/// Arguments as text: the content of a string, or the JSON of anything else.
pub(super) fn arguments(raw: &RawValue) -> Cow<'_, str> {
    serde_json::from_str(raw.get()).map_or(Cow::Borrowed(raw.get()), Cow::Owned)
}

#[derive(Deserialize)]
pub(super) struct TokenCounts {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptTokenDetails>,
}

#[derive(Deserialize)]
struct PromptTokenDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

/// A text, or a list of parts whose texts are joined. Deserialized by hand, because serde copies a
/// text twice when it makes an `Arc<str>`.
pub(super) struct WireText(pub(super) Arc<str>);

#[derive(Deserialize)]
struct TextPart {
    #[serde(default)]
    text: Option<String>,
}

impl<'de> Deserialize<'de> for WireText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = WireText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<WireText, E> {
        Ok(WireText(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<WireText, A::Error> {
        let mut text = String::new();
        while let Some(part) = parts.next_element::<TextPart>()? {
            text.push_str(part.text.as_deref().unwrap_or_default());
        }
        Ok(WireText(text.into()))
    }
}

/// Why an answer of status 200 is no reply.
#[derive(Debug, PartialEq)]
pub(super) enum NoReply {
    /// It contains an error of the provider.
    Error,
    /// It is not a chat completion.
    Malformed(String),
    /// It ended too early.
    Incomplete,
    /// It exceeds the limit of an answer.
    TooLarge,
}

/// The failure of an answer without choices.
pub(super) fn no_choices() -> NoReply {
    NoReply::Malformed("it has no choices".into())
}

/// Whether the `object` of an answer says that it is an error, as vLLM writes them.
pub(super) fn is_error(object: WireText) -> bool {
    &*object.0 == "error"
}

/// Reads an answer. An answer without text is a reply with an empty text; the adapter reports it. A
/// refusal is a reply, too.
pub(super) fn reply(body: &[u8], asked: &Arc<str>) -> Result<LmReply, NoReply> {
    let malformed = |error: &dyn fmt::Display| NoReply::Malformed(error.to_string());
    // Checked once here instead of for each text in it.
    let body = str::from_utf8(body).map_err(|error| malformed(&error))?;
    let completion: Completion = serde_json::from_str(body).map_err(|error| malformed(&error))?;
    let Some(choice) = completion.choices.into_iter().flatten().next() else {
        let is_error = completion.error.is_some() || completion.object.is_some_and(is_error);
        return Err(if is_error { NoReply::Error } else { no_choices() });
    };
    let message = choice.message;
    let text = message.content.filter(|text| !text.0.is_empty()).or(message.refusal);
    let calls = message.tool_calls.into_iter().flatten().enumerate();
    Ok(LmReply {
        tool_calls: calls.map(|(number, called)| call(number, called)).collect(),
        text: text.map_or_else(|| "".into(), |text| text.0),
        model: completion.model.map_or_else(|| asked.clone(), |model| model.0),
        finish_reason: choice.finish_reason.map(|reason| reason.0),
        usage: usage(completion.usage),
    })
}

fn call(number: usize, called: WireToolCall) -> ToolCall {
    let id = called.id.map_or_else(|| format!("call_{number}").into(), |id| id.0);
    let given = called.function.arguments.as_deref().map(arguments);
    let arguments = given.map_or_else(|| "{}".into(), Arc::from);
    ToolCall { id, arguments, name: called.function.name.0 }
}

pub(super) fn usage(tokens: Option<TokenCounts>) -> Usage {
    let mut usage = Usage { lm_calls: 1, ..Usage::default() };
    if let Some(tokens) = tokens {
        usage.input_tokens = tokens.prompt_tokens.unwrap_or(0);
        usage.output_tokens = tokens.completion_tokens.unwrap_or(0);
        let cached = tokens.prompt_tokens_details.and_then(|details| details.cached_tokens);
        usage.cached_tokens = cached.unwrap_or(0);
    }
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<LmReply, NoReply> {
        reply(body.as_bytes(), &"asked".into())
    }

    #[test]
    fn a_reply_has_text_model_finish_reason_and_tokens() {
        let got = read(
            r#"{"id":"x","model":"small-1","choices":[{"index":0,"message":{"role":"assistant",
            "content":"caf\u00e9\n"},"finish_reason":"length"}],"usage":{"prompt_tokens":9,
            "completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}"#,
        )
        .unwrap();
        assert_eq!((&*got.text, &*got.model), ("café\n", "small-1"));
        assert_eq!(got.finish_reason.as_deref(), Some("length"));
        let usage = got.usage;
        assert_eq!((usage.lm_calls, usage.input_tokens, usage.output_tokens), (1, 9, 2));
        assert_eq!((usage.cached_tokens, usage.cost), (4, None));
    }

    #[test]
    fn a_missing_text_is_empty_and_a_refusal_is_a_text() {
        let text = |message: &str| {
            let got = read(&format!(r#"{{"choices":[{{"message":{message}}}]}}"#)).unwrap();
            (got.text.to_string(), got.model.to_string(), got.usage.lm_calls)
        };
        assert_eq!(text(r#"{"content":null}"#), (String::new(), "asked".into(), 1));
        assert_eq!(text("{}").0, "");
        assert_eq!(text(r#"{"content":null,"refusal":"i will not"}"#).0, "i will not");
        assert_eq!(
            text(r#"{"content":[{"type":"thinking"},{"type":"text","text":"a"},{"text":"b"}]}"#).0,
            "ab"
        );
    }

    #[test]
    fn tool_calls_are_read_in_every_spelling_of_servers() {
        let calls = |calls: &str| {
            let body =
                format!(r#"{{"choices":[{{"message":{{"content":null,"tool_calls":{calls}}}}}]}}"#);
            let calls = read(&body).unwrap().tool_calls;
            let line = |call: &ToolCall| format!("{} {} {}", call.id, call.name, call.arguments);
            calls.iter().map(line).collect::<Vec<_>>()
        };
        let usual =
            r#"[{"id":"a","type":"function","function":{"name":"add","arguments":"{\"x\":1}"}}]"#;
        assert_eq!(calls(usual), [r#"a add {"x":1}"#]);
        let bare =
            r#"[{"function":{"name":"add","arguments":{"x":1}}},{"function":{"name":"now"}}]"#;
        assert_eq!(calls(bare), [r#"call_0 add {"x":1}"#, "call_1 now {}"]);
        assert_eq!(calls("null"), Vec::<String>::new());
    }

    #[test]
    fn an_answer_that_is_no_completion_has_a_reason() {
        let reason = |body: &str| match read(body) {
            Err(NoReply::Malformed(reason)) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(reason(r#"{"choices":[]}"#), "it has no choices");
        assert_eq!(reason("{}"), "it has no choices");
        assert!(reason("<html>").contains("expected value"));
        assert!(reason(r#"{"choices":[{"message":{"content":"#).contains("EOF"));
        assert!(reason(r#"{"choices":[{"message":{"content":7}}]}"#).contains("a text"));
        assert_eq!(read(r#"{"error":{"message":"overloaded"}}"#), Err(NoReply::Error));
        assert_eq!(read(r#"{"object":"error","message":"overloaded"}"#), Err(NoReply::Error));
    }
}
