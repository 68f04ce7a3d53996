//! The table of model aliases that a program may name. Knows LMs by trait and nothing of where the
//! table was configured.

use std::sync::Arc;

use indexmap::IndexMap;

use super::embed::NoChat;
use super::{ConstrainedDecoding, Embedder, Gate, Lane, Lm, LmParams, ReplyCache, Usage};

/// A configured model.
#[derive(Clone)]
pub struct Model {
    /// The alias.
    pub alias: Arc<str>,
    /// The provider's name for it.
    pub model: Arc<str>,
    /// Where requests go.
    pub lm: Arc<dyn Lm>,
    /// What makes vectors of texts. A model has this or answers, not both.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Settings that hold where neither state nor node says otherwise.
    pub params: LmParams,
    /// What tokens cost, if it is known.
    pub prices: Option<Prices>,
    /// What its server holds answers to.
    pub constrain: Arc<ConstrainedDecoding>,
    /// Whether it is told of tools, and asks for calls of them, beside the text.
    pub tools: bool,
    /// How many requests may be on their way to it at a time, if that is limited.
    pub gate: Option<Gate>,
    /// Its replies, where they are kept.
    pub cache: Option<Arc<ReplyCache>>,
    /// The aliases that are asked when it fails for good, in order.
    pub fallback: Vec<Arc<str>>,
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
            embedder: None,
            params: LmParams::default(),
            prices: None,
            constrain: Arc::default(),
            tools: false,
            gate: None,
            cache: None,
            fallback: Vec::new(),
        }
    }

    /// A model that makes vectors of texts, and refuses to answer.
    #[must_use]
    pub fn embedding(alias: impl Into<Arc<str>>, embedder: Arc<dyn Embedder>) -> Self {
        let alias = alias.into();
        let lm = Arc::new(NoChat::of(alias.clone()));
        Self { embedder: Some(embedder), ..Self::of(alias, lm) }
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
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use dsrs::lm::{Gate, Model, Models, ReplyCache, ScriptedLm};
///
/// let big = Model {
///     gate: Some(Gate::of(8)),
///     fallback: vec!["small".into()],
///     ..Model::of("big", Arc::new(ScriptedLm::always("yes")))
/// };
/// let small = Model {
///     cache: Some(Arc::new(ReplyCache::of(64 << 20, Duration::from_secs(3600)))),
///     ..Model::of("small", Arc::new(ScriptedLm::always("no")))
/// };
/// // At most 100 requests at a time, 10 of each run.
/// let models = Models::new([big, small], Some("big".into())).limited(Some(100), Some(10));
/// assert_eq!(&*models.after(models.get("default").unwrap())[0].alias, "small");
/// ```
#[derive(Clone, Default)]
pub struct Models {
    by_alias: IndexMap<Arc<str>, Arc<Model>>,
    default: Option<Arc<str>>,
    gate: Option<Gate>,
    per_run: Option<u32>,
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
        Self { by_alias, default, ..Self::default() }
    }

    /// The same table, with limits of how many requests may be on their way at a time: to all models
    /// together, and of each run.
    #[must_use]
    pub fn limited(self, all: Option<u32>, per_run: Option<u32>) -> Self {
        Self { gate: all.map(Gate::of), per_run, ..self }
    }

    /// The limit of all models together, if there is one.
    #[must_use]
    pub const fn gate(&self) -> Option<&Gate> {
        self.gate.as_ref()
    }

    /// What the requests of one more run stand in line as.
    #[must_use]
    pub fn lane(&self) -> Lane {
        Lane::limited(self.per_run)
    }

    /// The models that are asked when one fails for good, in order: each one that it falls back to,
    /// and after each those that this one falls back to. No model comes twice.
    #[must_use]
    pub fn after(&self, model: &Model) -> Vec<&Arc<Model>> {
        let mut seen: Vec<&str> = vec![&model.alias];
        let mut found = Vec::new();
        let mut left: Vec<&Arc<str>> = model.fallback.iter().rev().collect();
        while let Some(alias) = left.pop() {
            let Some(next) = self.get(alias) else { continue };
            if !seen.contains(&&*next.alias) {
                seen.push(&next.alias);
                found.push(next);
                left.extend(next.fallback.iter().rev());
            }
        }
        found
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
