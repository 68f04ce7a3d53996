//! The table of model aliases that a program may name. Knows LMs by trait and nothing of where the
//! table was configured.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{Constrain, Lm, LmParams, Usage};

/// A configured model.
#[derive(Clone)]
pub struct Model {
    /// The alias.
    pub alias: Arc<str>,
    /// The provider's name for it.
    pub model: Arc<str>,
    /// Where requests go.
    pub lm: Arc<dyn Lm>,
    /// Settings that hold where neither state nor node says otherwise.
    pub params: LmParams,
    /// What tokens cost, if it is known.
    pub prices: Option<Prices>,
    /// What its server holds answers to.
    pub constrain: Arc<Constrain>,
    /// Whether it is told of tools, and asks for calls of them, beside the text.
    pub tools: bool,
}

impl Model {
    /// An LM under an alias, which is its model's name too, without settings of its own.
    #[must_use]
    pub fn of(alias: impl Into<Arc<str>>, lm: Arc<dyn Lm>) -> Self {
        let alias = alias.into();
        Self {
            model: alias.clone(),
            alias,
            lm,
            params: LmParams::default(),
            prices: None,
            constrain: Arc::default(),
            tools: false,
        }
    }
}

/// Money per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Tokens read.
    pub input: f64,
    /// Tokens written.
    pub output: f64,
}

impl Prices {
    /// What this usage costs.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> f64 {
        (usage.input_tokens as f64 * self.input + usage.output_tokens as f64 * self.output) / 1e6
    }
}

/// Models by alias. The alias `default` is always known, even when no model stands behind it.
#[derive(Clone, Default)]
pub struct Models {
    by_alias: IndexMap<Arc<str>, Arc<Model>>,
    default: Option<Arc<str>>,
}

impl Models {
    /// The alias that is always known.
    pub const DEFAULT: &'static str = "default";

    /// One model, which is the default, without settings of its own: for programs that need no
    /// table.
    #[must_use]
    pub fn only(lm: Arc<dyn Lm>) -> Self {
        Self::new([Model::of(Self::DEFAULT, lm)], Some(Self::DEFAULT.into()))
    }

    /// A table of models; `default` names the one that stands behind the alias `default` when no
    /// model has that alias itself.
    #[must_use]
    pub fn new(models: impl IntoIterator<Item = Model>, default: Option<Arc<str>>) -> Self {
        let by_alias = models.into_iter().map(|m| (m.alias.clone(), Arc::new(m))).collect();
        Self { by_alias, default }
    }

    /// Whether a definition may name the alias.
    #[must_use]
    pub fn knows(&self, alias: &str) -> bool {
        alias == Self::DEFAULT || self.by_alias.contains_key(alias)
    }

    /// The model behind an alias.
    #[must_use]
    pub fn get(&self, alias: &str) -> Option<&Arc<Model>> {
        match &self.default {
            Some(default) if alias == Self::DEFAULT => self.by_alias.get(default),
            _ => self.by_alias.get(alias),
        }
    }

    /// All models, in configured order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.by_alias.values()
    }

    /// The alias behind `default`, if a model is configured at all.
    #[must_use]
    pub fn default_alias(&self) -> Option<&str> {
        self.get(Self::DEFAULT).map(|model| model.alias.as_ref())
    }

    /// Whether no model is configured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_alias.is_empty()
    }
}
