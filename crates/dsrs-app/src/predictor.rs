//! The predictors of a stored graph, and their prompts, rendered without an LM call.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::lm::Message;
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;
use indexmap::IndexMap;
use uuid::Uuid;

use crate::error::merge_faults;
use crate::{App, AppError, Invalid};
use dsrs_store::Scope;
use dsrs_store::graph::{GraphRef, VersionSelection};

/// The active program of a graph, for its predictors.
pub struct ActiveProgram {
    /// The graph's id.
    pub graph: Uuid,
    pub state_version: i32,
    /// The program with that state.
    pub program: Arc<Program>,
}

/// Which node to render, with which inputs.
pub struct NodeRenderRequest<'r> {
    pub node: &'r str,
    /// Its inputs, unchecked.
    pub inputs: &'r Payload,
    pub pick: VersionSelection,
    /// Changes of the state that are not stored, by predictor path.
    pub changes: Option<&'r Payload>,
    /// The problems found in the rest of the request.
    pub faults: Problems,
}

impl App {
    /// The predictors of the newest version with its active state.
    pub async fn predictor_view(
        &self,
        scope: &Scope,
        graph: &GraphRef,
    ) -> Result<ActiveProgram, AppError> {
        let pin = self.pin(scope, graph, VersionSelection::NEWEST).await?;
        let program = self.program(scope, &pin).await?;
        Ok(ActiveProgram { graph: pin.id, state_version: pin.state_version, program })
    }

    /// The exact messages that each predictor of a node would send for these inputs.
    pub async fn graph_render(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        request: NodeRenderRequest<'_>,
    ) -> Result<IndexMap<String, Vec<Message>>, AppError> {
        let program = match request.changes {
            Some(changes) => {
                Arc::new(Box::pin(self.state_draft(scope, graph, request.pick, changes)).await?)
            }
            None => self.program(scope, &*self.pin(scope, graph, request.pick).await?).await?,
        };
        let mut problems = Problems::new();
        let rendered = program
            .render(request.node, request.inputs, &At::Root, &mut problems)
            .filter(|_| problems.is_empty())
            .ok_or_else(|| AppError::invalid(Invalid::Input, problems));
        merge_faults(request.faults, rendered)
    }
}
