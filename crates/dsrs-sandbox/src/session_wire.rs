//! The protocol of a session: one JSON document a line, in both directions. Knows neither processes nor Python.

// A build that leaves `interpreter` out has code that only it uses.
#![cfg_attr(not(feature = "interpreter"), allow(dead_code))]

use std::sync::Arc;

use dsrs::sandbox::{HostAnswer, HostCall, SandboxError, SandboxLimits, SessionOutput};
use dsrs::value::{Fields, Map, Payload, parse_json};
use serde::Serialize;

use crate::wire::read_failure;

/// The most bytes of the arguments of one call, as JSON: all parts of a long input, in one batch.
pub(crate) const CALL_BYTES: usize = 16 << 20;

/// A line from the child.
pub(crate) enum ChildLine {
    /// The session has its variables.
    Ready,
    /// A program calls a function; the child waits for the answer.
    Call(HostCall),
    /// A program has ended.
    Ended(SessionOutput),
    /// There is no session.
    Failed(SandboxError),
}

#[derive(Serialize)]
#[serde(untagged)]
enum ChildDocument<'a> {
    Ready {
        ready: bool,
    },
    Call {
        call: &'a str,
        args: &'a [Payload],
        named: &'a Fields,
    },
    Ended {
        printed: &'a str,
        omitted: usize,
        #[serde(flatten)]
        failed: Option<FailedDocument<'a>>,
    },
    Failed(FailedDocument<'a>),
}

#[derive(Serialize)]
struct FailedDocument<'a> {
    failure: &'a str,
    message: &'a str,
}

impl<'a> FailedDocument<'a> {
    fn of(error: &'a SandboxError) -> Self {
        Self { failure: error.kind.code(), message: &error.message }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum ParentDocument<'a> {
    Run { run: &'a str },
    Return { value: &'a Payload },
    Raise { raise: &'a str },
    End { end: bool },
}

fn line(document: &impl Serialize) -> Vec<u8> {
    // Every payload has a JSON form, and JSON has no line end in a text.
    let mut line = serde_json::to_vec(document).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Writes a line of the child.
pub(crate) fn child_line(said: &ChildLine) -> Vec<u8> {
    line(&match said {
        ChildLine::Ready => ChildDocument::Ready { ready: true },
        ChildLine::Call(HostCall { name, args, named }) => {
            ChildDocument::Call { call: name, args, named }
        }
        ChildLine::Ended(output) => ChildDocument::Ended {
            printed: &output.printed,
            omitted: output.omitted,
            failed: output.failure.as_ref().map(FailedDocument::of),
        },
        ChildLine::Failed(error) => ChildDocument::Failed(FailedDocument::of(error)),
    })
}

/// Reads a line of the child; `None` if it is invalid.
pub(crate) fn read_child_line(text: &[u8]) -> Option<ChildLine> {
    let document = parse_json(text).ok()?.payload;
    let members = document.as_map()?;
    if members.contains_key("ready") {
        return Some(ChildLine::Ready);
    }
    if let Some(name) = members.get("call") {
        let name = name.as_str()?.into();
        let args = members.get("args")?.as_list()?.to_vec();
        return Some(ChildLine::Call(HostCall { name, args, named: named(members)? }));
    }
    let failure = match members.contains_key("failure") {
        true => Some(read_failure(members)?),
        false => None,
    };
    let Some(printed) = members.get("printed") else { return failure.map(ChildLine::Failed) };
    let printed: Arc<str> = printed.as_str()?.into();
    let Some(Payload::Int(omitted)) = members.get("omitted") else { return None };
    let omitted = usize::try_from(*omitted).ok()?;
    Some(ChildLine::Ended(SessionOutput { printed, omitted, failure, variables_lost: false }))
}

fn named(members: &Map) -> Option<Fields> {
    members.get("named")?.as_map().cloned()
}

/// Writes the line that starts a program.
pub(crate) fn run_line(code: &str) -> Vec<u8> {
    line(&ParentDocument::Run { run: code })
}

/// Reads the line that starts a program; `None` if it is invalid.
pub(crate) fn read_run_line(text: &[u8]) -> Option<String> {
    let document = parse_json(text).ok()?.payload;
    document.as_map()?.get("run")?.as_str().map(str::to_owned)
}

/// Writes the answer to a call.
pub(crate) fn answer_line(answer: &HostAnswer) -> Vec<u8> {
    line(&match answer {
        HostAnswer::Return(value) => ParentDocument::Return { value },
        HostAnswer::Raise(raise) => ParentDocument::Raise { raise },
        HostAnswer::End => ParentDocument::End { end: true },
    })
}

/// Reads the answer to a call; `None` if it is invalid.
pub(crate) fn read_answer_line(text: &[u8]) -> Option<HostAnswer> {
    let document = parse_json(text).ok()?.payload;
    let members = document.as_map()?;
    if let Some(value) = members.get("value") {
        return Some(HostAnswer::Return(value.clone()));
    }
    match members.get("raise") {
        Some(why) => Some(HostAnswer::Raise(why.as_str()?.into())),
        None => members.contains_key("end").then_some(HostAnswer::End),
    }
}

/// The longest valid line of a child: the arguments of a call, or the printed text, for which JSON may need six bytes a
/// character.
pub(crate) fn longest_line(limits: &SandboxLimits) -> usize {
    limits.output.saturating_mul(6).max(CALL_BYTES).saturating_add(64 << 10)
}
