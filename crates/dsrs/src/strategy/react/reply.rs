//! The outputs of `action` from replies: native tool calls, and words beside or instead of them.

use std::sync::Arc;

use super::FINISH;
use super::step::AgentCall;
use crate::adapter::ChatAdapter;
use crate::lm::{LmReply, ToolCall};
use crate::value::{Fields, Payload};

/// The outputs of `action`.
pub(super) const THOUGHT: &str = "next_thought";
pub(super) const TOOL_NAME: &str = "next_tool_name";
pub(super) const TOOL_ARGS: &str = "next_tool_args";
pub(super) const MORE: &str = "more_tool_calls";

/// The most tool calls of one step.
pub(super) const CALLS: usize = 32;

/// The outputs of an answer with native tool calls.
pub(super) fn read(reply: &LmReply) -> Result<Fields, String> {
    let args = |call: &ToolCall| {
        parsed(call).map_err(|error| {
            format!("the arguments of the call of `{}` are not valid JSON: {error}", call.name)
        })
    };
    outputs(reply, reply.tool_calls.iter().map(args).collect::<Result<_, _>>()?)
}

/// The same; arguments that are no JSON stay as the LM wrote them, so that they can fail as a call.
pub(super) fn read_any(reply: &LmReply) -> Result<Fields, String> {
    let args =
        |call: &ToolCall| parsed(call).unwrap_or_else(|_| Payload::Str(call.arguments.clone()));
    outputs(reply, reply.tool_calls.iter().map(args).collect())
}

fn parsed(call: &ToolCall) -> Result<Payload, String> {
    match call.arguments.trim() {
        "" => Ok(Payload::map(Fields::new())),
        text => Payload::from_json(text).map_err(|error| error.to_string()),
    }
}

fn outputs(reply: &LmReply, args: Vec<Payload>) -> Result<Fields, String> {
    let names = reply.tool_calls.iter().map(|call| Payload::Str(call.name.clone()));
    let mut calls = names.zip(args);
    let (name, args) = calls.next().ok_or("the answer contains no tool call")?;
    let more: Vec<Payload> = calls
        .map(|(name, args)| {
            Fields::from_iter([("name".into(), name), ("args".into(), args)]).into()
        })
        .collect();
    let more = if more.is_empty() { Payload::Null } else { Payload::list(more) };
    Ok(Fields::from_iter([
        (THOUGHT.into(), Payload::from(thought(&reply.text))),
        (TOOL_NAME.into(), name),
        (TOOL_ARGS.into(), args),
        (MORE.into(), more),
    ]))
}

/// The outputs of an answer in words: models that call tools natively end so when they have nothing
/// more to call. The outputs are derived from it. What has headers is an attempt at the layout instead.
pub(super) fn words(reply: &LmReply) -> Option<Fields> {
    let text = reply.text.trim();
    let is_words = !text.is_empty() && ChatAdapter::parse_sections(text).is_empty();
    is_words.then(|| finished(text))
}

/// The same where no layout was asked for: every answer without calls ends the steps.
pub(super) fn any_words(reply: &LmReply) -> Option<Fields> {
    Some(finished(reply.text.trim()))
}

fn finished(text: &str) -> Fields {
    Fields::from_iter([
        (THOUGHT.into(), Payload::from(text)),
        (TOOL_NAME.into(), Payload::from(FINISH)),
        (TOOL_ARGS.into(), Payload::map(Fields::new())),
        (MORE.into(), Payload::Null),
    ])
}

/// The thought in the text beside native calls, with or without the layout.
fn thought(text: &str) -> String {
    let mut sections = ChatAdapter::parse_sections(text);
    let thought = sections.swap_remove(THOUGHT);
    thought.unwrap_or_else(|| text.to_owned()).trim().to_owned()
}

/// The thought and the calls of an answer.
pub(super) fn thought_and_calls(answer: &Fields) -> (Arc<str>, Vec<AgentCall>) {
    let text = |fields: &Fields, name: &str| match fields.get(name) {
        Some(Payload::Str(text)) => text.clone(),
        _ => "".into(),
    };
    let args = |fields: &Fields, name: &str| fields.get(name).cloned().unwrap_or_default();
    let first = AgentCall::of(&text(answer, TOOL_NAME), args(answer, TOOL_ARGS));
    let more = answer.get(MORE).and_then(Payload::as_list).into_iter().flatten();
    let more = more.filter_map(Payload::as_map);
    let more = more.map(|call| AgentCall::of(&text(call, "name"), args(call, "args")));
    (text(answer, THOUGHT), std::iter::once(first).chain(more).take(CALLS).collect())
}

/// The outputs of a demo as text, as the steps are written.
pub(super) fn demo_text(outputs: &Fields) -> String {
    let (thought, calls) = thought_and_calls(outputs);
    let calls = calls.iter().map(|call| format!("call: {}", call.text()));
    let lines: Vec<_> = std::iter::once(format!("thought: {thought}")).chain(calls).collect();
    lines.join("\n")
}
