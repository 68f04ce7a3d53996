//! The tuned state of a whole graph: overrides by predictor path, as data. Knows nothing of versions
//! or storage.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::predict::{PredictState, read_state, state_to_payload};
use crate::problem::{At, Problems};
use crate::read;
use crate::value::Payload;

/// Predictor states by path; a missing path has the defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphState(pub IndexMap<Arc<str>, PredictState>);

impl GraphState {
    /// Reads `{path: {instruction, demos, lm?}}`. Retains empty and partly readable states, so that their
    /// paths and their other parts are checked too.
    pub fn read(predictors: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self> {
        let found = read::members(predictors, at, problems, |_, state, at, problems| {
            Some(read_state(state, at, problems).unwrap_or_default())
        })?;
        Some(Self(found.into_iter().collect()))
    }

    /// The same shape back, in the state's order.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let states = self.0.iter();
        Payload::map(states.map(|(path, s)| (path.clone(), state_to_payload(s))).collect())
    }
}
