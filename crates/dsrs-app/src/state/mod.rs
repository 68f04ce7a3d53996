//! Predictor states: read, replaced, activated. Only the overrides are stored, in the order of the
//! program's predictors, so that equal states are equal texts. May know `program`; may not know runs.

pub(crate) mod candidate;
pub(crate) mod history;

use std::fmt::Write as _;
use std::sync::Arc;

use dsrs::graph::{GraphState, Program, StateDiff, document_references, from_dspy, state_diff};
use dsrs::problem::{At, Problems};
use dsrs::read::map;
use dsrs::strategy::BuildEnv;
use dsrs::value::Payload;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::clock::now;
use crate::error::merge_faults;
use crate::precondition::Precondition;
use crate::program::read_state;
use crate::{App, AppError, Invalid};
use dsrs_store::graph::{self, GraphRef, VersionSelection};
use dsrs_store::graph_edit::{self, ExpectedVersion, LockedGraph};
use dsrs_store::state::{self, NewState, StateRow, StateSummaryRow};
use dsrs_store::state_activation::{self, ActivationItem};
use dsrs_store::{ListQuery, Page, Scope};

/// A state to activate.
pub struct StateRequest<'r> {
    /// The state, unchecked.
    pub document: StateDocument<'r>,
    /// The problems found in the rest of the request.
    pub faults: Problems,
}

/// A state in one of its formats.
#[derive(Clone, Copy)]
pub enum StateDocument<'r> {
    /// States by predictor path, under `predictors`.
    Own(&'r Payload),
    /// A file of DSPy, under `state`.
    Dspy(&'r Payload),
    /// Changes of predictors by path, under `predictors`. The others stay unchanged.
    Changes(&'r Payload),
    /// A change of one predictor. The others stay unchanged.
    Patch {
        /// The path of the predictor.
        path: &'r str,
        /// The members to replace.
        change: &'r Payload,
    },
}

/// The active state after a request.
pub struct StateUpdate {
    pub view: StateVersion,
    /// JSON Pointers of the members of a DSPy file that have no meaning here.
    pub ignored: Vec<String>,
}

/// A state version with the program that it tunes.
pub struct StateVersion {
    /// The graph's id.
    pub graph: Uuid,
    pub row: StateRow,
    /// The program of its graph version, tuned by it.
    pub program: Arc<Program>,
}

/// The activation of a state version for its graph version.
pub struct StateActivation {
    pub view: StateVersion,
    /// The previously active version; the same one if it was active already.
    pub before: i32,
    /// Whether its graph version is the newest.
    pub newest: bool,
}

/// The difference between two state versions.
pub struct StateComparison {
    /// The version that the difference starts from.
    pub from: StateRow,
    /// The version that it leads to.
    pub to: StateRow,
    /// The difference.
    pub diff: StateDiff,
}

/// The stored text of a state and its hash.
pub(crate) struct StateText {
    pub(crate) text: String,
    pub(crate) hash: String,
}

impl StateText {
    /// The state without overrides.
    pub(crate) fn untuned() -> Self {
        Self::of(&GraphState::default())
    }

    pub(crate) fn of(state: &GraphState) -> Self {
        let text = state.to_payload().to_json();
        let digest = Sha256::digest(text.as_bytes());
        let hash = digest.iter().fold(String::with_capacity(64), |mut hash, byte| {
            // Writing to a `String` cannot fail.
            let _ = write!(hash, "{byte:02x}");
            hash
        });
        Self { text, hash }
    }
}

impl App {
    /// The id of a graph and its active state version for the newest graph version. Reads no document,
    /// and queries the database only if the versions are not cached.
    pub async fn active_state_version(
        &self,
        scope: &Scope,
        graph: &GraphRef,
    ) -> Result<(Uuid, i32), AppError> {
        match self.remembered_pin(scope, graph, VersionSelection::NEWEST) {
            Some(pin) => Ok((pin.id, pin.state_version)),
            None => Ok(state::in_force(scope, &self.db, graph).await?),
        }
    }

    /// The active state of the newest graph version.
    pub async fn state_get(
        &self,
        scope: &Scope,
        graph: &GraphRef,
    ) -> Result<StateVersion, AppError> {
        let row = graph::get(scope, &self.db, graph, VersionSelection::NEWEST).await?;
        let program = self.program_of(scope, &row).await?;
        Ok(StateVersion { graph: row.id, row: row.state, program })
    }

    pub async fn state_version(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        version: i32,
    ) -> Result<StateVersion, AppError> {
        let id = graph::id_of(scope, &self.db, graph).await?;
        let row = state::get(scope, &self.db, id, version).await?;
        self.state_view(scope, id, row).await
    }

    /// The difference from another state version to this one. The default for the other is the parent
    /// of this one, or version 1 without a parent.
    pub async fn state_diff(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        against: Option<i32>,
        version: i32,
    ) -> Result<StateComparison, AppError> {
        let new = self.state_version(scope, graph, version).await?;
        let against = against.or(new.row.parent).unwrap_or(1);
        // By id: the name may pass to another graph in between.
        let old = self.state_version(scope, &GraphRef::Id(new.graph), against).await?;
        let diff = state_diff(&old.program, &new.program);
        Ok(StateComparison { from: old.row, to: new.row, diff })
    }

    /// One page of a graph's states, newest first.
    pub async fn state_list(
        &self,
        scope: &Scope,
        graph: Uuid,
        list: ListQuery<i32>,
    ) -> Result<Page<StateSummaryRow, i32>, AppError> {
        Ok(state::list(scope, &self.db, graph, list).await?)
    }

    /// Replaces the whole state, unless it equals the active one.
    pub async fn state_put(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        request: StateRequest<'_>,
        precondition: &Precondition,
    ) -> Result<StateUpdate, AppError> {
        let locked = self.state_lock(scope, graph, precondition).await?;
        let head = locked.head();
        let id = head.id;
        let plain = self.plain_program(scope, &head.definition, &head.content_hash).await?;
        let tuned = self.tuned(scope, &plain, &head.state, request.document).await;
        let (tuned, ignored) = merge_faults(request.faults, tuned)?;
        let text = StateText::of(&overrides(&plain, &tuned));
        let program = Arc::new(tuned);
        if text.text == head.state.predictors {
            let view = StateVersion { graph: id, row: head.state.clone(), program };
            return Ok(StateUpdate { view, ignored });
        }
        let new = NewState {
            parent: Some(head.state.version),
            predictors: &text.text,
            content_hash: &text.hash,
            ..NewState::default()
        };
        let row = locked.put_state(new, now()).await?;
        Ok(StateUpdate { view: StateVersion { graph: id, row, program }, ignored })
    }

    /// A stored version with changes of its state that are not stored: by path, as a change of one predictor.
    pub async fn state_draft(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        pick: VersionSelection,
        changes: &Payload,
    ) -> Result<Program, AppError> {
        let row = graph::get(scope, &self.db, graph, pick).await?;
        let plain = self.plain_program(scope, &row.definition, &row.content_hash).await?;
        let changes = StateDocument::Changes(changes);
        self.tuned(scope, &plain, &row.state, changes).await.map(|(program, _)| program)
    }

    /// A program with the state of a document, and the members of the document without a meaning.
    async fn tuned(
        &self,
        scope: &Scope,
        plain: &Program,
        active: &StateRow,
        document: StateDocument<'_>,
    ) -> Result<(Program, Vec<String>), AppError> {
        let root = At::Root;
        let mut problems = Problems::new();
        let (state, at, ignored) = match document {
            StateDocument::Own(predictors) => {
                let at = root.key("predictors");
                let state = GraphState::read(predictors, &at, &mut problems).unwrap_or_default();
                (state, at, Vec::new())
            }
            StateDocument::Dspy(file) => {
                let at = root.key("state");
                let found = from_dspy(file, plain, &at);
                let found = found.map_err(|found| AppError::invalid(Invalid::State, found))?;
                (found.state, at, found.ignored)
            }
            StateDocument::Changes(changes) => {
                let at = root.key("predictors");
                let state = changed(read_state(&active.predictors)?, changes, &at, &mut problems);
                (state, at, Vec::new())
            }
            StateDocument::Patch { path, change } => {
                if !plain.predictors().iter().any(|(known, _)| known == path) {
                    return Err(AppError::NotFound(format!("there is no predictor `{path}`")));
                }
                let mut state = read_state(&active.predictors)?;
                let known = state.0.entry(path.into()).or_default();
                known.patch(change, &root, &mut problems);
                (state, root, Vec::new())
            }
        };
        let tune = |env: &dyn BuildEnv| plain.with_state(env, &state, &at);
        let tuned =
            self.build_new(scope, None, document_references(plain.document()), tune).await?;
        let tuned = tuned.map_err(|found| problems.also(within(document, found))).ok();
        tuned
            .filter(|_| problems.is_empty())
            .map(|tuned| (tuned, ignored))
            .ok_or_else(|| AppError::invalid(Invalid::State, problems))
    }

    /// Activates a state version for its graph version, the newest or an older one.
    pub async fn state_activate(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        version: i32,
        precondition: &Precondition,
    ) -> Result<StateActivation, AppError> {
        let mut locked = graph_edit::lock(scope, &self.db, graph, ExpectedVersion::Newest).await?;
        let (id, newest_version) = (locked.head().id, locked.head().version);
        let (row, before) = locked.state(version).await?;
        precondition.check(id, before)?;
        match before == version {
            // Releases the connection before another one is acquired.
            true => drop(locked),
            false => locked.activate_state(&row, None, now()).await?,
        }
        let newest = row.graph_version == newest_version;
        let view = self.state_view(scope, id, row).await?;
        Ok(StateActivation { view, before, newest })
    }

    /// One page of the activations of a graph, newest first.
    pub async fn state_activations(
        &self,
        scope: &Scope,
        graph: Uuid,
        list: ListQuery<i64>,
    ) -> Result<Page<ActivationItem, i64>, AppError> {
        Ok(state_activation::list(scope, &self.db, graph, list).await?)
    }

    async fn state_lock(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        precondition: &Precondition,
    ) -> Result<LockedGraph, AppError> {
        let locked = graph_edit::lock(scope, &self.db, graph, ExpectedVersion::Newest).await?;
        precondition.check(locked.head().id, locked.head().state.version)?;
        Ok(locked)
    }

    async fn state_view(
        &self,
        scope: &Scope,
        graph: Uuid,
        row: StateRow,
    ) -> Result<StateVersion, AppError> {
        let pick =
            VersionSelection { version: Some(row.graph_version), state_version: Some(row.version) };
        let found = graph::get(scope, &self.db, &GraphRef::Id(graph), pick).await?;
        let program = self.program_of(scope, &found).await?;
        Ok(StateVersion { graph, row, program })
    }
}

/// A state with changes by path.
fn changed(
    mut state: GraphState,
    changes: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> GraphState {
    for (path, change) in map(changes, at, problems).into_iter().flatten() {
        state.0.entry(path.clone()).or_default().patch(change, &at.key(path), problems);
    }
    state
}

/// Problems with pointers into the request: the change of one predictor is the whole body.
fn within(document: StateDocument<'_>, found: Problems) -> Problems {
    let StateDocument::Patch { path, .. } = document else { return found };
    let before = At::Root.key(path).pointer();
    found.map(|mut problem| {
        if let Some(rest) = problem.pointer.strip_prefix(&before) {
            problem.pointer = rest.to_owned();
        }
        problem
    })
}

/// The overrides of a program, in the order of its predictors. The predictors of an inner graph are
/// tuned already.
pub(crate) fn overrides(plain: &Program, program: &Program) -> GraphState {
    let predictors = plain.predictors().into_iter().zip(program.predictors());
    let tuned = predictors.filter(|((_, plain), (_, tuned))| plain.state() != tuned.state());
    let tuned = tuned.map(|(_, (path, found))| (Arc::from(path), found.state().clone()));
    GraphState(tuned.collect())
}
