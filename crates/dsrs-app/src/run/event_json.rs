//! The engine's events of a run as JSON, for a buffer or a log. May not know any transport.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use dsrs::predict::{PredictorCallId, RunEvent, RunListener};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::clock::timestamp;
use crate::event::EventKind;
use crate::event::buffer::EventBuffer;
use crate::event::log_writer::EventLog;
use crate::json::JsonObject;
use crate::run::documents::{error_json, fields_json, usage_json};
use crate::run::failure::predictor_path;

/// Writes the events of a run to a buffer.
pub(crate) struct BufferListener(pub(crate) Arc<EventBuffer>);

impl RunListener for BufferListener {
    fn receive(&self, event: RunEvent<'_>) {
        let (kind, data) = event_json(event);
        self.0.push(kind, data);
    }
}

/// Writes the events of a background run to its log.
pub(crate) struct LogListener(pub(crate) Arc<EventLog>);

impl RunListener for LogListener {
    fn receive(&self, event: RunEvent<'_>) {
        let (kind, data) = event_json(event);
        self.0.push(kind, &data);
    }
}

/// The first event of a run.
pub(crate) fn started_json(
    run: Uuid,
    graph: &str,
    versions: (i32, i32),
    start: DateTime<Utc>,
) -> String {
    started(run, graph, versions, start).finish()
}

/// The first event of an attempt at a run, with the nodes that earlier attempts completed.
pub(crate) fn attempt_json<'n>(
    run: Uuid,
    graph: &str,
    versions: (i32, i32),
    start: DateTime<Utc>,
    completed: impl Iterator<Item = &'n str>,
) -> String {
    let mut object = started(run, graph, versions, start);
    object.list("kept", completed.map(|node| Payload::str(node).to_json()));
    object.finish()
}

fn started(
    run: Uuid,
    graph: &str,
    (version, state_version): (i32, i32),
    start: DateTime<Utc>,
) -> JsonObject {
    let mut object = JsonObject::new();
    object.shown_text("run_id", run).text("graph", graph);
    object.shown("version", version).shown("state_version", state_version);
    object.text("status", "running").text("started_at", &timestamp(start));
    object
}

/// The event of a run that waits for signals.
pub(crate) fn waiting_json(run: Uuid, nodes: &[String]) -> String {
    let mut object = JsonObject::new();
    object.shown_text("run_id", run).text("status", "waiting");
    object.list("nodes", nodes.iter().map(|node| Payload::str(node.as_str()).to_json()));
    object.finish()
}

/// An event with its documented members.
fn event_json(event: RunEvent<'_>) -> (EventKind, String) {
    let mut object = JsonObject::new();
    let kind = match event {
        RunEvent::NodeStarted { node } => {
            object.text("node", node);
            EventKind::NodeStarted
        }
        RunEvent::NodeDelta { call, field, text } => {
            predictor_call(&mut object, call).text("field", field).text("text", text);
            EventKind::NodeDelta
        }
        RunEvent::NodeRetry { call, attempt, reason } => {
            predictor_call(&mut object, call).shown("attempt", attempt).text("reason", reason);
            EventKind::NodeRetry
        }
        RunEvent::NodeCompleted { node, outputs, usage, duration } => {
            object.text("node", node).raw("outputs", &fields_json(outputs));
            object.raw("usage", &usage_json(&usage)).shown("duration_ms", duration.as_millis());
            EventKind::NodeCompleted
        }
        RunEvent::NodeFailed { node, error, duration } => {
            object.text("node", node).raw("error", &error_json(node, error));
            object.shown("duration_ms", duration.as_millis());
            EventKind::NodeFailed
        }
    };
    (kind, object.finish())
}

fn predictor_call<'o>(object: &'o mut JsonObject, call: PredictorCallId<'_>) -> &'o mut JsonObject {
    let predictor = predictor_path(call.node, call.predictor);
    object.text("node", call.node).text("predictor", &predictor).shown("span", call.span.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dsrs::lm::Usage;
    use dsrs::predict::{PredictError, PredictErrorKind, SpanId};
    use dsrs::value::Fields;

    use super::*;

    fn rendered(event: RunEvent<'_>) -> String {
        let (kind, data) = event_json(event);
        format!("{} {data}", kind.as_str())
    }

    #[test]
    fn every_event_has_its_documented_members() {
        let (node, predictor, field) = ("reply".into(), "predict".into(), "answer".into());
        let call = PredictorCallId { node: &node, predictor: &predictor, span: SpanId(2) };
        assert_eq!(
            rendered(RunEvent::NodeStarted { node: &node }),
            r#"node.started {"node":"reply"}"#
        );
        assert_eq!(
            rendered(RunEvent::NodeDelta { call, field: &field, text: "Dear \"you\"" }),
            r#"node.delta {"node":"reply","predictor":"reply.predict","span":2,"field":"answer","text":"Dear \"you\""}"#
        );
        assert_eq!(
            rendered(RunEvent::NodeRetry { call, attempt: 2, reason: "too short" }),
            r#"node.retry {"node":"reply","predictor":"reply.predict","span":2,"attempt":2,"reason":"too short"}"#
        );
        let outputs = Fields::from_iter([("answer".into(), Payload::str("Yes"))]);
        let (usage, duration) = (Usage::default(), Duration::from_millis(7));
        assert_eq!(
            rendered(RunEvent::NodeCompleted { node: &node, outputs: &outputs, usage, duration }),
            r#"node.completed {"node":"reply","outputs":{"answer":"Yes"},"usage":{"lm_calls":0,"input_tokens":0,"output_tokens":0,"reasoning_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"cost":null},"duration_ms":7}"#
        );
        let error = PredictError::new(PredictErrorKind::Lm, "it broke");
        assert_eq!(
            rendered(RunEvent::NodeFailed { node: &node, error: &error, duration }),
            r#"node.failed {"node":"reply","error":{"detail":"it broke","code":"lm_error"},"duration_ms":7}"#
        );
    }
}
