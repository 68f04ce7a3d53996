//! Predictor states: read, replaced, promoted. A state is kept as the overrides alone, in the order
//! of the program's predictors, so that equal states are equal texts.

pub(crate) mod candidate;

use std::fmt::Write as _;
use std::sync::Arc;

use dsrs::graph::{GraphState, Program, StateDiff, from_dspy, state_diff};
use dsrs::problem::{At, Problems};
use dsrs::strategy::BuildEnv;
use dsrs::value::Payload;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::app::clock::now;
use crate::app::error::merge_faults;
use crate::app::program::read_state;
use crate::app::{App, AppError, Invalid, Seen};
use crate::store::graph::{self, GraphRef, Pick};
use crate::store::graph_edit::{self, Expect, LockedGraph};
use crate::store::state::{self, NewState, StateItem, StateRow};
use crate::store::state_activation::{self, ActivationItem};
use crate::store::{Page, Scope};

/// A state that is to be put in force.
pub(crate) struct StateRequest<'r> {
    /// What it says, unchecked.
    pub(crate) spelled: StateDocument<'r>,
    /// What is wrong with the rest of the request.
    pub(crate) faults: Problems,
}

/// A state in one of its forms.
#[derive(Clone, Copy)]
pub(crate) enum StateDocument<'r> {
    /// States by predictor path, under `predictors`.
    Own(&'r Payload),
    /// A file of DSPy's, under `state`.
    Dspy(&'r Payload),
    /// What is to be changed in one predictor; the others stay as they are.
    Patch {
        /// Its path.
        path: &'r str,
        /// The members that are to be others.
        change: &'r Payload,
    },
}

/// The state that is in force after a request.
pub(crate) struct StateUpdate {
    /// It.
    pub(crate) view: StateView,
    /// JSON Pointers of what has no meaning here, in a file of DSPy's.
    pub(crate) ignored: Vec<String>,
}

/// A state version with the program that it tunes.
pub(crate) struct StateView {
    /// The graph's id.
    pub(crate) graph: Uuid,
    /// The state version.
    pub(crate) row: StateRow,
    /// The program of its graph version, tuned by it.
    pub(crate) program: Arc<Program>,
}

/// A state version that is in force for its graph version.
pub(crate) struct StateActivation {
    /// It.
    pub(crate) view: StateView,
    /// What was in force before; itself when nothing moved.
    pub(crate) before: i32,
    /// Whether its graph version is the newest.
    pub(crate) newest: bool,
}

/// Two state versions side by side.
pub(crate) struct StateComparison {
    /// The one that the difference starts from.
    pub(crate) from: StateRow,
    /// The one that it leads to.
    pub(crate) to: StateRow,
    /// What is different.
    pub(crate) diff: StateDiff,
}

/// A state's text and its hash.
pub(crate) struct StateText {
    pub(crate) text: String,
    pub(crate) hash: String,
}

impl StateText {
    /// The state that overrides nothing.
    pub(crate) fn untuned() -> Self {
        Self::of(&GraphState::default())
    }

    pub(crate) fn of(state: &GraphState) -> Self {
        let text = state.to_payload().to_json();
        let digest = Sha256::digest(text.as_bytes());
        let hash = digest.iter().fold(String::with_capacity(64), |mut hash, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hash, "{byte:02x}");
            hash
        });
        Self { text, hash }
    }
}

impl App {
    /// Which state is in force for the newest graph version: the graph's id, and the state version.
    /// Reads no document, and asks the database only where nothing is remembered.
    pub(crate) async fn state_in_force(
        &self,
        scope: &Scope,
        graph: &GraphRef,
    ) -> Result<(Uuid, i32), AppError> {
        match self.remembered_pin(scope, graph, Pick::NEWEST) {
            Some(pin) => Ok((pin.id, pin.state_version)),
            None => Ok(state::in_force(scope, &self.db, graph).await?),
        }
    }

    /// The state in force for the newest graph version.
    pub(crate) async fn state_get(
        &self,
        scope: &Scope,
        graph: &GraphRef,
    ) -> Result<StateView, AppError> {
        let row = graph::get(scope, &self.db, graph, Pick::NEWEST).await?;
        let program = self.program_of(scope, &row).await?;
        Ok(StateView { graph: row.id, row: row.state, program })
    }

    /// One state version.
    pub(crate) async fn state_version(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        version: i32,
    ) -> Result<StateView, AppError> {
        let id = graph::id_of(scope, &self.db, graph).await?;
        let row = state::get(scope, &self.db, id, version).await?;
        self.state_view(scope, id, row).await
    }

    /// What turns another state version into this one. Without another it is this one's parent, or
    /// the first of the graph where there is none.
    pub(crate) async fn state_diff(
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
    pub(crate) async fn state_list(
        &self,
        scope: &Scope,
        graph: Uuid,
        before: Option<i32>,
        limit: u32,
    ) -> Result<Page<StateItem, i32>, AppError> {
        Ok(state::list(scope, &self.db, graph, before, limit).await?)
    }

    /// Replaces the whole state, unless it is the one in force already.
    pub(crate) async fn state_put(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        wanted: StateRequest<'_>,
        seen: Seen<'_>,
    ) -> Result<StateUpdate, AppError> {
        let locked = self.state_lock(scope, graph, seen).await?;
        let head = locked.head();
        let id = head.id;
        let plain = self.plain_program(scope, &head.definition, &head.content_hash).await?;
        let tuned = self.tuned(scope, &plain, &head.state, wanted.spelled).await;
        let (tuned, ignored) = merge_faults(wanted.faults, tuned)?;
        let text = StateText::of(&overrides(&plain, &tuned));
        let program = Arc::new(tuned);
        if text.text == head.state.predictors {
            let view = StateView { graph: id, row: head.state.clone(), program };
            return Ok(StateUpdate { view, ignored });
        }
        let new = NewState {
            parent: Some(head.state.version),
            predictors: &text.text,
            content_hash: &text.hash,
            ..NewState::default()
        };
        let row = locked.put_state(new, now()).await?;
        Ok(StateUpdate { view: StateView { graph: id, row, program }, ignored })
    }

    /// A program with the state of a posted document, and what of that has no meaning here.
    async fn tuned(
        &self,
        scope: &Scope,
        plain: &Program,
        now: &StateRow,
        spelled: StateDocument<'_>,
    ) -> Result<(Program, Vec<String>), AppError> {
        let root = At::Root;
        let mut problems = Problems::new();
        let (state, at, ignored) = match spelled {
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
            StateDocument::Patch { path, change } => {
                if !plain.predictors().iter().any(|(known, _)| known == path) {
                    return Err(AppError::NotFound(format!("there is no predictor `{path}`")));
                }
                let mut state = read_state(&now.predictors)?;
                let known = state.0.entry(path.into()).or_default();
                known.patch(change, &root, &mut problems);
                (state, root, Vec::new())
            }
        };
        let tune = |env: &dyn BuildEnv| plain.with_state(env, &state, &at);
        let tuned = self.written(scope, None, tune).await?;
        let tuned = tuned.map_err(|found| problems.also(within(spelled, found))).ok();
        tuned
            .filter(|_| problems.is_empty())
            .map(|tuned| (tuned, ignored))
            .ok_or_else(|| AppError::invalid(Invalid::State, problems))
    }

    /// Puts a state version in force for the graph version that it was made for, the newest or an
    /// older one.
    pub(crate) async fn state_activate(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        version: i32,
        seen: Seen<'_>,
    ) -> Result<StateActivation, AppError> {
        let mut locked = graph_edit::lock(scope, &self.db, graph, Expect::Newest).await?;
        let (id, newest_version) = (locked.head().id, locked.head().version);
        let (row, before) = locked.state(version).await?;
        if !seen(id, before) {
            return Err(AppError::Stale);
        }
        match before == version {
            // Let go of, before another connection is asked for.
            true => drop(locked),
            false => locked.activate_state(&row, None, now()).await?,
        }
        let newest = row.graph_version == newest_version;
        let view = self.state_view(scope, id, row).await?;
        Ok(StateActivation { view, before, newest })
    }

    /// One page of how what is in force moved, newest first.
    pub(crate) async fn state_activations(
        &self,
        scope: &Scope,
        graph: Uuid,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Page<ActivationItem, i64>, AppError> {
        Ok(state_activation::list(scope, &self.db, graph, before, limit).await?)
    }

    async fn state_lock(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        seen: Seen<'_>,
    ) -> Result<LockedGraph, AppError> {
        let locked = graph_edit::lock(scope, &self.db, graph, Expect::Newest).await?;
        match seen(locked.head().id, locked.head().state.version) {
            true => Ok(locked),
            false => Err(AppError::Stale),
        }
    }

    async fn state_view(
        &self,
        scope: &Scope,
        graph: Uuid,
        row: StateRow,
    ) -> Result<StateView, AppError> {
        let pick = Pick { version: Some(row.graph_version), state_version: Some(row.version) };
        let found = graph::get(scope, &self.db, &GraphRef::Id(graph), pick).await?;
        let program = self.program_of(scope, &found).await?;
        Ok(StateView { graph, row, program })
    }
}

/// Problems with pointers into the request: the change of one predictor has no path before it.
fn within(spelled: StateDocument<'_>, found: Problems) -> Problems {
    let StateDocument::Patch { path, .. } = spelled else { return found };
    let before = At::Root.key(path).pointer();
    let mut moved = Problems::new();
    moved.extend(found.into_iter().map(|mut problem| {
        if let Some(rest) = problem.pointer.strip_prefix(&before) {
            problem.pointer = rest.to_owned();
        }
        problem
    }));
    moved
}

/// What a program's predictors override, in their order. Those of a graph within are tuned before.
pub(crate) fn overrides(plain: &Program, program: &Program) -> GraphState {
    let predictors = plain.predictors().into_iter().zip(program.predictors());
    let tuned = predictors.filter(|((_, plain), (_, tuned))| plain.state() != tuned.state());
    let tuned = tuned.map(|(_, (path, found))| (Arc::from(path), found.state().clone()));
    GraphState(tuned.collect())
}
