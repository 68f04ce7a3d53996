//! The wire format of chat completions: requests are serialized from borrowed parts, answers are
//! deserialized straight into a reply. Knows no HTTP.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use serde_json::value::RawValue;

use super::{GrammarField, MaxTokensField};
use crate::lm::{Chat, DecodingConstraint, LmReply, LmRequest, ToolCall, Usage};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<&'a [Arc<str>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grammar: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guided_grammar: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_outputs: Option<StructuredOutputs<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

/// Without it a streamed answer has no usage.
#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct StructuredOutputs<'a> {
    grammar: &'a str,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'static str,
    strict: bool,
    schema: &'a RawValue,
}

/// The members that differ between endpoints.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dialect {
    pub(super) max_tokens: MaxTokensField,
    pub(super) grammar: GrammarField,
}

/// The form in which an answer is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponseMode {
    /// Whole.
    Whole,
    /// Streamed.
    Stream,
    /// Streamed, with the usage at the end.
    StreamWithUsage,
}

impl ResponseMode {
    /// The `accept` header of a request.
    pub(super) const fn accept(self) -> &'static str {
        match self {
            Self::Whole => "application/json",
            Self::Stream | Self::StreamWithUsage => "text/event-stream, application/json",
        }
    }

    /// The members that a server names when it refuses this mode.
    pub(super) const fn members(self) -> &'static [&'static str] {
        match self {
            Self::Whole => &[],
            Self::Stream => &["stream", "streaming"],
            Self::StreamWithUsage => &["stream", "streaming", "stream_options", "include_usage"],
        }
    }
}

/// The body of a request. The messages are last, because their prefix is already JSON.
pub(super) fn body(
    model: &str,
    request: &LmRequest,
    dialect: Dialect,
    mode: ResponseMode,
) -> serde_json::Result<Vec<u8>> {
    let params = &request.params;
    let counts = mode == ResponseMode::StreamWithUsage;
    let text: usize = request.chat.messages().map(|message| message.content.len() + 48).sum();
    // Includes the escapes of a typical prompt, so that the buffer grows at most once.
    let mut bytes = Vec::with_capacity(256 + text + text / 8);
    let limit = |field| if dialect.max_tokens == field { params.max_tokens } else { None };
    let grammar = |field| match &request.constraint {
        Some(DecodingConstraint::Gbnf(grammar)) if dialect.grammar == field => {
            Some(grammar.as_ref())
        }
        _ => None,
    };
    let body = Body {
        model,
        temperature: params.temperature,
        max_tokens: limit(MaxTokensField::MaxTokens),
        max_completion_tokens: limit(MaxTokensField::MaxCompletionTokens),
        top_p: params.top_p,
        seed: params.seed,
        stop: params.stop.as_deref(),
        grammar: grammar(GrammarField::Grammar),
        guided_grammar: grammar(GrammarField::GuidedGrammar),
        structured_outputs: grammar(GrammarField::StructuredOutputs)
            .map(|grammar| StructuredOutputs { grammar }),
        response_format: request.constraint.as_ref().and_then(response_format),
        stream: (mode != ResponseMode::Whole).then_some(true),
        stream_options: counts.then_some(StreamOptions { include_usage: true }),
    };
    serde_json::to_writer(&mut bytes, &body)?;
    bytes.pop();
    if let Some(tools) = request.tools.as_ref().filter(|tools| !tools.is_empty()) {
        bytes.extend_from_slice(br#","tools":"#);
        bytes.extend_from_slice(tools.json().as_bytes());
    }
    write_messages(&mut bytes, &request.chat)?;
    bytes.push(b'}');
    Ok(bytes)
}

fn response_format(constraint: &DecodingConstraint) -> Option<ResponseFormat<'_>> {
    let DecodingConstraint::JsonSchema { schema, strict } = constraint else { return None };
    let json_schema = JsonSchema { name: "answer", strict: *strict, schema };
    Some(ResponseFormat { r#type: "json_schema", json_schema })
}

fn write_messages(bytes: &mut Vec<u8>, chat: &Chat) -> serde_json::Result<()> {
    bytes.extend_from_slice(br#","messages":["#);
    bytes.extend_from_slice(chat.prefix.json().as_bytes());
    for (position, turn) in chat.turns.iter().enumerate() {
        if position > 0 || !chat.prefix.is_empty() {
            bytes.push(b',');
        }
        serde_json::to_writer(&mut *bytes, turn)?;
    }
    bytes.push(b']');
    Ok(())
}

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
/// text twice on its way into an `Arc<str>`.
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
    use crate::lm::{LmParams, Message, Prefix, ToolSet, ToolSpec};

    fn read(body: &str) -> Result<LmReply, NoReply> {
        reply(body.as_bytes(), &"asked".into())
    }

    fn written(params: LmParams, field: MaxTokensField) -> String {
        let chat = Chat {
            prefix: Prefix::of([Message::system("be \"brief\"")]),
            turns: vec![Message::user("why?\n\u{0}")],
        };
        let bytes = body(
            "small",
            &LmRequest::new(chat, params),
            Dialect { max_tokens: field, ..Dialect::default() },
            ResponseMode::Whole,
        )
        .unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_request_has_the_turns_in_order_and_only_the_given_settings() {
        assert_eq!(
            written(LmParams::default(), MaxTokensField::MaxTokens),
            r#"{"model":"small","messages":[{"role":"system","content":"be \"brief\""},{"role":"user","content":"why?\n\u0000"}]}"#
        );
        let params = LmParams {
            temperature: Some(0.5),
            max_tokens: Some(64),
            top_p: Some(1.0),
            seed: Some(-1),
            stop: Some(vec!["END".into()]),
        };
        let settings = written(params.clone(), MaxTokensField::MaxTokens);
        assert!(settings.starts_with(
            r#"{"model":"small","temperature":0.5,"max_tokens":64,"top_p":1.0,"seed":-1,"stop":["END"],"messages":["#
        ));
        let newer = written(params, MaxTokensField::MaxCompletionTokens);
        assert!(newer.contains(r#""max_completion_tokens":64"#) && !newer.contains("max_tokens\""));
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
    fn tools_precede_the_turns_that_contain_calls_and_results() {
        let parameters = RawValue::from_string(r#"{"type":"object"}"#.into()).unwrap();
        let tool = ToolSpec {
            name: "add".into(),
            description: "adds".into(),
            parameters: parameters.into(),
        };
        let call = ToolCall { id: "c1".into(), name: "add".into(), arguments: r#"{"a":1}"#.into() };
        let turns = vec![Message::calling("", vec![call.clone()]), Message::result(&call, "3")];
        let chat = Chat { prefix: Prefix::of([]), turns };
        let request = LmRequest {
            tools: Some(ToolSet::of([tool])),
            ..LmRequest::new(chat, LmParams::default())
        };
        let bytes = body("small", &request, Dialect::default(), ResponseMode::Whole).unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            concat!(
                r#"{"model":"small","tools":[{"type":"function","function":{"name":"add","description":"adds","parameters":{"type":"object"}}}],"#,
                r#""messages":[{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]},"#,
                r#"{"role":"tool","content":"3","tool_call_id":"c1"}]}"#
            )
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
