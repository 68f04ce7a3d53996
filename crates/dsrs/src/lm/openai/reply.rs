//! The wire format of a chat completion, deserialized straight into a reply. Knows no HTTP.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lm::{LmReply, OmittedParams, ReplyReasoning, ToolCall, Usage};

#[derive(Deserialize)]
struct Completion {
    #[serde(default)]
    id: Option<Value>,
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
    /// The reasoning, as DeepSeek, vLLM, SGLang and llama.cpp name it.
    #[serde(default)]
    reasoning_content: Option<WireText>,
    /// The reasoning, as OpenRouter, Groq and Ollama name it.
    #[serde(default)]
    reasoning: Option<WireText>,
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
    prompt_tokens: TokenCount,
    #[serde(default)]
    completion_tokens: TokenCount,
    #[serde(default)]
    prompt_tokens_details: Option<PromptTokenDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionTokenDetails>,
    /// The cached tokens, as DeepSeek names them.
    #[serde(default)]
    prompt_cache_hit_tokens: TokenCount,
    /// What the request cost, as OpenRouter reports it.
    #[serde(default)]
    cost: Option<Value>,
}

#[derive(Deserialize)]
struct PromptTokenDetails {
    #[serde(default)]
    cached_tokens: TokenCount,
    /// As OpenRouter and LiteLLM name it.
    #[serde(default, alias = "cache_creation_tokens")]
    cache_write_tokens: TokenCount,
}

#[derive(Deserialize)]
struct CompletionTokenDetails {
    #[serde(default)]
    reasoning_tokens: TokenCount,
}

/// A number of tokens. Some servers write it as a float or as a text; an odd one does not spoil an answer that
/// was paid for.
#[derive(Clone, Copy, Default)]
struct TokenCount(Option<u64>);

/// More tokens than any request has.
const MOST_TOKENS: u64 = 1 << 40;

impl<'de> Deserialize<'de> for TokenCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = match Value::deserialize(deserializer)? {
            Value::Number(number) => number.as_f64(),
            Value::String(digits) => digits.trim().parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| *number >= 0.0);
        // A cast saturates.
        Ok(Self(number.map(|number| (number as u64).min(MOST_TOKENS))))
    }
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

    /// Some gateways describe reasoning by an object, which is no text.
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<WireText, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(WireText("".into()))
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
    let reasoning = message.reasoning_content.or(message.reasoning);
    let calls = message.tool_calls.into_iter().flatten().enumerate();
    Ok(LmReply {
        tool_calls: calls.map(|(number, called)| call(number, called)).collect(),
        text: text.map_or_else(|| "".into(), |text| text.0),
        reasoning: reasoning.and_then(|text| ReplyReasoning::of(text.0)),
        omitted: OmittedParams::default(),
        model: completion.model.map_or_else(|| asked.clone(), |model| model.0),
        id: completion.id.as_ref().and_then(answer_id),
        finish_reason: choice.finish_reason.map(|reason| reason.0),
        usage: usage(completion.usage),
    })
}

/// The id of an answer. An odd one does not spoil an answer that was paid for.
pub(super) fn answer_id(id: &Value) -> Option<Arc<str>> {
    id.as_str().filter(|id| !id.is_empty()).map(Arc::from)
}

fn call(number: usize, called: WireToolCall) -> ToolCall {
    let id = called.id.map_or_else(|| format!("call_{number}").into(), |id| id.0);
    let given = called.function.arguments.as_deref().map(arguments);
    let arguments = given.map_or_else(|| "{}".into(), Arc::from);
    ToolCall { id, arguments, name: called.function.name.0 }
}

pub(super) fn usage(tokens: Option<TokenCounts>) -> Usage {
    let mut usage = Usage { lm_calls: 1, ..Usage::default() };
    let Some(tokens) = tokens else { return usage };
    usage.input_tokens = tokens.prompt_tokens.0.unwrap_or(0);
    usage.output_tokens = tokens.completion_tokens.0.unwrap_or(0);
    let cost = tokens.cost.as_ref().and_then(Value::as_f64);
    usage.cost = cost.filter(|cost| cost.is_finite() && *cost >= 0.0);
    let details = tokens.completion_tokens_details;
    let reasoning = details.and_then(|details| details.reasoning_tokens.0).unwrap_or(0);
    let (mut cached, mut written) = (tokens.prompt_cache_hit_tokens.0.unwrap_or(0), 0);
    if let Some(details) = tokens.prompt_tokens_details {
        cached = details.cached_tokens.0.unwrap_or(cached);
        written = details.cache_write_tokens.0.unwrap_or(0);
    }
    // These are parts of the others.
    usage.reasoning_tokens = reasoning.min(usage.output_tokens);
    usage.cached_tokens = cached.min(usage.input_tokens);
    usage.cache_write_tokens = written.min(usage.input_tokens - usage.cached_tokens);
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
        assert_eq!((&*got.text, &*got.model, got.id.as_deref()), ("café\n", "small-1", Some("x")));
        assert_eq!(got.finish_reason.as_deref(), Some("length"));
        let usage = got.usage;
        assert_eq!((usage.lm_calls, usage.input_tokens, usage.output_tokens), (1, 9, 2));
        assert_eq!((usage.cached_tokens, usage.cost), (4, None));
    }

    #[test]
    fn reasoning_is_read_in_every_spelling_of_servers_and_counted() {
        let read = |message: &str| {
            let usage = r#"{"prompt_tokens":9,"completion_tokens":30,"prompt_cache_hit_tokens":3,
                "completion_tokens_details":{"reasoning_tokens":25}}"#;
            let body = format!(r#"{{"choices":[{{"message":{message}}}],"usage":{usage}}}"#);
            read(&body).unwrap()
        };
        let deepseek = read(r#"{"content":"4","reasoning_content":"2 and 2"}"#);
        assert_eq!(deepseek.reasoning.unwrap().text(), "2 and 2");
        assert_eq!((deepseek.usage.reasoning_tokens, deepseek.usage.cached_tokens), (25, 3));
        let groq = read(r#"{"content":"4","reasoning":"2 and 2"}"#);
        assert_eq!((&*groq.text, groq.reasoning.unwrap().text()), ("4", "2 and 2".to_owned()));
        assert_eq!(read(r#"{"content":"4","reasoning":{"effort":"low"}}"#).reasoning, None);
        assert_eq!(read(r#"{"content":"4","reasoning_content":""}"#).reasoning, None);
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

    #[test]
    fn odd_numbers_of_tokens_do_not_spoil_an_answer() {
        for (written, tokens) in [
            (r#""12""#, 12),
            ("12.0", 12),
            ("-5", 0),
            ("18446744073709551615", MOST_TOKENS),
            ("[1]", 0),
            ("null", 0),
        ] {
            let body = format!(
                r#"{{"choices":[{{"message":{{"content":"x"}}}}],"usage":{{"prompt_tokens":{written},
                "completion_tokens":3,"prompt_tokens_details":{{"cached_tokens":99}},
                "completion_tokens_details":{{"reasoning_tokens":99}},"cost":"free"}}}}"#
            );
            let usage = read(&body).unwrap().usage;
            assert_eq!(usage.input_tokens, tokens, "{written}");
            assert_eq!((usage.cached_tokens, usage.reasoning_tokens), (tokens.min(99), 3));
            assert_eq!(usage.cost, None);
        }
    }
}
