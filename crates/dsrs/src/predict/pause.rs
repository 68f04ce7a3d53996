//! `NodePause`: the calls of tools that a node in the middle of its work has for the caller of the run, and how it continues
//! once they are answered. Does not know who answers, nor where a pause is stored.

use std::sync::Arc;

use crate::problem::{At, Code, Problems};
use crate::read::{listed, map};
use crate::value::{Map, Payload};

/// A call of a tool that the caller of the run answers.
#[derive(Clone, Debug, PartialEq)]
pub struct CallerCall {
    /// Its id, unique in the run of the node.
    pub id: Arc<str>,
    /// The name of the tool.
    pub tool: Arc<str>,
    /// The arguments, which fit the schema of the tool.
    pub arguments: Payload,
}

/// A node that waits for answers of its caller, in the middle of its work.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePause {
    /// How often the node has paused in this run, with this time.
    pub number: u32,
    /// What it asks for; never empty.
    pub calls: Vec<CallerCall>,
    /// What the node has done since the pause before. Only the node reads it.
    pub progress: Payload,
}

/// What a node continues from.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeContinuation {
    /// The number of the pause.
    pub number: u32,
    /// The progress of all pauses, the oldest first.
    pub progress: Vec<Payload>,
    /// The answers to the last one, by the ids of the calls, as [`admit_answers`] returned them; `None` if there are none yet.
    pub answers: Option<Payload>,
}

/// Checks the answers to calls: for each id an object with either `result`, any JSON value, or `error`, a text. Returns `None`
/// and adds all problems otherwise.
pub fn admit_answers(
    ids: &[&str],
    value: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Payload> {
    let before = problems.len();
    let answers = map(value, at, problems)?;
    for id in ids.iter().filter(|id| !answers.contains_key(**id)) {
        let detail = format!("the call `{id}` has no answer; answer all calls of the node at once");
        problems.add(&at.key(id), Code::MissingField, detail);
    }
    for (id, answer) in answers {
        let at = at.key(id);
        match ids.contains(&&**id) {
            true => check_answer(answer, &at, problems),
            false => {
                let detail = format!(
                    "the node has no call `{id}`; its calls are {}",
                    listed(ids.iter().copied())
                );
                problems.add(&at, Code::UnknownField, detail);
            }
        }
    }
    (problems.len() == before).then(|| value.clone())
}

fn check_answer(answer: &Payload, at: &At<'_>, problems: &mut Problems) {
    let Some(members) = map(answer, at, problems) else { return };
    let is_answer = members.len() == 1
        && (members.contains_key("result")
            || members.get("error").is_some_and(|error| error.as_str().is_some()));
    if !is_answer {
        let detail = "expected exactly one member: `result` with any value, or `error` with a text";
        problems.add(at, Code::WrongType, detail);
    }
}

impl NodeContinuation {
    /// The answer to a call.
    pub(crate) fn answer(&self, id: &str) -> Option<Result<&Payload, &str>> {
        let members: &Map = self.answers.as_ref()?.as_map()?.get(id)?.as_map()?;
        match members.get("error").and_then(Payload::as_str) {
            Some(error) => Some(Err(error)),
            None => members.get("result").map(Ok),
        }
    }
}
