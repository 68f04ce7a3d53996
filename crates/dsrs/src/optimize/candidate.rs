//! A candidate: what an optimizer proposes. A graph document and a state, as data; programs are
//! built from it and never changed. Knows nothing of how good it is.

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
    /// What is tuned in it.
    pub state: GraphState,
}

/// Stands for a candidate: those that say the same have the same.
pub type CandidateHash = [u8; 32];

impl Candidate {
    /// A program as it is.
    #[must_use]
    pub fn of(program: &Program) -> Self {
        let tuned =
            program.predictors().into_iter().filter(|(_, found)| !found.state().is_default());
        let states = tuned.map(|(path, found)| (Arc::from(path), found.state().clone()));
        let state = GraphState(states.collect());
        Self { document: Arc::new(program.document().clone()), state }
    }

    /// The same graph with the state of one predictor made anew from what it was. Demos that are
    /// chosen by their vectors have vectors of their own: where others come and nothing is said of
    /// that, calls are shown all of them.
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
        // Which path was tuned first makes no difference.
        let mut states: Vec<_> =
            states.map(|(path, state)| (path.clone(), state.clone())).collect();
        states.sort_by(|one, other| one.0.cmp(&other.0));
        hash.update(GraphState(states.into_iter().collect()).to_payload().to_json());
        hash.finalize().into()
    }
}

/// Builds programs from candidates.
pub trait ProgramBuilder: Send + Sync {
    /// The program of a candidate. An optimizer that changes graphs also asks for what may be none:
    /// a document that nobody has resolved or checked, which is read as a posted one is.
    ///
    /// # Errors
    /// Everything about it that does not fit; or why it could not be built at all, as one problem.
    fn build<'a>(
        &'a self,
        candidate: &'a Candidate,
    ) -> BoxFuture<'a, Result<Arc<Program>, Problems>>;
}

/// A builder for programs that need nothing that has to be waited for.
pub struct LocalProgramBuilder {
    env: Arc<dyn BuildEnv>,
    base: Arc<Program>,
}

impl LocalProgramBuilder {
    /// One where `base` is on the table: candidates of the same graph share its untuned nodes.
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
