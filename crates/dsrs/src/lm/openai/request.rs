//! The wire format of a request for a chat completion, serialized from borrowed parts. Knows no HTTP.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{GrammarField, MaxTokensField};
use crate::lm::{
    Chat, DecodingConstraint, ExtraBody, LmParams, LmRequest, Message, ReasoningEffort, Role,
};

/// How many alternatives of each token are asked for; no endpoint of this protocol reports more.
const ALTERNATIVES: u8 = 20;

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
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grammar: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guided_grammar: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_outputs: Option<StructuredOutputs<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_logprobs: Option<u8>,
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

/// The name of the member that forces a call.
const TOOL_CHOICE: &str = "tool_choice";

#[derive(Serialize)]
struct ToolChoice<'a> {
    r#type: &'static str,
    function: ChosenFunction<'a>,
}

#[derive(Serialize)]
struct ChosenFunction<'a> {
    name: &'a str,
}

/// The members that differ between endpoints.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dialect {
    pub(super) max_tokens: MaxTokensField,
    pub(super) grammar: GrammarField,
    /// Whether the end of the prefix is marked for the provider's cache.
    pub(super) marks_prefix: bool,
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

/// The body of a request with these settings. The messages are last, because their prefix is already JSON.
pub(super) fn body(
    model: &str,
    request: &LmRequest,
    params: &LmParams,
    dialect: Dialect,
    mode: ResponseMode,
) -> serde_json::Result<Vec<u8>> {
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
        reasoning_effort: params.reasoning_effort.map(ReasoningEffort::word),
        service_tier: params.service_tier.as_deref(),
        grammar: grammar(GrammarField::Grammar),
        guided_grammar: grammar(GrammarField::GuidedGrammar),
        structured_outputs: grammar(GrammarField::StructuredOutputs)
            .map(|grammar| StructuredOutputs { grammar }),
        response_format: request.constraint.as_ref().and_then(response_format),
        logprobs: request.logprobs.then_some(true),
        top_logprobs: request.logprobs.then_some(ALTERNATIVES),
        stream: (mode != ResponseMode::Whole).then_some(true),
        stream_options: counts.then_some(StreamOptions { include_usage: true }),
    };
    serde_json::to_writer(&mut bytes, &body)?;
    bytes.pop();
    if let Some(tools) = request.tools.as_ref().filter(|tools| !tools.is_empty()) {
        bytes.extend_from_slice(br#","tools":"#);
        bytes.extend_from_slice(tools.json().as_bytes());
    }
    let forced = request.tools.as_ref().and_then(|tools| tools.forced());
    if let Some(tool) = forced {
        bytes.extend_from_slice(br#","tool_choice":"#);
        let choice =
            ToolChoice { r#type: "function", function: ChosenFunction { name: &tool.name } };
        serde_json::to_writer(&mut bytes, &choice)?;
    }
    let extra = params.extra_body.iter().flat_map(ExtraBody::iter);
    for (name, value) in extra.filter(|(name, _)| forced.is_none() || *name != TOOL_CHOICE) {
        bytes.push(b',');
        serde_json::to_writer(&mut bytes, name)?;
        bytes.push(b':');
        bytes.extend_from_slice(value.to_json().as_bytes());
    }
    write_messages(&mut bytes, &request.chat, dialect)?;
    bytes.push(b'}');
    Ok(bytes)
}

fn response_format(constraint: &DecodingConstraint) -> Option<ResponseFormat<'_>> {
    let DecodingConstraint::JsonSchema { schema, strict } = constraint else { return None };
    let json_schema = JsonSchema { name: "answer", strict: *strict, schema };
    Some(ResponseFormat { r#type: "json_schema", json_schema })
}

fn write_messages(bytes: &mut Vec<u8>, chat: &Chat, dialect: Dialect) -> serde_json::Result<()> {
    bytes.extend_from_slice(br#","messages":["#);
    match chat.prefix.split_last().filter(|_| dialect.marks_prefix) {
        Some((last, others)) => {
            for message in others {
                serde_json::to_writer(&mut *bytes, message)?;
                bytes.push(b',');
            }
            serde_json::to_writer(&mut *bytes, &marked(last))?;
        }
        None => bytes.extend_from_slice(chat.prefix.json().as_bytes()),
    }
    for (position, turn) in chat.turns.iter().enumerate() {
        if position > 0 || !chat.prefix.is_empty() {
            bytes.push(b',');
        }
        serde_json::to_writer(&mut *bytes, turn)?;
    }
    bytes.push(b']');
    Ok(())
}

/// A message whose end is marked: up to it, the provider caches the conversation.
fn marked(message: &Message) -> MarkedMessage<'_> {
    let part =
        MarkedPart { r#type: "text", text: &message.content, cache_control: CacheMark::EPHEMERAL };
    MarkedMessage { role: message.role, content: [part] }
}

#[derive(Serialize)]
struct MarkedMessage<'a> {
    role: Role,
    content: [MarkedPart<'a>; 1],
}

#[derive(Serialize)]
struct MarkedPart<'a> {
    r#type: &'static str,
    text: &'a str,
    cache_control: CacheMark,
}

/// The mark of Anthropic, which gateways pass on.
#[derive(Serialize)]
struct CacheMark {
    r#type: &'static str,
}

impl CacheMark {
    const EPHEMERAL: Self = Self { r#type: "ephemeral" };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lm::{Prefix, ToolCall, ToolSet, ToolSpec};
    use crate::value::Payload;

    fn written(params: LmParams, field: MaxTokensField) -> String {
        let chat = Chat {
            prefix: Prefix::of([Message::system("be \"brief\"")]),
            turns: vec![Message::user("why?\n\u{0}")],
        };
        let dialect = Dialect { max_tokens: field, ..Dialect::default() };
        wire(&LmRequest::new(chat, params), dialect)
    }

    fn wire(request: &LmRequest, dialect: Dialect) -> String {
        let bytes = body("small", request, &request.params, dialect, ResponseMode::Whole).unwrap();
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
            ..LmParams::default()
        };
        let settings = written(params.clone(), MaxTokensField::MaxTokens);
        assert!(settings.starts_with(
            r#"{"model":"small","temperature":0.5,"max_tokens":64,"top_p":1.0,"seed":-1,"stop":["END"],"messages":["#
        ));
        let newer = written(params, MaxTokensField::MaxCompletionTokens);
        assert!(newer.contains(r#""max_completion_tokens":64"#) && !newer.contains("max_tokens\""));
    }

    #[test]
    fn probabilities_of_tokens_are_asked_for() {
        let chat = Chat { prefix: Prefix::of([]), turns: vec![Message::user("why?")] };
        let request = LmRequest { logprobs: true, ..LmRequest::new(chat, LmParams::default()) };
        assert_eq!(
            wire(&request, Dialect::default()),
            r#"{"model":"small","logprobs":true,"top_logprobs":20,"messages":[{"role":"user","content":"why?"}]}"#
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
        assert_eq!(
            wire(&request, Dialect::default()),
            concat!(
                r#"{"model":"small","tools":[{"type":"function","function":{"name":"add","description":"adds","parameters":{"type":"object"}}}],"#,
                r#""messages":[{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]},"#,
                r#"{"role":"tool","content":"3","tool_call_id":"c1"}]}"#
            )
        );
    }

    #[test]
    fn a_forced_call_is_chosen_by_its_name_whatever_extra_members_say() {
        let parameters = RawValue::from_string("{}".into()).unwrap().into();
        let tool = ToolSpec { name: "submit".into(), description: "".into(), parameters };
        let extra = Payload::from_json(r#"{"tool_choice": "auto"}"#);
        let params = LmParams {
            extra_body: ExtraBody::of(extra.unwrap().as_map().unwrap()).ok(),
            ..LmParams::default()
        };
        let chat = Chat { prefix: Prefix::of([]), turns: vec![Message::user("?")] };
        let forced =
            LmRequest { tools: Some(ToolSet::forcing(tool)), ..LmRequest::new(chat, params) };
        let sent = wire(&forced, Dialect::default());
        assert_eq!(sent.matches("tool_choice").count(), 1, "{sent}");
        assert!(
            sent.contains(r#""tool_choice":{"type":"function","function":{"name":"submit"}}"#),
            "{sent}"
        );
    }

    #[test]
    fn newer_settings_and_extra_members_precede_the_messages() {
        let extra = Payload::from_json(r#"{"top_k": 5, "chat_template_kwargs": {"a\"": [1]}}"#);
        let params = LmParams {
            reasoning_effort: Some(ReasoningEffort::Tokens(1000)),
            service_tier: Some("flex".into()),
            extra_body: ExtraBody::of(extra.unwrap().as_map().unwrap()).ok(),
            ..LmParams::default()
        };
        let settings = written(params, MaxTokensField::MaxTokens);
        assert!(settings.starts_with(
            r#"{"model":"small","reasoning_effort":"low","service_tier":"flex","top_k":5,"chat_template_kwargs":{"a\"":[1]},"messages":["#
        ));
    }

    #[test]
    fn the_mark_of_the_cache_follows_the_shared_prefix() {
        let prefix = Prefix::of([Message::system("rules"), Message::assistant("last demo")]);
        let chat = Chat { prefix, turns: vec![Message::user("why?")] };
        let dialect = Dialect { marks_prefix: true, ..Dialect::default() };
        let sent = wire(&LmRequest::new(chat, LmParams::default()), dialect);
        assert_eq!(
            sent,
            concat!(
                r#"{"model":"small","messages":[{"role":"system","content":"rules"},"#,
                r#"{"role":"assistant","content":[{"type":"text","text":"last demo","cache_control":{"type":"ephemeral"}}]},"#,
                r#"{"role":"user","content":"why?"}]}"#
            )
        );
    }
}
