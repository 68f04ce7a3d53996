//! Nodes that wait for answers in the middle of their work: the checkpoint of a pause, the checkpoint of its answers, and what
//! a later attempt continues from. Does not know how either is stored.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use dsrs::lm::Usage;
use dsrs::predict::{NodeContinuation, NodePause, admit_answers};
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;

use crate::json::JsonObject;
use crate::run::documents::{NO_TRACE, is_waiting, usage_json};
use dsrs_store::run_progress::NodeRow;

/// Separates the name of a node from the number of its pause. No name of a node contains it.
const SEPARATOR: char = '#';

/// The end of the name of the checkpoint with the answers.
const ANSWERS: &str = ".answers";

/// The members of the documents.
const PROGRESS: &str = "progress";
const ANSWERED: &str = "answers";
const CONTINUATION: &str = "continuation";

/// Whether a checkpoint is that of a pause or of its answers, not that of a completed node.
pub(crate) fn is_pause_row(row: &NodeRow) -> bool {
    row.node.contains(SEPARATOR)
}

fn pause_row_name(node: &str, number: u32) -> String {
    format!("{node}{SEPARATOR}{number}")
}

/// The name of the checkpoint that the answers to a pause become.
pub(crate) fn answers_row_name(node: &str, number: u32) -> String {
    format!("{node}{SEPARATOR}{number}{ANSWERS}")
}

/// The checkpoint of a node that has paused, with what it has cost until now, as `row` has it.
pub(crate) fn pause_row(row: NodeRow, pause: &NodePause) -> NodeRow {
    let node = pause_row_name(&row.node, pause.number);
    NodeRow { node, outcome: document(PROGRESS, &pause.progress), ..row }
}

/// The same for a run whose record has the trace and the usage already.
pub(crate) fn pause_row_without_trace(node: &str, pause: &NodePause) -> NodeRow {
    bare_row(pause_row_name(node, pause.number), document(PROGRESS, &pause.progress))
}

/// An object of one member.
fn document(name: &str, value: &Payload) -> String {
    let mut object = JsonObject::new();
    object.payload(name, value);
    object.finish()
}

fn bare_row(node: String, outcome: String) -> NodeRow {
    let usage = usage_json(&Usage::default());
    NodeRow { node, outcome, usage, trace: NO_TRACE.to_owned(), prefixes: Vec::new() }
}

/// The number of the pause of a node that waits for answers, from its document.
pub(crate) fn pause_of(node: &Payload) -> Option<u32> {
    match node.as_map()?.get("pause")? {
        Payload::Int(number) if is_waiting(node) => u32::try_from(*number).ok(),
        _ => None,
    }
}

/// The checkpoint of the answers to the calls of a node that waits; `None` and problems if they do not fit.
pub(crate) fn answers_row(
    name: &str,
    waiting: &Payload,
    number: u32,
    value: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<NodeRow> {
    let calls = waiting.as_map()?.get("calls")?.as_list()?;
    let ids: Vec<&str> =
        calls.iter().filter_map(|call| call.as_map()?.get("id")?.as_str()).collect();
    let answers = admit_answers(&ids, value, at, problems)?;
    Some(bare_row(answers_row_name(name, number), document(ANSWERED, &answers)))
}

/// What the nodes that have paused continue from.
pub(crate) fn continuations(rows: &[NodeRow]) -> HashMap<Arc<str>, Arc<NodeContinuation>> {
    let mut progress: BTreeMap<(&str, u32), Payload> = BTreeMap::new();
    for row in rows {
        if let Some((name, number)) = pause_of_row(row)
            && let Some(found) = member(row, PROGRESS)
        {
            progress.insert((name, number), found);
        }
    }
    let mut found: HashMap<Arc<str>, NodeContinuation> = HashMap::new();
    for ((name, number), part) in progress {
        let node = found.entry(name.into()).or_insert_with(|| NodeContinuation {
            number,
            progress: Vec::new(),
            answers: None,
        });
        node.number = number;
        node.progress.push(part);
        let answers = answers_row_name(name, number);
        let answers = rows.iter().find(|row| row.node == answers);
        node.answers = answers.and_then(|row| member(row, ANSWERED));
    }
    found.into_iter().map(|(name, node)| (name, Arc::new(node))).collect()
}

/// The node and the number of a pause, from its checkpoint.
fn pause_of_row(row: &NodeRow) -> Option<(&str, u32)> {
    let (name, number) = row.node.split_once(SEPARATOR)?;
    Some((name, number.parse().ok()?))
}

/// The document of a node that has not completed, with what it continues from if the run is resumed.
pub(crate) fn with_continuation(node: &str, continuation: &NodeContinuation) -> String {
    let mut object = JsonObject::new();
    object.splice(node);
    object.object(CONTINUATION, |object| {
        object.shown("pause", continuation.number);
        object.list(PROGRESS, continuation.progress.iter().map(Payload::to_json));
        object.payload(ANSWERED, continuation.answers.as_ref().unwrap_or(&Payload::Null));
    });
    object.finish()
}

/// The checkpoints of the pauses of a node of a run that has ended, for the run that resumes it.
pub(crate) fn resumed_pauses(name: &str, node: &Payload) -> Vec<NodeRow> {
    let rows = || {
        let continuation = node.as_map()?.get(CONTINUATION)?.as_map()?;
        let last = match continuation.get("pause")? {
            Payload::Int(number) => u32::try_from(*number).ok()?,
            _ => return None,
        };
        let parts = continuation.get(PROGRESS)?.as_list()?;
        let first = last.checked_sub(u32::try_from(parts.len()).ok()?)?;
        let row = |(number, part): (u32, &Payload)| {
            bare_row(pause_row_name(name, number), document(PROGRESS, part))
        };
        let mut rows: Vec<NodeRow> = (first + 1..).zip(parts).map(row).collect();
        let answers = continuation.get(ANSWERED).filter(|answers| !answers.is_null());
        let row = |answers| bare_row(answers_row_name(name, last), document(ANSWERED, answers));
        rows.extend(answers.map(row));
        Some(rows)
    };
    rows().unwrap_or_default()
}

fn member(row: &NodeRow, name: &str) -> Option<Payload> {
    let read = Payload::from_record(&row.outcome).ok();
    let found = read.as_ref().and_then(|read| read.as_map()?.get(name).cloned());
    if found.is_none() {
        tracing::error!(node = row.node, "cannot read the checkpoint of a pause");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[(&str, &str)]) -> Vec<NodeRow> {
        rows.iter().map(|(name, text)| bare_row((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn a_node_continues_from_its_last_pause() {
        let rows = rows(&[
            ("work#1", r#"{"progress":"a"}"#),
            ("work#1.answers", r#"{"answers":{"1-1":{"result":1}}}"#),
            ("work#2", r#"{"progress":"b"}"#),
            ("work#2.answers", r#"{"answers":{"2-1":{"result":2}}}"#),
            ("work#3", r#"{"progress":"c"}"#),
            ("other", r#"{"status":"succeeded"}"#),
        ]);
        let all = continuations(&rows);
        assert_eq!(all.len(), 1);
        let progress = vec!["a".into(), "b".into(), "c".into()];
        assert_eq!(*all["work"], NodeContinuation { number: 3, progress, answers: None });
        let before = continuations(&rows[..4]);
        assert_eq!(before["work"].answers.as_ref().unwrap().to_json(), r#"{"2-1":{"result":2}}"#);
    }

    #[test]
    fn a_run_that_ended_while_a_node_waited_is_resumed_with_its_pauses() {
        let rows = rows(&[
            ("work#1", r#"{"progress":"a"}"#),
            ("work#1.answers", r#"{"answers":{"1-1":{"result":1}}}"#),
            ("work#2", r#"{"progress":"b"}"#),
            ("work#2.answers", r#"{"answers":{"2-1":{"error":"no"}}}"#),
        ]);
        let before = continuations(&rows);
        let node = with_continuation(r#"{"status":"cancelled"}"#, &before["work"]);
        let again = resumed_pauses("work", &Payload::from_json(&node).unwrap());
        assert_eq!(continuations(&again), before);
        assert!(resumed_pauses("work", &Payload::from_json("{}").unwrap()).is_empty());
    }

    #[test]
    fn the_calls_of_a_pause_are_answered_by_their_ids() {
        let waiting = r#"{"status":"waiting","pause":2,"calls":[{"id":"2-1"},{"id":"2-2"}]}"#;
        let waiting = Payload::from_json(waiting).unwrap();
        assert_eq!(pause_of(&waiting), Some(2));
        let mut problems = Problems::new();
        let value = Payload::from_json(
            r#"{"2-1": {"result": [1]}, "2-2": {"error": 5}, "2-3": {"result": null}}"#,
        );
        let at = At::Root.key("value");
        let row = answers_row("work", &waiting, 2, &value.unwrap(), &at, &mut problems);
        assert!(row.is_none());
        let found: Vec<_> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
        assert_eq!(found, ["/value/2-2", "/value/2-3"]);
    }
}
