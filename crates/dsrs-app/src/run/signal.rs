//! Runs that wait for values from outside: parked by an execution, continued by a signal. Background
//! runs are parked by `attempt`.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use dsrs::lm::Usage;
use dsrs::problem::{At, Code, Problems};
use dsrs::value::Payload;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::clock::now;
use crate::error::merge_faults;
use crate::job::request::JobRequest;
use crate::json::JsonObject;
use crate::run::documents::{NO_TRACE, is_waiting, usage_json};
use crate::run::merged_record::{UnfinishedRun, has_ended, members};
use crate::run::pause::{answers_row, pause_of};
use crate::{AnswerBuilder, App, AppError, Invalid, RequestId};
use dsrs_store::Scope;
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_progress::NodeRow;
use dsrs_store::waiting_run::{self, SignalOutcome};

/// How long a signal waits for its run to be parked, and how often it looks.
const PARK_PATIENCE: Duration = Duration::from_secs(1);
const PARK_POLL: Duration = Duration::from_millis(50);

/// A value for a node that waits.
pub struct SignalRequest {
    pub node: Arc<str>,
    /// Its outputs, unchecked.
    pub value: Payload,
    /// The problems found in the rest of the request.
    pub faults: Problems,
}

impl App {
    /// Sends a waiting node its value, with which the run continues.
    pub async fn run_signal(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
        request: SignalRequest,
        answer: AnswerBuilder<RunRow>,
    ) -> Result<RunRow, AppError> {
        let earlier = self.run_before_signal(scope, id, &request.node).await?;
        let run = &earlier.run;
        if run.status.has_ended() {
            let detail = format!("the run has ended already: it {}", run.status);
            return Err(AppError::RunFinished(detail));
        }
        let program = self.recorded_program(scope, run).await?;
        let mut problems = Problems::new();
        let Some(node) = program.graph().node(&request.node) else {
            let detail = format!("the graph has no node `{}`", request.node);
            problems.add(&At::Root.key("node"), Code::UnknownNode, detail);
            return merge_faults(
                request.faults,
                Err(AppError::invalid(Invalid::Request, problems)),
            );
        };
        let recorded = members(&run.nodes);
        let waiting = recorded.get(&request.node).filter(|node| is_waiting(node));
        let Some(waiting) = waiting else {
            let detail = format!("the node `{}` does not wait for a value", request.node);
            return merge_faults(request.faults, Err(AppError::NotWaiting(detail)));
        };
        let at = At::Root.key("value");
        let (name, value) = (&request.node, &request.value);
        let row = match pause_of(waiting) {
            Some(number) => answers_row(name, waiting, number, value, &at, &mut problems),
            None => program
                .admit_signal(node, value, &at, &mut problems)
                .map(|value| signalled(name, waiting, &value, now())),
        };
        let row = row.filter(|_| problems.is_empty());
        let row = row.ok_or_else(|| AppError::invalid(Invalid::Input, problems));
        let row = merge_faults(request.faults, row)?;
        let run = continued(earlier, &row);
        let answer = answer.build(&run);
        let sent = waiting_run::signal(scope, &self.db, id, &row, now(), answer.as_ref()).await?;
        accepted(sent, &request.node).map(|()| run)
    }

    /// Reads a run. A client that has just read the event of a node that waits may be faster than the attempt,
    /// which parks the run after it, so a run in progress is read again for a moment.
    async fn run_before_signal(
        &self,
        scope: &Scope,
        id: Uuid,
        node: &str,
    ) -> Result<UnfinishedRun, AppError> {
        let deadline = Instant::now() + PARK_PATIENCE;
        loop {
            let earlier = UnfinishedRun::read(scope, &self.db, id).await?;
            let recorded = members(&earlier.run.nodes);
            let waits = recorded.get(node).is_some_and(|found| earlier.awaits(node, found));
            let is_running = earlier.run.status == RunStatus::Running;
            if waits || !is_running || earlier.has(node) || Instant::now() >= deadline {
                return Ok(earlier);
            }
            sleep(PARK_POLL).await;
        }
    }

    /// Stores an execution that waits for a signal as a background run, with the checkpoints of nodes that have paused.
    pub(crate) async fn run_park(
        &self,
        scope: &Scope,
        run: &RunRow,
        pauses: &[NodeRow],
        request_id: &RequestId,
    ) -> Result<(), AppError> {
        let job = JobRequest::new(None, request_id.clone());
        let ended: Vec<NodeRow> = members(&run.nodes)
            .iter()
            .filter(|(_, node)| has_ended(node))
            .map(|(name, node)| checkpoint(name, node.to_json()))
            .chain(pauses.iter().cloned())
            .collect();
        Ok(waiting_run::accept(scope, &self.db, run, &ended, &job.to_json()).await?)
    }
}

fn accepted(sent: SignalOutcome, node: &str) -> Result<(), AppError> {
    match sent {
        SignalOutcome::Accepted => Ok(()),
        SignalOutcome::Already => {
            Err(AppError::NotWaiting(format!("the node `{node}` has its value already")))
        }
        SignalOutcome::Ended => {
            Err(AppError::RunFinished("the run has ended in the meantime".to_owned()))
        }
    }
}

/// A run with the value that it has received. If it was parked, it is queued.
fn continued(mut earlier: UnfinishedRun, value: &NodeRow) -> RunRow {
    earlier.ended.push(value.clone());
    if earlier.run.status == RunStatus::Waiting {
        earlier.run.status = RunStatus::Queued;
    }
    earlier.current()
}

/// A checkpoint whose usage and trace are elsewhere in the record.
fn checkpoint(name: &str, outcome: String) -> NodeRow {
    let usage = usage_json(&Usage::default());
    let (node, trace) = (name.to_owned(), NO_TRACE.to_owned());
    NodeRow { node, outcome, usage, trace, prefixes: Vec::new() }
}

/// The checkpoint of a node that has received its value.
fn signalled(name: &str, waiting: &Payload, value: &Payload, at: DateTime<Utc>) -> NodeRow {
    let before = waiting.as_map().cloned().unwrap_or_default();
    let mut node = JsonObject::new();
    node.text("status", "succeeded");
    let started = before.get("started_at").and_then(Payload::as_str);
    node.text_or_null("started_at", started);
    let since = started.and_then(|text| DateTime::parse_from_rfc3339(text).ok());
    let waited = since.map(|since| (at - since.with_timezone(&Utc)).num_milliseconds().max(0));
    node.shown_or_null("duration_ms", waited);
    node.raw("outputs", &value.to_json()).raw("error", "null");
    if let Some(inputs) = before.get("inputs") {
        node.raw("inputs", &inputs.to_json());
    }
    checkpoint(name, node.finish())
}

#[cfg(test)]
mod tests {
    use dsrs::value::Map;

    use super::*;

    #[test]
    fn the_duration_of_a_signalled_node_is_its_waiting_time() {
        let waiting = r#"{"status":"waiting","started_at":"2026-01-01T00:00:00Z","duration_ms":null,"outputs":null,"error":null}"#;
        let waiting = Payload::from_json(waiting).unwrap();
        let value = Payload::map(Map::from_iter([("ok".into(), Payload::Bool(true))]));
        let at = DateTime::parse_from_rfc3339("2026-01-01T00:00:02Z").unwrap().with_timezone(&Utc);
        assert_eq!(
            signalled("approve", &waiting, &value, at).outcome,
            r#"{"status":"succeeded","started_at":"2026-01-01T00:00:00Z","duration_ms":2000,"outputs":{"ok":true},"error":null}"#
        );
    }
}
