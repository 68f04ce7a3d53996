//! Runs that go on after they failed or were cancelled: from the nodes that had come to their end,
//! perhaps with another version of the graph, where those still count.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::{Program, ResumeDecision, resume_decisions};
use dsrs::lm::Usage;
use dsrs::problem::Problems;
use dsrs::value::{Fields, Map, Payload};
use indexmap::IndexMap;
use uuid::Uuid;

use crate::app::clock::now;
use crate::app::error::merge_faults;
use crate::app::json::JsonObject;
use crate::app::run::attempt::JobRequest;
use crate::app::run::background::recorded_inputs;
use crate::app::run::documents::{fields_json, usage_json};
use crate::app::run::execute::admit;
use crate::app::run::merged_record::{NO_TRACE, PENDING, members, outputs_of};
use crate::app::{App, AppError};
use crate::store::Scope;
use crate::store::background_run::{self, NodeRow};
use crate::store::graph::{GraphRef, Pick};
use crate::store::run::{self, RunRow, RunStatus};

/// How a run is to go on.
pub(crate) struct ResumeRequest {
    /// With which versions; its own where none is named.
    pub(crate) pick: Pick,
    /// How long it may take from now, if less than the server's limit.
    pub(crate) timeout: Option<Duration>,
    /// The request's id.
    pub(crate) request_id: Arc<str>,
    /// What is wrong with the rest of the request.
    pub(crate) faults: Problems,
}

/// A run that goes on, and what becomes of each node.
pub(crate) struct ResumeOutcome {
    pub(crate) run: RunRow,
    pub(crate) nodes: IndexMap<Arc<str>, ResumeDecision>,
}

impl App {
    /// Puts a run that failed or was cancelled back into the queue.
    pub(crate) async fn run_resume(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
        request: ResumeRequest,
    ) -> Result<ResumeOutcome, AppError> {
        let run = run::get(scope, &self.db, id).await?;
        may_go_on(run.status)?;
        let old = self.recorded_program(scope, &run).await?;
        let (new, pick) = self.next_program(scope, &run, request.pick).await?;
        let given = recorded_inputs(&run)?;
        let inputs = merge_faults(request.faults, admit(&new, &given))?;
        let nodes = verdicts(&run, (&old, &admit(&old, &given)?), (&new, &inputs));
        let asked = JobRequest { timeout: request.timeout, request_id: request.request_id };
        let kept = kept(&run, &nodes);
        let next = RunRow {
            graph_version: pick.0,
            state_version: pick.1,
            status: RunStatus::Queued,
            inputs: fields_json(&inputs),
            nodes: nodes_json(&kept, &nodes),
            outputs: None,
            error: None,
            finished_at: None,
            duration_ms: None,
            ..run
        };
        let (asked, seen) = (asked.to_json(), run.finished_at);
        background_run::resume(scope, &self.db, &next, &kept, &asked, seen, now()).await?;
        Ok(ResumeOutcome { run: next, nodes })
    }

    /// The program that the run goes on with, and its versions of graph and state.
    async fn next_program(
        self: &Arc<Self>,
        scope: &Scope,
        run: &RunRow,
        pick: Pick,
    ) -> Result<(Arc<Program>, (i32, i32)), AppError> {
        if pick == Pick::NEWEST {
            let program = self.recorded_program(scope, run).await?;
            return Ok((program, (run.graph_version, run.state_version)));
        }
        let version = pick.version.or(Some(run.graph_version));
        let graph = GraphRef::Id(run.graph_id);
        let (pin, program) = self.ready(scope, &graph, Pick { version, ..pick }).await?;
        Ok((program, (pin.version, pin.state_version)))
    }
}

fn may_go_on(status: RunStatus) -> Result<(), AppError> {
    match status {
        RunStatus::Failed | RunStatus::Cancelled => Ok(()),
        RunStatus::Succeeded => Err(AppError::RunFinished(
            "the run has succeeded: there is nothing left to run".to_owned(),
        )),
        RunStatus::Queued | RunStatus::Running | RunStatus::Waiting => {
            let detail =
                format!("the run is {status}; only one that failed or was cancelled is resumed");
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

/// What is kept of the record: what it cost and how it came about is in the run's trace already.
fn kept(run: &RunRow, nodes: &IndexMap<Arc<str>, ResumeDecision>) -> Vec<NodeRow> {
    let recorded: Map = members(&run.nodes);
    let kept = nodes.iter().filter(|(_, verdict)| **verdict == ResumeDecision::Reuse);
    kept.filter_map(|(name, _)| {
        Some(NodeRow {
            node: name.to_string(),
            outcome: recorded.get(name)?.to_json(),
            usage: usage_json(&Usage::default()),
            trace: NO_TRACE.to_owned(),
        })
    })
    .collect()
}

fn nodes_json(kept: &[NodeRow], nodes: &IndexMap<Arc<str>, ResumeDecision>) -> String {
    let mut object = JsonObject::new();
    for name in nodes.keys() {
        let kept = kept.iter().find(|row| row.node == **name);
        object.raw(name, kept.map_or(PENDING, |row| &row.outcome));
    }
    object.finish()
}
