//! A candidate: a graph document and a state that an optimizer tries, as data. Programs are built from
//! it. Knows nothing of scores.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};

use crate::graph::{GraphState, Program};
use crate::predict::PredictState;
use crate::problem::{At, Problems};
use crate::strategy::BuildEnv;
use crate::value::Payload;

/// A program as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The graph's resolved document, as [`Program::document`] has it.
    pub document: Arc<Payload>,
    /// The state of its predictors.
    pub state: GraphState,
}

/// Identifies a candidate: equal candidates have equal hashes.
pub type CandidateHash = [u8; 32];

impl Candidate {
    /// The candidate of a program.
    #[must_use]
    pub fn of(program: &Program) -> Self {
        let tuned =
            program.predictors().into_iter().filter(|(_, found)| !found.state().is_default());
        let states = tuned.map(|(path, found)| (Arc::from(path), found.state().clone()));
        let state = GraphState(states.collect());
        Self { document: Arc::new(program.document().clone()), state }
    }

    /// The same graph with the state of one predictor changed. If `change` replaces demos that are
    /// selected by vectors but not the vectors, the selection is dropped and calls show all demos.
    #[must_use]
    pub fn with(&self, predictor: &str, change: impl FnOnce(&mut PredictState)) -> Self {
        let mut next = self.clone();
        let state = next.state.0.entry(predictor.into()).or_default();
        let before = state.nearest.is_some().then(|| state.clone());
        change(state);
        if before
            .is_some_and(|before| state.nearest == before.nearest && state.demos != before.demos)
        {
            state.nearest = None;
        }
        next
    }

    /// Its hash.
    #[must_use]
    pub fn hash(&self) -> CandidateHash {
        let mut hash = Sha256::new();
        let document = self.document.to_json();
        hash.update((document.len() as u64).to_le_bytes());
        hash.update(document);
        let states = self.state.0.iter().filter(|(_, state)| !state.is_default());
        // The order of paths is irrelevant.
        let mut states: Vec<_> =
            states.map(|(path, state)| (path.clone(), state.clone())).collect();
        states.sort_by(|one, other| one.0.cmp(&other.0));
        hash.update(GraphState(states.into_iter().collect()).to_payload().to_json());
        hash.finalize().into()
    }
}

/// Builds programs from candidates.
pub trait ProgramBuilder: Send + Sync {
    /// Builds the program of a candidate. The document may be unresolved and unchecked, because some
    /// optimizers change graphs; it is read like a posted one.
    ///
    /// # Errors
    /// All problems of the candidate, or one problem that says why it could not be built.
    fn build<'a>(
        &'a self,
        candidate: &'a Candidate,
    ) -> BoxFuture<'a, Result<Arc<Program>, Problems>>;
}

/// Builds programs that need nothing from a server.
pub struct LocalProgramBuilder {
    env: Arc<dyn BuildEnv>,
    base: Arc<Program>,
}

impl LocalProgramBuilder {
    /// A builder around `base`: candidates with the same graph share its untuned nodes.
    #[must_use]
    pub fn new(env: Arc<dyn BuildEnv>, base: Arc<Program>) -> Self {
        Self { env, base }
    }
}

impl ProgramBuilder for LocalProgramBuilder {
    fn build<'a>(
        &'a self,
        candidate: &'a Candidate,
    ) -> BoxFuture<'a, Result<Arc<Program>, Problems>> {
        let env = self.env.as_ref();
        let build = || {
            if *candidate.document == *self.base.document() {
                return self.base.with_state(env, &candidate.state, &At::Root);
            }
            Program::from_document(&candidate.document, env)?.with_state(
                env,
                &candidate.state,
                &At::Root,
            )
        };
        let built = build().map(Arc::new);
        async { built }.boxed()
    }
}
