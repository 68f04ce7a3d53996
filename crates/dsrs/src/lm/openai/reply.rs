//! The wire format of a chat completion, deserialized straight into a reply. Knows no HTTP.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::token_counts::{TokenCounts, usage};
use super::wire_logprobs::token_logprobs;
use super::wire_text::{LooseText, WireText};
use crate::lm::{AnswerEnd, LmReply, OmittedParams, ReplyReasoning, ToolCall};

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(default, borrow)]
    id: LooseText<'a>,
    #[serde(default, borrow)]
    model: LooseText<'a>,
    #[serde(default)]
    choices: Option<Vec<CompletionChoice>>,
    #[serde(default)]
    usage: Option<TokenCounts>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default, borrow)]
    object: LooseText<'a>,
}

#[derive(Deserialize)]
struct CompletionChoice {
    #[serde(default)]
    message: CompletionMessage,
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

#[derive(Default, Deserialize)]
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

/// Why an answer of status 200 is no reply.
#[derive(Debug, PartialEq)]
pub(super) enum NoReply {
    /// It contains an error of the provider.
    Error,
    /// The provider failed during the answer and says so only in this finish reason.
    Failed(Arc<str>),
    /// It is not a chat completion.
    Malformed(String),
    /// One of its events is not a chunk.
    BrokenEvent(String),
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
pub(super) fn is_error(object: &LooseText<'_>) -> bool {
    object.0.as_deref() == Some("error")
}

/// A finish reason. Some servers write an empty one into every chunk.
pub(super) fn reason(written: Option<WireText>) -> Option<Arc<str>> {
    written.map(|reason| reason.0).filter(|reason| !reason.trim().is_empty())
}

/// What a refusal says: its text, else the categories of Azure's filter.
pub(super) fn refusal(refusal: Option<Arc<str>>, filters: Option<&Value>) -> Option<Arc<str>> {
    refusal.filter(|refusal| !refusal.is_empty()).or_else(|| {
        let filters = filters?.as_object()?.iter();
        let is_filtered = |filter: &Value| filter.get("filtered") == Some(&Value::Bool(true));
        let names =
            filters.filter(|(_, filter)| is_filtered(filter)).map(|(name, _)| name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| format!("filtered: {names}").into())
    })
}

/// The reply, unless its finish reason says that the provider failed.
pub(super) fn unless_failed(reply: LmReply) -> Result<LmReply, NoReply> {
    match (reply.end(), &reply.finish_reason) {
        (AnswerEnd::Failed, Some(reason)) => Err(NoReply::Failed(reason.clone())),
        _ => Ok(reply),
    }
}

/// The first bytes of what gzip has compressed.
const GZIP: &[u8] = &[0x1f, 0x8b];
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reads an answer. An answer without text is a reply with an empty text; the adapter reports it. An error of the
/// provider beside an answer, or in it, means that the answer is not whole.
pub(super) fn reply(body: &[u8], asked: &Arc<str>) -> Result<LmReply, NoReply> {
    let malformed = |error: &dyn fmt::Display| NoReply::Malformed(error.to_string());
    if body.starts_with(GZIP) {
        return Err(NoReply::Malformed("it is compressed by gzip, which was not asked for".into()));
    }
    // Checked once here instead of for each text in it.
    let body = str::from_utf8(body).map_err(|error| malformed(&error))?;
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    let completion: Completion<'_> =
        serde_json::from_str(body).map_err(|error| malformed(&error))?;
    if completion.error.is_some() || is_error(&completion.object) {
        return Err(NoReply::Error);
    }
    let choice = completion.choices.into_iter().flatten().next().ok_or_else(no_choices)?;
    if choice.error.is_some() {
        return Err(NoReply::Error);
    }
    let message = choice.message;
    let reasoning = message.reasoning_content.or(message.reasoning);
    let calls = message.tool_calls.into_iter().flatten().enumerate();
    unless_failed(LmReply {
        tool_calls: calls.map(|(number, called)| call(number, called)).collect(),
        text: message.content.map_or_else(|| "".into(), |text| text.0),
        reasoning: reasoning.and_then(|text| ReplyReasoning::of(text.0)),
        omitted: OmittedParams::default(),
        model: answered_by(&completion.model, asked),
        id: answer_id(&completion.id),
        finish_reason: reason(choice.finish_reason),
        refusal: refusal(
            message.refusal.map(|refusal| refusal.0),
            choice.content_filter_results.as_ref(),
        ),
        logprobs: token_logprobs(choice.logprobs),
        usage: usage(completion.usage),
    })
}

/// The id of an answer.
pub(super) fn answer_id(id: &LooseText<'_>) -> Option<Arc<str>> {
    id.0.as_deref().filter(|id| !id.is_empty()).map(Arc::from)
}

/// The model that answered: most servers repeat the name that was asked.
fn answered_by(model: &LooseText<'_>, asked: &Arc<str>) -> Arc<str> {
    match model.0.as_deref() {
        Some(other) if *other != **asked => other.into(),
        _ => asked.clone(),
    }
}

fn call(number: usize, called: WireToolCall) -> ToolCall {
    let id = called.id.map_or_else(|| format!("call_{number}").into(), |id| id.0);
    let given = called.function.arguments.as_deref().map(arguments);
    let arguments = given.map_or_else(|| "{}".into(), Arc::from);
    ToolCall { id, arguments, name: called.function.name.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lm::TokenLogprobs;

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
    fn probabilities_of_tokens_are_read_and_others_ignored() {
        let read = |logprobs: &str| {
            let message = r#"{"content":"yes"}"#;
            let body = format!(r#"{{"choices":[{{"message":{message},"logprobs":{logprobs}}}]}}"#);
            read(&body).unwrap().logprobs
        };
        let found = read(
            r#"{"content":[{"token":"yes","logprob":-0.5,"bytes":[121],"top_logprobs":[
            {"token":"yes","logprob":-0.5},{"token":"no","logprob":-1}]}],"refusal":null}"#,
        );
        assert_eq!(found, [TokenLogprobs::of("yes", -0.5, [("no".into(), -1.0)])]);
        for odd in ["null", "{}", r#"{"content":null}"#, r#"{"tokens":["yes"]}"#] {
            assert!(read(odd).is_empty(), "{odd}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_ignored_and_compression_is_named() {
        let body = "\u{feff}{\"choices\":[{\"message\":{\"content\":\"hi\"}}]}";
        assert_eq!(&*read(body).unwrap().text, "hi");
        let compressed = reply(&[0x1f, 0x8b, 8, 0], &"asked".into()).unwrap_err();
        assert!(
            matches!(&compressed, NoReply::Malformed(why) if why.contains("gzip")),
            "{compressed:?}"
        );
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
    fn a_missing_text_is_empty_and_a_list_of_parts_is_joined() {
        let text = |message: &str| {
            let got = read(&format!(r#"{{"choices":[{{"message":{message}}}]}}"#)).unwrap();
            (got.text.to_string(), got.model.to_string(), got.usage.lm_calls)
        };
        assert_eq!(text(r#"{"content":null}"#), (String::new(), "asked".into(), 1));
        assert_eq!(text("{}").0, "");
        assert_eq!(
            text(r#"{"content":[{"type":"thinking"},{"type":"text","text":"a"},{"text":"b"}]}"#).0,
            "ab"
        );
    }

    #[test]
    fn a_refusal_is_no_text() {
        let read = |choice: &str| read(&format!(r#"{{"choices":[{choice}]}}"#)).unwrap();
        let refused = read(r#"{"message":{"content":null,"refusal":"i will not"}}"#);
        assert_eq!((&*refused.text, refused.refusal.as_deref()), ("", Some("i will not")));
        assert_eq!(refused.end(), AnswerEnd::Filtered);
        let azure = read(
            r#"{"finish_reason":"content_filter","message":{"content":"half"},"content_filter_results":
            {"hate":{"filtered":false},"violence":{"filtered":true,"severity":"medium"}}}"#,
        );
        assert_eq!(azure.refusal.as_deref(), Some("filtered: violence"));
        let whole = read(r#"{"message":{"content":"4","refusal":""},"finish_reason":"stop"}"#);
        assert_eq!(whole.end(), AnswerEnd::Finished);
    }

    #[test]
    fn an_answer_during_which_the_provider_failed_is_no_reply() {
        let beside = r#"{"error":{"code":502},"choices":[{"message":{"content":"Par"}}]}"#;
        let within = r#"{"choices":[{"error":{"code":429},"message":{"content":"Par"}}]}"#;
        let bare = r#"{"choices":[{"error":{"code":429},"finish_reason":"error"}]}"#;
        for body in [beside, within, bare] {
            assert_eq!(read(body), Err(NoReply::Error), "{body}");
        }
        let named = r#"{"choices":[{"message":{"content":"Par"},"finish_reason":"abort"}]}"#;
        assert_eq!(read(named), Err(NoReply::Failed("abort".into())));
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
