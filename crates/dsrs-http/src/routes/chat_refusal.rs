//! Refusals of requests of OpenAI's API, each with its place. Knows no route.

use dsrs::problem::{Code, Problem, Problems};
use serde_json::Value;

use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;

/// How much of a text of the client a message repeats, in characters.
const SHOWN: usize = 200;

/// A part of a request that asks for what a graph does not do.
pub(super) struct Unserved<'r> {
    /// The member of the request.
    pub(super) member: &'static str,
    pub(super) value: &'r Value,
    /// Why it is refused, and the way out.
    pub(super) reason: &'static str,
}

/// The refusal of a request, with the JSON Pointer of what is wrong.
pub(super) fn refused(pointer: impl Into<String>, detail: impl Into<String>) -> ApiProblem {
    let mut problems = Problems::new();
    let (pointer, detail) = (pointer.into(), detail.into());
    problems.push(Problem { pointer, code: Code::InvalidValue, detail });
    ApiProblem::of(ProblemCode::InvalidRequest, problems)
}

/// Refuses the first of these parts that asks for anything.
pub(super) fn refuse_unserved(parts: &[Unserved<'_>]) -> Result<(), ApiProblem> {
    let found = parts.iter().find(|part| asks(part.member, part.value));
    found.map_or(Ok(()), |part| Err(refused(format!("/{}", part.member), part.reason)))
}

/// Whether a member asks for anything beyond a text without tools.
fn asks(member: &str, value: &Value) -> bool {
    match (member, value) {
        (_, Value::Null | Value::Bool(false)) => false,
        ("top_logprobs", Value::Number(count)) => count.as_u64() != Some(0),
        ("tool_choice" | "function_call", Value::String(word)) => {
            !["none", "auto"].contains(&word.as_str())
        }
        ("modalities", Value::Array(kinds)) => kinds.iter().any(|kind| kind != "text"),
        (_, Value::Array(items)) => !items.is_empty(),
        _ => true,
    }
}

/// The beginning of a text of the client, for a message.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
