//! What is tuned in a predictor: instruction, demos, LM settings. Plain data, without the schema.

use std::sync::Arc;

use crate::lm::{LmParams, Vectors};
use crate::value::Fields;

/// One worked example.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Demo {
    /// Its inputs.
    pub input: Fields,
    /// Its outputs, those that a strategy adds included.
    pub output: Fields,
}

/// Which model to ask, and how. Gaps are filled by whoever stands behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LmOverrides {
    /// The model alias.
    pub model: Option<Arc<str>>,
    /// Sampling and size settings.
    pub params: LmParams,
}

impl LmOverrides {
    /// These settings, with the gaps filled from `behind`.
    #[must_use]
    pub fn over(&self, behind: &Self) -> Self {
        let model = self.model.clone().or_else(|| behind.model.clone());
        Self { model, params: self.params.over(&behind.params) }
    }
}

/// Demos that are chosen anew for each call: those whose inputs are most like the call's, as an
/// embedding model sees it. What DSPy's `KNNFewShot` does.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// The alias of the embedding model, which made the vectors and makes those of calls.
    pub model: Arc<str>,
    /// How many demos a call is shown.
    pub k: u32,
    /// One vector for each demo's inputs, in the order of the demos.
    pub vectors: Vectors,
}

/// The tuned state of one predictor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PredictState {
    /// What replaces the signature's own instructions; `None` leaves them.
    pub instruction: Option<Arc<str>>,
    /// Worked examples, in order.
    pub demos: Vec<Demo>,
    /// LM settings that stand over the node's.
    pub lm: LmOverrides,
    /// How the demos of a call are chosen; without it, every call is shown all of them.
    pub nearest: Option<Nearest>,
}

impl PredictState {
    /// Whether it overrides nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
