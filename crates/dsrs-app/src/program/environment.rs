//! The environment of a build: models, tools, the sandbox, and the stored graphs that were loaded
//! for the definition. Never queries the database: a build does not wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsrs::graph::GraphModule;
use dsrs::predict::{SearchRanking, Tool};
use dsrs::problem::Code;
use dsrs::sandbox::Sandbox;
use dsrs::signature::SignatureSchema;
use dsrs::strategy::{BuildEnv, DynModule, GraphUnavailable, HttpTool, StoredGraphRef};
use uuid::Uuid;

use super::references::{LoadedGraph, LoadedGraphs, MAX_GRAPHS, pinned, unusable};
use crate::program::read_state;
use crate::{App, AppError};
use dsrs_store::Scope;

/// The maximum nesting depth of graphs.
const MAX_DEPTH: usize = 8;

/// How a definition is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuildPhase {
    /// A client wrote it: everything that it refers to must exist.
    New,
    /// It was checked when it was written, so it loads even if something that it refers to is
    /// missing.
    Stored,
}

/// One build of a definition, with the graphs within it.
struct Build<'b> {
    app: &'b App,
    graphs: &'b LoadedGraphs,
    progress: Mutex<BuildProgress>,
}

/// A version of a graph with a version of its state.
type VersionKey = (Uuid, i32, i32);

#[derive(Default)]
struct BuildProgress {
    /// How many graphs have been built.
    built: usize,
    schemas: HashMap<VersionKey, Arc<SignatureSchema>>,
}

/// The environment of one document in a build: of the definition itself, or of a graph within it.
struct GraphEnv<'b> {
    build: &'b Build<'b>,
    phase: BuildPhase,
    graph: Option<(Uuid, &'b str)>,
    above: Option<&'b GraphEnv<'b>>,
    progress: Mutex<DocumentProgress>,
}

#[derive(Default)]
struct DocumentProgress {
    /// Modules that were built for their schema, until the node is built that runs them.
    unused: HashMap<VersionKey, Box<dyn DynModule>>,
    /// Why the document is refused, however deep inside it the reason is.
    refused: Option<GraphUnavailable>,
}

impl App {
    /// Builds once, with the graphs that were loaded; `root` is the graph whose definition it is.
    pub(crate) fn build_with<T>(
        &self,
        graphs: &LoadedGraphs,
        phase: BuildPhase,
        root: Option<(Uuid, &str)>,
        build: impl FnOnce(&dyn BuildEnv) -> T,
    ) -> T {
        let this = Build { app: self, graphs, progress: Mutex::default() };
        build(&GraphEnv {
            build: &this,
            phase,
            graph: root,
            above: None,
            progress: Mutex::default(),
        })
    }

    /// Builds what a client wrote, once the graphs that it refers to are loaded.
    pub(crate) async fn build_new<T>(
        &self,
        scope: &Scope,
        root: Option<(Uuid, &str)>,
        references: Vec<StoredGraphRef>,
        build: impl FnOnce(&dyn BuildEnv) -> T,
    ) -> Result<T, AppError> {
        let graphs = self.load_graphs(scope, references).await?;
        Ok(self.build_with(&graphs, BuildPhase::New, root, build))
    }

    /// Builds a stored definition, once the graphs that it refers to are loaded.
    pub(crate) async fn build_stored<T>(
        &self,
        scope: &Scope,
        references: Vec<StoredGraphRef>,
        build: impl FnOnce(&dyn BuildEnv) -> T,
    ) -> Result<T, AppError> {
        let graphs = self.load_graphs(scope, references).await?;
        Ok(self.build_with(&graphs, BuildPhase::Stored, None, build))
    }
}

impl GraphEnv<'_> {
    fn loaded(&self, reference: &StoredGraphRef) -> Result<Arc<LoadedGraph>, GraphUnavailable> {
        match self.build.graphs.get(reference) {
            Some(found) => found.clone(),
            None if self.build.graphs.is_cut_off() => Err(self.refuse(too_many())),
            None => {
                let graph = &reference.graph;
                let detail = format!(
                    "graph `{graph}` was not loaded: the strategy's `config_refs` do not name it"
                );
                Err(GraphUnavailable::new(detail))
            }
        }
    }

    fn build_progress(&self) -> MutexGuard<'_, BuildProgress> {
        self.build.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> MutexGuard<'_, DocumentProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&self, refused: GraphUnavailable) -> GraphUnavailable {
        self.progress().refused = Some(refused.clone());
        refused
    }

    /// This graph and those that contain it, from the inside out.
    fn chain(&self) -> impl Iterator<Item = (Uuid, &str)> {
        let above = std::iter::successors(Some(self), |env| env.above);
        above.filter_map(|env| env.graph)
    }

    /// Refuses a graph that contains itself, or one too many.
    fn admit(&self, graph: &LoadedGraph) -> Result<(), GraphUnavailable> {
        let row = &graph.row;
        if self.chain().any(|(id, _)| id == row.id) {
            let mut names: Vec<&str> = self.chain().map(|(_, name)| name).collect();
            names.reverse();
            let path = names.join("` uses `");
            let detail =
                format!("a graph cannot be a part of itself: `{path}` uses `{}`", row.name);
            return Err(self.refuse(GraphUnavailable { code: Code::Cycle, detail }));
        }
        let built = {
            let mut progress = self.build_progress();
            progress.built += 1;
            progress.built
        };
        if self.chain().count() > MAX_DEPTH || built > MAX_GRAPHS {
            return Err(self.refuse(too_many()));
        }
        Ok(())
    }

    /// Builds a graph in an environment of its own.
    fn module(&self, graph: &LoadedGraph) -> Result<Box<dyn DynModule>, GraphUnavailable> {
        let LoadedGraph { row, document } = graph;
        self.admit(graph)?;
        let state = read_state(&row.state.predictors);
        let state = state.map_err(|error| unusable(row, &error.to_string()))?;
        let inner = GraphEnv {
            build: self.build,
            phase: BuildPhase::Stored,
            graph: Some((row.id, &row.name)),
            above: Some(self),
            progress: Mutex::default(),
        };
        let module = GraphModule::new(document, &state, &inner);
        // A stored definition loads even if something is missing; other refusals remain.
        let refused = inner.progress().refused.take();
        if let Some(refused) = refused {
            return Err(self.refuse(refused));
        }
        let module = module.map_err(|problems| unusable(row, &problems.to_string()))?;
        Ok(Box::new(module))
    }
}

fn too_many() -> GraphUnavailable {
    let detail = format!(
        "this definition refers to too many graphs: at most {MAX_GRAPHS}, nested at most \
         {MAX_DEPTH} deep"
    );
    GraphUnavailable { code: Code::TooLarge, detail }
}

const fn key(graph: &LoadedGraph) -> VersionKey {
    (graph.row.id, graph.row.version, graph.row.state.version)
}

impl BuildEnv for GraphEnv<'_> {
    fn knows_model(&self, alias: &str) -> bool {
        self.is_stored() || self.build.app.models.knows(alias)
    }

    fn knows_embedder(&self, alias: &str) -> bool {
        self.is_stored() || self.build.app.models.embedding(alias).is_some()
    }

    fn is_stored(&self) -> bool {
        self.phase == BuildPhase::Stored
    }

    fn sandbox(&self) -> Option<Arc<dyn Sandbox>> {
        self.build.app.sandbox()
    }

    fn http_tool(&self, tool: &HttpTool) -> Result<Arc<dyn Tool>, String> {
        self.build.app.tools.http(tool)
    }

    fn mcp_tools(&self, server: &str) -> Result<Vec<Arc<dyn Tool>>, String> {
        self.build.app.tools.mcp(server)
    }

    fn check_index(&self, name: &str, ranking: Option<SearchRanking>) -> Result<(), String> {
        self.build.graphs.check_index(name, ranking)
    }

    fn pin_graph(&self, reference: &StoredGraphRef) -> Result<StoredGraphRef, GraphUnavailable> {
        self.loaded(reference).map(|graph| pinned(&graph.row))
    }

    fn graph_schema(
        &self,
        reference: &StoredGraphRef,
    ) -> Result<Arc<SignatureSchema>, GraphUnavailable> {
        let graph = self.loaded(reference)?;
        if let Some(schema) = self.build_progress().schemas.get(&key(&graph)) {
            return Ok(schema.clone());
        }
        let module = self.module(&graph)?;
        let schema = module.schema().clone();
        self.build_progress().schemas.insert(key(&graph), schema.clone());
        self.progress().unused.insert(key(&graph), module);
        Ok(schema)
    }

    fn graph(&self, reference: &StoredGraphRef) -> Result<Box<dyn DynModule>, GraphUnavailable> {
        let graph = self.loaded(reference)?;
        let built = self.progress().unused.remove(&key(&graph));
        built.map_or_else(|| self.module(&graph), Ok)
    }
}
