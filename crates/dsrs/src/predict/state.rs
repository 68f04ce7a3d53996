//! What is tuned in a predictor: instruction, demos, LM settings. Plain data, without the schema.

use std::sync::Arc;

use crate::lm::LmParams;
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

/// The tuned state of one predictor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PredictState {
    /// What replaces the signature's own instructions; `None` leaves them.
    pub instruction: Option<Arc<str>>,
    /// Worked examples, in order.
    pub demos: Vec<Demo>,
    /// LM settings that stand over the node's.
    pub lm: LmOverrides,
}

impl PredictState {
    /// Whether it overrides nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
