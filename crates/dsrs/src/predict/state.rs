//! The tuned state of a predictor: instruction, demos, LM settings, rules of decisions. Plain data without the schema.

use std::sync::Arc;

use super::DecisionRules;
use crate::lm::{LmParams, Vectors};
use crate::value::Fields;

/// One worked example.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Demo {
    /// Its inputs.
    pub input: Fields,
    /// Its outputs, including those that a strategy adds.
    pub output: Fields,
}

/// The model and its settings. Unset ones come from the next level.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LmOverrides {
    /// The model alias.
    pub model: Option<Arc<str>>,
    /// Sampling and size settings.
    pub params: LmParams,
}

impl LmOverrides {
    /// These settings, with unset ones from `defaults`.
    #[must_use]
    pub fn over(&self, defaults: &Self) -> Self {
        let model = self.model.clone().or_else(|| defaults.model.clone());
        Self { model, params: self.params.over(&defaults.params) }
    }
}

/// How to choose demos for each call: those whose inputs are most similar to the inputs of the
/// call, by an embedding model. DSPy's `KNNFewShot`.
#[derive(Clone, Debug, PartialEq)]
pub struct NearestDemos {
    /// The alias of the embedding model of the demos and of the calls.
    pub model: Arc<str>,
    /// How many demos a call shows.
    pub k: u32,
    /// One vector for the inputs of each demo, in the order of the demos.
    pub vectors: Vectors,
}

/// The tuned state of one predictor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PredictState {
    /// Replaces the signature's own instructions if set.
    pub instruction: Option<Arc<str>>,
    /// Worked examples, in order.
    pub demos: Vec<Demo>,
    /// LM settings that take precedence over those of the node.
    pub lm: LmOverrides,
    /// How the demos of a call are chosen. If not set, every call shows all of them.
    pub nearest: Option<NearestDemos>,
    /// How decisions follow from their evidence, by output. Decisions without a rule have the default.
    pub decisions: DecisionRules,
}

impl PredictState {
    /// Whether it overrides nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
