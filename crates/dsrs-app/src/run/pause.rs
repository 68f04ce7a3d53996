//! Nodes that wait for answers in the middle of their work: the checkpoint of a pause, the checkpoint of its answers, and what
//! a later attempt continues from. Does not know how either is stored.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use dsrs::graph::CompletedNode;
use dsrs::lm::Usage;
use dsrs::predict::{NodeContinuation, NodePause, admit_answers};
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;

use crate::json::JsonObject;
use crate::run::documents::usage_json;
use crate::run::merged_record::{NO_TRACE, is_waiting, node_row};
use dsrs_store::run_progress::NodeRow;

/// Separates the name of a node from the number of its pause. No name of a node contains it.
const SEPARATOR: char = '#';

/// The end of the name of the checkpoint with the answers.
const ANSWERS: &str = ".answers";

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

/// The checkpoint of a node that has paused, with what it has cost until now.
pub(crate) fn pause_row(node: &CompletedNode, pause: &NodePause, start: DateTime<Utc>) -> NodeRow {
    let row = node_row(node, start);
    NodeRow { node: pause_row_name(&node.name, pause.number), outcome: progress_json(pause), ..row }
}

/// The same for a run whose record has the trace and the usage already.
pub(crate) fn pause_row_without_trace(node: &str, pause: &NodePause) -> NodeRow {
    bare_row(pause_row_name(node, pause.number), progress_json(pause))
}

fn progress_json(pause: &NodePause) -> String {
    let mut object = JsonObject::new();
    object.payload("progress", &pause.progress);
    object.finish()
}

fn bare_row(node: String, outcome: String) -> NodeRow {
    let usage = usage_json(&Usage::default());
    NodeRow { node, outcome, usage, trace: NO_TRACE.to_owned(), prefixes: Vec::new() }
}

/// What a node asks for, in its document: `pause` and `calls`.
pub(crate) fn write_pause(object: &mut JsonObject, pause: &NodePause) {
    object.shown("pause", pause.number);
    let calls = pause.calls.iter().map(|call| {
        let mut object = JsonObject::new();
        object.text("id", &call.id).text("tool", &call.tool);
        object.payload("arguments", &call.arguments);
        object.finish()
    });
    object.list("calls", calls);
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
    let mut object = JsonObject::new();
    object.payload("answers", &answers);
    Some(bare_row(answers_row_name(name, number), object.finish()))
}

/// What the nodes that have paused continue from: each from its last pause.
pub(crate) fn continuations(rows: &[NodeRow]) -> HashMap<Arc<str>, NodeContinuation> {
    let mut found: HashMap<Arc<str>, NodeContinuation> = HashMap::new();
    for (name, continuation) in rows.iter().filter_map(|row| continuation(row, rows)) {
        let last = found.entry(name).or_insert_with(|| continuation.clone());
        if last.number < continuation.number {
            *last = continuation;
        }
    }
    found
}

fn continuation(row: &NodeRow, rows: &[NodeRow]) -> Option<(Arc<str>, NodeContinuation)> {
    let (name, number) = row.node.split_once(SEPARATOR)?;
    let number = number.parse().ok()?;
    let progress = member(row, "progress")?;
    let answers = answers_row_name(name, number);
    let answers = rows.iter().find(|row| row.node == answers);
    let answers = answers.and_then(|row| member(row, "answers"));
    Some((name.into(), NodeContinuation { number, progress, answers }))
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
        let last = NodeContinuation { number: 3, progress: "c".into(), answers: None };
        assert_eq!(all["work"], last);
        let before = continuations(&rows[..4]);
        assert_eq!(before["work"].answers.as_ref().unwrap().to_json(), r#"{"2-1":{"result":2}}"#);
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
