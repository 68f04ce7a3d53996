//! From the name of a graph to a program that is ready to run: the active version and state, and
//! built programs by hash, shared by all runs.
//!
//! Active versions are cached as long as the store guarantees that no graph has changed.

pub(crate) mod environment;
mod recent;
pub(crate) mod references;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dsrs::graph::{GraphState, Program, document_references};
use dsrs::problem::{At, Problems};
use dsrs::strategy::BuildEnv;
use dsrs::value::Payload;
use moka::sync::Cache;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::program::environment::BuildPhase;
use crate::program::recent::{ProgramState, ReadyProgram, RecentPrograms};
use crate::{App, AppError};
use dsrs_store::changes::Epoch;
use dsrs_store::graph::{self, GraphRef, GraphRow, ResolvedGraph, VersionSelection};
use dsrs_store::graph_version;
use dsrs_store::run::RunRow;
use dsrs_store::{Scope, StoreError};

/// Capacity of the cache of built programs.
const PROGRAMS: u64 = 2048;

/// Capacity of the cache of look-ups.
const PINS: u64 = 16_384;

type PinKey = (Uuid, GraphRef, VersionSelection);
/// The hashes of a definition and of a state.
type ProgramKey = (Box<str>, Box<str>);

/// A workspace, and a graph with a version and a state version.
type RecordedKey = (Uuid, Uuid, i32, i32);

/// The caches.
pub(crate) struct Programs {
    recent: RecentPrograms,
    pins: Cache<PinKey, (Epoch, Arc<ResolvedGraph>)>,
    built: Cache<ProgramKey, Arc<Program>>,
    /// What runs were accepted for. Versions never change, but a database that was restored may use their numbers again.
    recorded: Cache<RecordedKey, (Epoch, Arc<ProgramKey>)>,
    /// The count of changes of tools that they were built at.
    tools: AtomicU64,
}

impl Programs {
    pub(crate) fn new() -> Self {
        Self {
            recent: RecentPrograms::default(),
            pins: Cache::new(PINS),
            built: Cache::new(PROGRAMS),
            recorded: Cache::new(PINS),
            tools: AtomicU64::new(0),
        }
    }
}

impl App {
    /// The program that a request names. If it is not cached, shared workers look it up and build
    /// it, because the thread of the caller serves other connections.
    pub async fn ready(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        pick: VersionSelection,
    ) -> Result<ReadyProgram, AppError> {
        if let Some(found) = self.remembered(scope, graph, pick) {
            return Ok(found);
        }
        let (app, scope, graph) = (self.clone(), scope.clone(), graph.clone());
        let building = self.compute.spawn("a look-up", async move {
            let pin = app.pin(&scope, &graph, pick).await?;
            let program = app.program(&scope, &pin).await?;
            Ok((pin, program))
        });
        let broken = || Err(AppError::Internal("the look-up broke off".to_owned()));
        AbortOnDropHandle::new(building).await.ok().flatten().unwrap_or_else(broken)
    }

    /// The program that a request names, if it is remembered.
    fn remembered(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        pick: VersionSelection,
    ) -> Option<ReadyProgram> {
        let epoch = self.db.changes().epoch(graph)?;
        let state = ProgramState { epoch, tools: self.tools.changes() };
        let recent = &self.programs.recent;
        if let Some(found) = recent.get(scope.workspace, graph, pick, state) {
            return Some(found);
        }
        let pin = self.pinned_at(scope, graph, pick, epoch)?;
        let program = self.built().get(&key(&pin))?;
        let found = (pin, program);
        recent.insert(scope.workspace, graph, pick, state, found.clone());
        Some(found)
    }

    /// Which graph and state version a request means, if that is remembered.
    pub(crate) fn remembered_pin(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        pick: VersionSelection,
    ) -> Option<Arc<ResolvedGraph>> {
        let epoch = self.db.changes().epoch(graph)?;
        self.pinned_at(scope, graph, pick, epoch)
    }

    fn pinned_at(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        pick: VersionSelection,
        epoch: Epoch,
    ) -> Option<Arc<ResolvedGraph>> {
        let (seen, pin) = self.programs.pins.get(&(scope.workspace, graph.clone(), pick))?;
        (seen == epoch).then_some(pin)
    }

    /// Which graph and state version a request means.
    pub(crate) async fn pin(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        pick: VersionSelection,
    ) -> Result<Arc<ResolvedGraph>, AppError> {
        if let Some(pin) = self.remembered_pin(scope, graph, pick) {
            return Ok(pin);
        }
        // Read before the look-up, whose result is valid for this epoch or a later one.
        let epoch = self.db.changes().epoch(graph);
        // Boxed, because every run would carry the room for a query that few make.
        let pin = Arc::new(Box::pin(graph::pin(scope, &self.db, graph, pick)).await?);
        if let Some(epoch) = epoch {
            let key = (scope.workspace, graph.clone(), pick);
            self.programs.pins.insert(key, (epoch, pin.clone()));
        }
        Ok(pin)
    }

    /// The program of a pinned version, tuned by its state.
    pub(crate) async fn program(
        &self,
        scope: &Scope,
        pin: &ResolvedGraph,
    ) -> Result<Arc<Program>, AppError> {
        if let Some(program) = self.built().get(&key(pin)) {
            return Ok(program);
        }
        let pick =
            VersionSelection { version: Some(pin.version), state_version: Some(pin.state_version) };
        let by_id = GraphRef::Id(pin.id);
        let row = match Box::pin(graph::get(scope, &self.db, &by_id, pick)).await {
            // Deleted between two looks.
            Err(StoreError::NotFound { .. }) => {
                return Err(StoreError::not_found("graph", &pin.name).into());
            }
            other => other?,
        };
        self.program_of(scope, &row).await
    }

    /// The program of a row that was read, tuned by its state.
    pub async fn program_of(
        &self,
        scope: &Scope,
        row: &GraphRow,
    ) -> Result<Arc<Program>, AppError> {
        let hash = row.state.content_hash.as_str();
        let definition = (row.definition.as_str(), row.content_hash.as_str());
        self.tuned_program(scope, definition, &row.state.predictors, hash).await
    }

    /// The program that a run was accepted for, also when its graph has been deleted since.
    pub async fn recorded_program(
        &self,
        scope: &Scope,
        run: &RunRow,
    ) -> Result<Arc<Program>, AppError> {
        self.program_at(scope, run.graph_id, run.graph_version, run.state_version).await
    }

    /// The program of a graph at these versions, also when the graph has been deleted since.
    pub(crate) async fn program_at(
        &self,
        scope: &Scope,
        graph: Uuid,
        version: i32,
        state: i32,
    ) -> Result<Arc<Program>, AppError> {
        let recorded = (scope.workspace, graph, version, state);
        let epoch = self.db.changes().epoch(&GraphRef::Id(graph));
        if let Some((seen, key)) = self.programs.recorded.get(&recorded)
            && Some(seen) == epoch
            && let Some(program) = self.built().get(&*key)
        {
            return Ok(program);
        }
        let stored = graph_version::recorded(scope, &self.db, graph, version, state).await?;
        let (hash, state_hash) = (stored.content_hash.as_str(), stored.state_hash.as_str());
        let definition = (stored.definition.as_str(), hash);
        let program = self.tuned_program(scope, definition, &stored.predictors, state_hash).await?;
        if let Some(epoch) = epoch {
            let key = Arc::new((hash.into(), state_hash.into()));
            self.programs.recorded.insert(recorded, (epoch, key));
        }
        Ok(program)
    }

    /// The program of a definition with a stored state, by hash.
    pub(crate) async fn tuned_program(
        &self,
        scope: &Scope,
        (definition, hash): (&str, &str),
        state: &str,
        state_hash: &str,
    ) -> Result<Arc<Program>, AppError> {
        let key = (hash.into(), state_hash.into());
        if let Some(program) = self.built().get(&key) {
            return Ok(program);
        }
        let plain = self.plain_program(scope, definition, hash).await?;
        let state = read_state(state)?;
        if state.0.is_empty() {
            self.built().insert(key, plain.clone());
            return Ok(plain);
        }
        let tune = |env: &dyn BuildEnv| plain.with_state(env, &state, &At::Root);
        let references = document_references(plain.document());
        let graphs = Box::pin(self.load_graphs(scope, references)).await?;
        self.cached(key, || self.build_with(&graphs, BuildPhase::Stored, None, tune))
    }

    /// The program of a stored definition, without any state.
    pub(crate) async fn plain_program(
        &self,
        scope: &Scope,
        definition: &str,
        hash: &str,
    ) -> Result<Arc<Program>, AppError> {
        let key = (hash.into(), "".into());
        if let Some(program) = self.built().get(&key) {
            return Ok(program);
        }
        let document = Payload::from_json(definition)
            .map_err(|error| AppError::Internal(format!("a stored definition: {error}")))?;
        let build = |env: &dyn BuildEnv| Program::from_document(&document, env);
        let graphs = Box::pin(self.load_graphs(scope, document_references(&document))).await?;
        self.cached(key, || self.build_with(&graphs, BuildPhase::Stored, None, build))
    }

    /// How many programs are cached, approximately.
    pub(crate) fn cached_programs(&self) -> u64 {
        self.programs.built.entry_count()
    }

    /// The programs that were built of the tools there are now.
    fn built(&self) -> &Cache<ProgramKey, Arc<Program>> {
        let (built, seen) = (&self.programs.built, &self.programs.tools);
        let now = self.tools.changes();
        if seen.load(Ordering::Acquire) != now && seen.swap(now, Ordering::AcqRel) != now {
            built.invalidate_all();
        }
        built
    }

    /// Looks a program up, or builds it once however many ask.
    fn cached(
        &self,
        key: ProgramKey,
        build: impl FnOnce() -> Result<Program, Problems>,
    ) -> Result<Arc<Program>, AppError> {
        let build = || build().map(Arc::new).map_err(|problems| broken(&problems));
        self.built().try_get_with(key, build).map_err(|error| match &*error {
            AppError::Internal(cause) => AppError::Internal(cause.clone()),
            other => AppError::Internal(other.to_string()),
        })
    }
}

fn key(pin: &ResolvedGraph) -> ProgramKey {
    (pin.content_hash.as_str().into(), pin.state_hash.as_str().into())
}

/// Reads a state as the store keeps it.
pub(crate) fn read_state(text: &str) -> Result<GraphState, AppError> {
    let payload = Payload::from_json(text)
        .map_err(|error| AppError::Internal(format!("a stored state: {error}")))?;
    let mut problems = Problems::new();
    let state = GraphState::read(&payload, &At::Root, &mut problems);
    state.filter(|_| problems.is_empty()).ok_or_else(|| broken(&problems))
}

fn broken(problems: &Problems) -> AppError {
    AppError::Internal(format!("a stored document no longer loads: {problems}"))
}
