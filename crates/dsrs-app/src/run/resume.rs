//! Resuming runs that failed or were cancelled: from their completed nodes, if necessary with another
//! version of the graph, as far as the nodes are the same there.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::{Program, ResumeDecision, resume_decisions};
use dsrs::lm::Usage;
use dsrs::problem::Problems;
use dsrs::value::{Fields, Map, Payload};
use indexmap::IndexMap;
use uuid::Uuid;

use crate::clock::now;
use crate::error::merge_faults;
use crate::job::request::JobRequest;
use crate::json::JsonObject;
use crate::run::documents::{NO_TRACE, fields_json, usage_json};
use crate::run::execute::admit;
use crate::run::merged_record::{PENDING, members, outputs_of};
use crate::run::pause::resumed_pauses;
use crate::run::record::recorded_inputs;
use crate::{AnswerBuilder, App, AppError, RequestId};
use dsrs_store::Scope;
use dsrs_store::background_run::{self, ResumedRun};
use dsrs_store::graph::{GraphRef, VersionSelection};
use dsrs_store::job;
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_progress::NodeRow;

/// How to resume a run.
pub struct ResumeRequest {
    /// The versions; by default those of the run.
    pub pick: VersionSelection,
    /// The time limit of an attempt, if it is below the server's.
    pub timeout: Option<Duration>,
    pub request_id: RequestId,
    /// The problems found in the rest of the request.
    pub faults: Problems,
}

/// A resumed run, and which nodes run again.
pub struct ResumeOutcome {
    pub run: RunRow,
    pub nodes: IndexMap<Arc<str>, ResumeDecision>,
}

impl App {
    /// Puts a run that failed or was cancelled back into the queue.
    pub async fn run_resume(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
        request: ResumeRequest,
        answer: AnswerBuilder<ResumeOutcome>,
    ) -> Result<ResumeOutcome, AppError> {
        let run: RunRow = job::get(scope, &self.db, id).await?;
        check_resumable(run.status)?;
        let old = self.recorded_program(scope, &run).await?;
        let (new, pick) = self.next_program(scope, &run, request.pick).await?;
        let recorded = recorded_inputs(&run)?;
        let inputs = merge_faults(request.faults, admit(&new, &recorded))?;
        let nodes = verdicts(&run, (&old, &admit(&old, &recorded)?), (&new, &inputs));
        self.check_queue(scope).await?;
        self.check_waiting(scope, &new).await?;
        request.request_id.note_run(run.id);
        let job = JobRequest::new(request.timeout, request.request_id);
        let is_same = pick == (run.graph_version, run.state_version);
        let mut completed = completed_nodes(&run, &nodes);
        let documents = nodes_json(&completed, &nodes);
        completed.extend(is_same.then(|| pauses(&run, &new, &nodes)).into_iter().flatten());
        let ended_at = run.finished_at;
        let next = RunRow {
            graph_version: pick.0,
            state_version: pick.1,
            status: RunStatus::Queued,
            inputs: fields_json(&inputs),
            nodes: documents,
            outputs: None,
            error: None,
            finished_at: None,
            duration_ms: None,
            ..run
        };
        let outcome = ResumeOutcome { run: next, nodes };
        let answer = answer.build(&outcome);
        let resumed = ResumedRun {
            run: &outcome.run,
            checkpoints: &completed,
            request: &job.to_json(),
            seen: ended_at,
            at: now(),
        };
        background_run::resume(scope, &self.db, resumed, answer.as_ref()).await?;
        Ok(outcome)
    }

    /// The program that the run continues with, and its versions of graph and state.
    async fn next_program(
        self: &Arc<Self>,
        scope: &Scope,
        run: &RunRow,
        pick: VersionSelection,
    ) -> Result<(Arc<Program>, (i32, i32)), AppError> {
        if pick == VersionSelection::NEWEST {
            let program = self.recorded_program(scope, run).await?;
            return Ok((program, (run.graph_version, run.state_version)));
        }
        let version = pick.version.or(Some(run.graph_version));
        let graph = GraphRef::Id(run.graph_id);
        let (pin, program) =
            self.ready(scope, &graph, VersionSelection { version, ..pick }).await?;
        Ok((program, (pin.version, pin.state_version)))
    }
}

fn check_resumable(status: RunStatus) -> Result<(), AppError> {
    match status {
        RunStatus::Failed | RunStatus::Cancelled => Ok(()),
        RunStatus::Succeeded => Err(AppError::RunFinished(
            "the run has succeeded; there is nothing to resume".to_owned(),
        )),
        RunStatus::Queued | RunStatus::Running | RunStatus::Waiting => {
            let detail = format!(
                "the run is {status}; only a run that failed or was cancelled can be resumed"
            );
            Err(AppError::RunUnfinished(detail))
        }
    }
}

fn verdicts(
    run: &RunRow,
    old: (&Program, &Fields),
    new: (&Program, &Fields),
) -> IndexMap<Arc<str>, ResumeDecision> {
    let recorded = members(&run.nodes);
    let fits = |(name, node): (&Arc<str>, &Payload)| {
        let outputs = outputs_of(node)?;
        old.0.restore_completed_node(name, &outputs).map(|_| name.clone())
    };
    let ended: HashSet<Arc<str>> = recorded.iter().filter_map(fits).collect();
    resume_decisions(old, new, &ended)
}

/// The nodes that do not run again. Their usage and trace are in the record of the run already.
fn completed_nodes(run: &RunRow, nodes: &IndexMap<Arc<str>, ResumeDecision>) -> Vec<NodeRow> {
    let recorded: Map = members(&run.nodes);
    let completed = nodes.iter().filter(|(_, verdict)| **verdict == ResumeDecision::Reuse);
    completed
        .filter_map(|(name, _)| {
            Some(NodeRow {
                node: name.to_string(),
                outcome: recorded.get(name)?.to_json(),
                usage: usage_json(&Usage::default()),
                trace: NO_TRACE.to_owned(),
                prefixes: Vec::new(),
            })
        })
        .collect()
}

/// The checkpoints of nodes that had paused, which continue from there: their inputs are the same, because nothing before them
/// runs again.
fn pauses(
    run: &RunRow,
    program: &Program,
    nodes: &IndexMap<Arc<str>, ResumeDecision>,
) -> Vec<NodeRow> {
    let recorded: Map = members(&run.nodes);
    let runs_again =
        |name: &Arc<str>| nodes.get(name).is_some_and(|verdict| *verdict != ResumeDecision::Reuse);
    let edges = program.graph().edges();
    let is_fed_anew = |name: &Arc<str>| {
        edges.iter().any(|edge| edge.to.node == *name && runs_again(&edge.from.node))
    };
    let again = nodes.keys().filter(|name| runs_again(name) && !is_fed_anew(name));
    let of_node = |name: &Arc<str>| Some(resumed_pauses(name, recorded.get(name)?));
    again.filter_map(of_node).flatten().collect()
}

fn nodes_json(completed: &[NodeRow], nodes: &IndexMap<Arc<str>, ResumeDecision>) -> String {
    let mut object = JsonObject::new();
    for name in nodes.keys() {
        let row = completed.iter().find(|row| row.node == **name);
        object.raw(name, row.map_or(PENDING, |row| &row.outcome));
    }
    object.finish()
}
