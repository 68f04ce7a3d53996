//! Which graphs of a workspace clients of other protocols reach, and under which names. A name belongs to one graph: a
//! definition that takes the name of another graph is refused. Changes that take names have turns; of graphs that have the
//! same name nevertheless, the oldest has it. Knows no protocol.

use std::collections::HashSet;
use std::sync::Arc;

use dsrs::graph::{ChatExposure, Exposure, Program, ToolExposure};
use dsrs::problem::{At, Code, Problem, Problems};
use moka::sync::Cache;
use uuid::Uuid;

use crate::{App, AppError, ChatModel, Invalid};
use dsrs_store::exposed_graph::ExposureTurn;
use dsrs_store::graph::GraphRef;
use dsrs_store::graph_edit::LockedGraph;
use dsrs_store::{Scope, StoreError, exposed_graph, graph};

/// The workspaces whose exposed graphs are cached.
const WORKSPACES: u64 = 1024;

/// The exposed graphs of workspaces, each valid for one epoch of the graphs.
pub(crate) struct ExposureCache(Cache<Uuid, (u64, Arc<ExposedGraphs>)>);

impl ExposureCache {
    pub(crate) fn new() -> Self {
        Self(Cache::new(WORKSPACES))
    }
}

/// The exposed graphs of a workspace, oldest first.
#[derive(Debug, Default)]
pub struct ExposedGraphs(Vec<ExposedGraph>);

/// A graph whose newest version declares how it is exposed.
#[derive(Debug)]
pub struct ExposedGraph {
    pub id: Uuid,
    name: String,
    exposure: Exposure,
}

impl ExposedGraph {
    /// The name that it declares as a chat model.
    fn model(&self) -> Option<&str> {
        match &self.exposure.chat {
            Some(ChatExposure::Model { model, .. }) => model.as_deref(),
            _ => None,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name as a tool, if it is one.
    pub fn tool(&self) -> Option<&str> {
        tool_of(&self.exposure, &self.name)
    }

    /// Its description as a tool, if it declares one.
    pub fn tool_description(&self) -> Option<&str> {
        match &self.exposure.tool {
            Some(ToolExposure::Tool { description, .. }) => description.as_deref(),
            _ => None,
        }
    }
}

impl ExposedGraphs {
    /// The graph that declares this name of a chat model.
    pub fn model(&self, name: &str) -> Option<&ExposedGraph> {
        self.0.iter().find(|graph| graph.model() == Some(name))
    }

    /// The graph that is the tool of this name.
    pub fn tool(&self, name: &str) -> Option<&ExposedGraph> {
        self.0.iter().find(|graph| graph.tool() == Some(name))
    }

    /// The graphs that are tools: of those with the same name, the oldest.
    pub fn tools(&self) -> impl Iterator<Item = &ExposedGraph> {
        let mut names = HashSet::new();
        self.0.iter().filter(move |graph| graph.tool().is_some_and(|name| names.insert(name)))
    }

    /// Whether a request for this name of a chat model reaches this graph, which has it.
    pub fn is_reached(&self, name: &str, graph: Uuid) -> bool {
        self.model(name).is_none_or(|found| found.id == graph)
    }

    /// Whether a graph declares that it is no chat model.
    pub fn is_no_model(&self, graph: Uuid) -> bool {
        let found = self.0.iter().find(|found| found.id == graph);
        found.is_some_and(|found| found.exposure.chat == Some(ChatExposure::Off))
    }
}

impl App {
    /// The exposed graphs of the caller's workspace.
    pub async fn exposed_graphs(&self, scope: &Scope) -> Result<Arc<ExposedGraphs>, AppError> {
        let cache = &self.exposures.0;
        // Read before the look-up, whose result is valid for this epoch or a later one.
        let epoch = self.db.changes().epoch_of_all();
        if let Some(((seen, found), epoch)) = cache.get(&scope.workspace).zip(epoch)
            && seen == epoch
        {
            return Ok(found);
        }
        let found = Arc::new(self.read_exposed(scope).await?);
        if let Some(epoch) = epoch {
            cache.insert(scope.workspace, (epoch, found.clone()));
        }
        Ok(found)
    }

    /// Checks that a program is what its definition exposes it as, and that its names are free. `own` is the graph that
    /// the definition replaces.
    pub(crate) async fn check_exposure(
        &self,
        scope: &Scope,
        own: Option<Uuid>,
        program: &Program,
    ) -> Result<(), AppError> {
        let mut problems = Problems::new();
        let declared = program.graph().exposure();
        if let (Some(ChatExposure::Model { .. }), Err(reason)) =
            (&declared.chat, ChatModel::of(program))
        {
            let pointer = At::Root.key("expose").key("openai").pointer();
            problems.push(Problem { pointer, code: Code::InvalidValue, detail: reason });
        }
        let others = self.read_exposed(scope).await?;
        // A document that is only validated may be a new text of the graph of its name.
        let is_other =
            |graph: &&ExposedGraph| Some(graph.id) != own && graph.name != program.graph().name();
        let others = others.0.iter().filter(is_other);
        let others: Vec<&ExposedGraph> = others.collect();
        problems.extend(self.taken_model(scope, own, program, &others).await?);
        problems.extend(taken_tool(program, &others));
        problems.or(()).map_err(|problems| AppError::invalid(Invalid::Graph, problems))
    }

    /// Checks the names of a new graph again if it is exposed, while no other graph takes any: until the turn is dropped.
    pub(crate) async fn exposure_turn(
        &self,
        scope: &Scope,
        program: &Program,
    ) -> Result<Option<ExposureTurn>, AppError> {
        if !is_declared(program) {
            return Ok(None);
        }
        let turn = exposed_graph::take_turn(scope, &self.db).await?;
        self.check_exposure(scope, None, program).await?;
        Ok(Some(turn))
    }

    /// [`Self::check_exposure`] for a graph that is locked: no other graph takes a name until the lock is released.
    pub(crate) async fn check_locked_exposure(
        &self,
        scope: &Scope,
        locked: &mut LockedGraph,
        program: &Program,
    ) -> Result<(), AppError> {
        if is_declared(program) {
            locked.await_exposure_turn().await?;
        }
        self.check_exposure(scope, Some(locked.head().id), program).await
    }

    async fn read_exposed(&self, scope: &Scope) -> Result<ExposedGraphs, AppError> {
        let rows = exposed_graph::list(scope, &self.db).await?;
        let graphs = rows.into_iter().filter_map(|row| {
            let exposure = Exposure::from_json(&row.expose)?;
            Some(ExposedGraph { id: row.id, name: row.name, exposure })
        });
        Ok(ExposedGraphs(graphs.collect()))
    }

    /// The problem of a name of a chat model that another graph has.
    async fn taken_model(
        &self,
        scope: &Scope,
        own: Option<Uuid>,
        program: &Program,
        others: &[&ExposedGraph],
    ) -> Result<Option<Problem>, AppError> {
        let (name, declared) = match &program.graph().exposure().chat {
            Some(ChatExposure::Off) => return Ok(None),
            Some(ChatExposure::Model { model: Some(model), .. }) => (&**model, true),
            _ => (program.graph().name(), false),
        };
        let root = At::Root;
        let at = if declared { root.key("expose") } else { root.key("name") };
        let pointer = match declared {
            true => at.key("openai").key("model").pointer(),
            false => at.pointer(),
        };
        if let Some(other) = others.iter().find(|other| other.model() == Some(name)) {
            let detail =
                format!("the graph `{}` is exposed as the chat model `{name}` already", other.name);
            return Ok(Some(Problem { pointer, code: Code::DuplicateName, detail }));
        }
        if !declared || name == program.graph().name() {
            return Ok(None);
        }
        match graph::id_of(scope, &self.db, &GraphRef::parse(name)).await {
            Ok(id) if Some(id) != own => {
                let detail = format!("`{name}` is another graph; choose another name of the model");
                Ok(Some(Problem { pointer, code: Code::DuplicateName, detail }))
            }
            Ok(_) | Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether the definition has `expose`.
fn is_declared(program: &Program) -> bool {
    program.graph().exposure().to_json().is_some()
}

/// The problem of a name of a tool that another graph has.
fn taken_tool(program: &Program, others: &[&ExposedGraph]) -> Option<Problem> {
    let exposure = program.graph().exposure();
    let name = tool_of(exposure, program.graph().name())?;
    let other = others.iter().find(|other| other.tool() == Some(name))?;
    let root = At::Root;
    let at = root.key("expose");
    let at = at.key("mcp");
    let pointer = match &exposure.tool {
        Some(ToolExposure::Tool { name: Some(_), .. }) => at.key("name").pointer(),
        _ => at.pointer(),
    };
    let detail = format!("the graph `{}` is exposed as the tool `{name}` already", other.name);
    Some(Problem { pointer, code: Code::DuplicateName, detail })
}

fn tool_of<'e>(exposure: &'e Exposure, graph: &'e str) -> Option<&'e str> {
    match &exposure.tool {
        Some(ToolExposure::Tool { name, .. }) => Some(name.as_deref().unwrap_or(graph)),
        _ => None,
    }
}
