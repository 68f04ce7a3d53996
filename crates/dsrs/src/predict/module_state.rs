//! The tuned state of a whole module or graph: the states of its predictors by path, as data. Loading
//! one is all or nothing. Knows nothing of versions or storage.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{DynPredictor, PredictState, read_state, state_to_payload};
use crate::problem::{At, Code, Problems};
use crate::read::{self, listed, nearest};
use crate::value::Payload;

/// Predictor states by path; a missing path has the defaults. The path of a module that is a predictor
/// itself is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModuleState(pub IndexMap<Arc<str>, PredictState>);

impl From<PredictState> for ModuleState {
    /// The state of a module that is a predictor itself.
    fn from(state: PredictState) -> Self {
        Self(IndexMap::from_iter([(Arc::from(""), state)]))
    }
}

impl ModuleState {
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

    /// The states of these predictors, each under its path.
    pub(crate) fn of<'p>(
        predictors: impl IntoIterator<Item = (String, &'p dyn DynPredictor)>,
    ) -> Self {
        let states = predictors.into_iter();
        Self(states.map(|(path, found)| (path.into(), found.state().clone())).collect())
    }

    /// Loads the states into these predictors, or changes none of them.
    ///
    /// # Errors
    /// Every path that is no predictor's, and everything in a state that does not fit.
    pub(crate) fn load_into(
        mut self,
        mut predictors: Vec<(String, &mut dyn DynPredictor)>,
    ) -> Result<(), Problems> {
        let (root, mut problems) = (At::Root, Problems::new());
        self.check_paths(&predictors, &mut problems);
        let before: Vec<PredictState> =
            predictors.iter().map(|(_, predictor)| predictor.state().clone()).collect();
        for (path, predictor) in &mut predictors {
            let state = self.0.swap_remove(path.as_str()).unwrap_or_default();
            let named = root.key(path);
            let at = if path.is_empty() { &root } else { &named };
            problems.append(predictor.load_state(state, at).err().unwrap_or_default());
        }
        if !problems.is_empty() {
            for ((_, predictor), before) in predictors.iter_mut().zip(before) {
                // The previous state still fits.
                drop(predictor.load_state(before, &root));
            }
        }
        problems.or(())
    }

    fn check_paths(&self, predictors: &[(String, &mut dyn DynPredictor)], problems: &mut Problems) {
        let known = || predictors.iter().map(|(path, _)| path.as_str());
        for path in self.0.keys().filter(|path| !known().any(|known| *known == ***path)) {
            let hint = nearest(path, known())
                .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
            let known = listed(known());
            let detail = format!("there is no predictor `{path}`; {hint}known ones: {known}");
            problems.add(&At::Root.key(path), Code::UnknownField, detail);
        }
    }
}
