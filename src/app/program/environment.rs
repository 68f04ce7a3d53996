//! What a definition may name while it is written or loaded: models, tools, and other stored
//! graphs. An engine that builds cannot wait for the database, so the graphs that a definition names
//! are found by building it until it asks for none that is not known.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use dsrs::graph::{GraphModule, Program};
use dsrs::predict::Tool;
use dsrs::problem::Code;
use dsrs::sandbox::Sandbox;
use dsrs::signature::SignatureSchema;
use dsrs::strategy::{BuildEnv, DynModule, GraphPin, HttpTool, NoGraph};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::app::program::read_state;
use crate::app::{App, AppError};
use crate::store::graph::{self, GraphRef, GraphRow, VersionSelection};
use crate::store::{Scope, StoreError};

/// Graphs within graphs within graphs: more than this is a mistake.
const MAX_DEPTH: usize = 8;

/// The most graphs that one definition brings with it, each counted as often as it is used.
const MAX_GRAPHS: usize = 256;

/// How a definition is being built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It is being written: everything it names must be there.
    Written,
    /// It was checked when it was written, and is loaded.
    Stored,
}

/// The graphs that a definition names, as they were found.
#[derive(Default)]
pub(crate) struct Graphs {
    found: HashMap<GraphPin, Result<Arc<GraphRow>, NoGraph>>,
}

/// One build.
struct Build<'b> {
    app: &'b App,
    phase: Phase,
    graphs: &'b Graphs,
    seen: Mutex<Seen>,
}

/// What came up in one build.
#[derive(Default)]
struct Seen {
    wanted: Vec<GraphPin>,
    schemas: HashMap<(Uuid, i32), Arc<SignatureSchema>>,
    built: usize,
    /// Why the whole cannot be, however deep inside it was seen.
    refused: Option<NoGraph>,
}

/// The surroundings of one document in a build: of the definition itself, or of a graph within.
struct Within<'b> {
    build: &'b Build<'b>,
    graph: Option<(Uuid, &'b str)>,
    above: Option<&'b Within<'b>>,
}

impl App {
    /// The graphs that a definition names, found by building it again and again; each build learns
    /// of those that the last one could not get past.
    pub(crate) async fn graphs_of<T>(
        &self,
        scope: &Scope,
        phase: Phase,
        build: impl Fn(&dyn BuildEnv) -> T,
    ) -> Result<Graphs, AppError> {
        let mut graphs = Graphs::default();
        loop {
            let wanted = self.wanted(&graphs, phase, &build);
            if wanted.is_empty() {
                return Ok(graphs);
            }
            for pin in wanted {
                let found = self.find_graph(scope, &pin).await?;
                graphs.found.insert(pin, found);
            }
        }
    }

    fn wanted<T>(
        &self,
        graphs: &Graphs,
        phase: Phase,
        build: impl Fn(&dyn BuildEnv) -> T,
    ) -> Vec<GraphPin> {
        let this = Build { app: self, phase, graphs, seen: Mutex::default() };
        build(&Within { build: &this, graph: None, above: None });
        this.seen.into_inner().unwrap_or_else(PoisonError::into_inner).wanted
    }

    /// Builds with the graphs that were found; `root` is the graph whose definition it is.
    pub(crate) fn build_with<T>(
        &self,
        graphs: &Graphs,
        phase: Phase,
        root: Option<(Uuid, &str)>,
        build: impl FnOnce(&dyn BuildEnv) -> T,
    ) -> T {
        let this = Build { app: self, phase, graphs, seen: Mutex::default() };
        build(&Within { build: &this, graph: root, above: None })
    }

    /// Builds a definition that is being written.
    pub(crate) async fn written<T>(
        &self,
        scope: &Scope,
        root: Option<(Uuid, &str)>,
        build: impl Fn(&dyn BuildEnv) -> T,
    ) -> Result<T, AppError> {
        let graphs = self.graphs_of(scope, Phase::Written, &build).await?;
        Ok(self.build_with(&graphs, Phase::Written, root, build))
    }

    async fn find_graph(
        &self,
        scope: &Scope,
        pin: &GraphPin,
    ) -> Result<Result<Arc<GraphRow>, NoGraph>, AppError> {
        let number = |version: u64| i32::try_from(version).unwrap_or(i32::MAX);
        let pick = VersionSelection {
            version: pin.version.map(number),
            state_version: pin.state_version.map(number),
        };
        let by_id = pin.id.as_deref().and_then(|id| Uuid::parse_str(id).ok()).map(GraphRef::Id);
        for by in by_id.into_iter().chain([GraphRef::Name(pin.graph.as_ref().into())]) {
            match graph::get(scope, &self.db, &by, pick).await {
                Ok(row) => return Ok(Ok(Arc::new(row))),
                Err(StoreError::NotFound { .. }) => {}
                Err(error @ StoreError::StateMismatch { .. }) => {
                    return Ok(Err(NoGraph::new(format!("graph `{}`: {error}", pin.graph))));
                }
                Err(other) => return Err(other.into()),
            }
        }
        Ok(Err(NoGraph::new(missing(pin))))
    }
}

fn missing(pin: &GraphPin) -> String {
    let version = pin.version.map_or_else(String::new, |version| format!(" version {version}"));
    let state = pin.state_version.map_or_else(String::new, |state| format!(" with state {state}"));
    format!("there is no graph `{}`{version}{state}; GET /v1/graphs lists them", pin.graph)
}

impl Within<'_> {
    fn row(&self, pin: &GraphPin) -> Result<Arc<GraphRow>, NoGraph> {
        match self.build.graphs.found.get(pin) {
            Some(found) => found.clone(),
            None => {
                let mut seen = self.seen();
                if !seen.wanted.contains(pin) {
                    seen.wanted.push(pin.clone());
                }
                Err(NoGraph::new(format!("graph `{}` has not been looked up", pin.graph)))
            }
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.build.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The graphs that this one is a part of, itself first.
    fn chain(&self) -> impl Iterator<Item = (Uuid, &str)> {
        let above = std::iter::successors(Some(self), |within| within.above);
        above.filter_map(|within| within.graph)
    }

    /// A graph may not be a part of itself, nor of too many others.
    fn admit(&self, row: &GraphRow) -> Result<(), NoGraph> {
        self.admitted(row).inspect_err(|refused| self.seen().refused = Some(refused.clone()))
    }

    fn admitted(&self, row: &GraphRow) -> Result<(), NoGraph> {
        if self.chain().any(|(id, _)| id == row.id) {
            let mut names: Vec<&str> = self.chain().map(|(_, name)| name).collect();
            names.reverse();
            let path = names.join("` uses `");
            let detail =
                format!("a graph cannot be a part of itself: `{path}` uses `{}`", row.name);
            return Err(NoGraph { code: Code::Cycle, detail });
        }
        let mut seen = self.seen();
        seen.built += 1;
        if self.chain().count() > MAX_DEPTH || seen.built > MAX_GRAPHS {
            let detail = format!(
                "this definition brings too many graphs with it: at most {MAX_GRAPHS}, and \
                 {MAX_DEPTH} within each other"
            );
            return Err(NoGraph { code: Code::TooLarge, detail });
        }
        Ok(())
    }

    /// Builds a graph in its own surroundings, as a definition that was checked when it was written.
    fn inside<T>(
        &self,
        row: &GraphRow,
        build: impl FnOnce(&Payload, &dyn BuildEnv) -> Result<T, NoGraph>,
    ) -> Result<T, NoGraph> {
        self.admit(row)?;
        let document = Payload::from_json(&row.definition);
        let document = document.map_err(|error| unusable(row, &error.to_string()))?;
        let stored = Build { phase: Phase::Stored, seen: Mutex::default(), ..*self.build };
        let inner = Within { build: &stored, graph: Some((row.id, &row.name)), above: Some(self) };
        let built = build(&document, &inner);
        let below = stored.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut seen = self.seen();
        seen.built += below.built;
        seen.wanted.extend(below.wanted);
        match below.refused {
            Some(refused) => {
                seen.refused = Some(refused.clone());
                Err(refused)
            }
            None => built,
        }
    }
}

fn unusable(row: &GraphRow, reason: &str) -> NoGraph {
    NoGraph::new(format!("graph `{}` version {} no longer loads: {reason}", row.name, row.version))
}

impl BuildEnv for Within<'_> {
    fn knows_model(&self, alias: &str) -> bool {
        self.is_stored() || self.build.app.models.knows(alias)
    }

    fn knows_embedder(&self, alias: &str) -> bool {
        self.is_stored() || self.build.app.models.embedding(alias).is_some()
    }

    fn is_stored(&self) -> bool {
        self.build.phase == Phase::Stored
    }

    fn sandbox(&self) -> Option<Arc<dyn Sandbox>> {
        self.build.app.sandbox().cloned()
    }

    fn http_tool(&self, tool: &HttpTool) -> Result<Arc<dyn Tool>, String> {
        self.build.app.tools.http(tool)
    }

    fn mcp_tools(&self, server: &str) -> Result<Vec<Arc<dyn Tool>>, String> {
        self.build.app.tools.mcp(server)
    }

    fn pin_graph(&self, pin: &GraphPin) -> Result<GraphPin, NoGraph> {
        let row = self.row(pin)?;
        let number = |version: i32| u64::try_from(version).ok();
        Ok(GraphPin {
            graph: row.name.as_str().into(),
            version: number(row.version),
            state_version: number(row.state.version),
            id: Some(row.id.to_string().into()),
        })
    }

    fn graph_schema(&self, pin: &GraphPin) -> Result<Arc<SignatureSchema>, NoGraph> {
        let row = self.row(pin)?;
        let key = (row.id, row.version);
        if let Some(schema) = self.seen().schemas.get(&key) {
            return Ok(schema.clone());
        }
        let schema = self.inside(&row, |document, env| {
            let program = Program::from_document(document, env);
            program.map_err(|problems| unusable(&row, &problems.to_string()))
        })?;
        let schema = Arc::new(schema.signature());
        self.seen().schemas.insert(key, schema.clone());
        Ok(schema)
    }

    fn graph(&self, pin: &GraphPin) -> Result<Box<dyn DynModule>, NoGraph> {
        let row = self.row(pin)?;
        let state = read_state(&row.state.predictors);
        let state = state.map_err(|error| unusable(&row, &error.to_string()))?;
        self.inside(&row, |document, env| {
            let module = GraphModule::new(document, &state, env);
            let module = module.map_err(|problems| unusable(&row, &problems.to_string()))?;
            Ok(Box::new(module) as Box<dyn DynModule>)
        })
    }
}
