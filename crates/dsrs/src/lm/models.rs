//! The models that a program may name, by alias. Knows LMs and embedding models by trait and nothing
//! of where the table was configured.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{
    ConstrainedDecoding, Embedder, Gate, Lane, Lm, LmObserver, LmParams, ReplyCache, RunBudget,
    Usage,
};

/// A model that answers.
#[derive(Clone)]
pub struct Model {
    /// The alias.
    pub alias: Arc<str>,
    /// The provider's name of the model.
    pub model: Arc<str>,
    /// The client.
    pub lm: Arc<dyn Lm>,
    /// Settings for requests whose state and node set none.
    pub params: LmParams,
    /// The prices of tokens, if they are known.
    pub prices: Option<Prices>,
    /// The constrained decoding of its endpoint.
    pub constrain: Arc<ConstrainedDecoding>,
    /// Whether it accepts tools and replies with native tool calls.
    pub tools: bool,
    /// Whether it reports the probabilities of tokens.
    pub logprobs: bool,
    /// The limit of requests in flight, if there is one.
    pub gate: Option<Gate>,
    /// The cache of its replies, if there is one.
    pub cache: Option<Arc<ReplyCache>>,
    /// The aliases to try in order after it has failed for good.
    pub fallback: Vec<Arc<str>>,
}

impl Model {
    /// An LM under an alias, without settings of its own. The alias is the name of the model, too.
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
            logprobs: false,
            gate: None,
            cache: None,
            fallback: Vec::new(),
        }
    }
}

/// A model that turns texts into vectors. It does not answer.
#[derive(Clone)]
pub struct EmbeddingModel {
    /// The alias.
    pub alias: Arc<str>,
    /// The provider's name of the model.
    pub model: Arc<str>,
    /// The client.
    pub embedder: Arc<dyn Embedder>,
    /// The prices of tokens, if they are known.
    pub prices: Option<Prices>,
    /// The limit of requests in flight, if there is one.
    pub gate: Option<Gate>,
}

impl EmbeddingModel {
    /// An embedder under an alias, without settings of its own. The alias is the name of the model,
    /// too.
    #[must_use]
    pub fn of(alias: impl Into<Arc<str>>, embedder: Arc<dyn Embedder>) -> Self {
        let alias = alias.into();
        Self { model: alias.clone(), alias, embedder, prices: None, gate: None }
    }
}

/// Money per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Input tokens.
    pub input: f64,
    /// Output tokens, those of reasoning included.
    pub output: f64,
    /// Input tokens that the provider reads from its cache; like other input tokens if not known.
    pub cached_input: Option<f64>,
    /// Input tokens that the provider writes to its cache; like other input tokens if not known.
    pub cache_write: Option<f64>,
}

impl Prices {
    /// Prices of input and output tokens.
    #[must_use]
    pub const fn of(input: f64, output: f64) -> Self {
        Self { input, output, cached_input: None, cache_write: None }
    }

    /// The cost of a usage.
    ///
    /// ```
    /// use dsrs::lm::{Prices, Usage};
    ///
    /// let prices = Prices { cached_input: Some(0.3), cache_write: Some(3.75), ..Prices::of(3.0, 15.0) };
    /// let usage = Usage {
    ///     input_tokens: 10_000,
    ///     cached_tokens: 8_000,
    ///     cache_write_tokens: 1_000,
    ///     output_tokens: 100,
    ///     ..Usage::default()
    /// };
    /// assert!((prices.cost(&usage) - 0.01065).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let plain = usage.input_tokens - cached - written;
        let priced = [
            (plain, self.input),
            (cached, self.cached_input.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (usage.output_tokens, self.output),
        ];
        priced.into_iter().map(|(tokens, price)| tokens as f64 * price).sum::<f64>() / 1e6
    }

    /// The prices if no input token comes from the cache and all are written to it, as for the highest
    /// possible cost.
    #[must_use]
    pub fn highest(&self) -> Self {
        let input = self.cache_write.map_or(self.input, |written| written.max(self.input));
        Self::of(input, self.output)
    }
}

/// Models by alias. The alias `default` is always known, even if no model is configured.
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
/// // At most 100 requests in flight, 10 of each run.
/// let models = Models::new([big, small], Some("big".into())).limited(Some(100), Some(10));
/// assert_eq!(&*models.after(models.get("default").unwrap())[0].alias, "small");
/// ```
#[derive(Clone, Default)]
pub struct Models {
    answering: IndexMap<Arc<str>, Arc<Model>>,
    embedding: IndexMap<Arc<str>, Arc<EmbeddingModel>>,
    default: Option<Arc<str>>,
    gate: Option<Gate>,
    per_run: Option<u32>,
    run_budget: Option<RunBudget>,
    observer: Option<Arc<dyn LmObserver>>,
}

impl Models {
    /// The alias that is always known.
    pub const DEFAULT: &'static str = "default";

    /// One model, which is the default, without settings of its own.
    #[must_use]
    pub fn only(lm: Arc<dyn Lm>) -> Self {
        Self::new([Model::of(Self::DEFAULT, lm)], Some(Self::DEFAULT.into()))
    }

    /// A table of models. The alias `default` refers to the model that `default` names, unless a
    /// model has that alias itself.
    #[must_use]
    pub fn new(models: impl IntoIterator<Item = Model>, default: Option<Arc<str>>) -> Self {
        let answering = models.into_iter().map(|m| (m.alias.clone(), Arc::new(m))).collect();
        Self { answering, default, ..Self::default() }
    }

    /// The same table with embedding models.
    #[must_use]
    pub fn with_embedding(self, models: impl IntoIterator<Item = EmbeddingModel>) -> Self {
        let embedding = models.into_iter().map(|m| (m.alias.clone(), Arc::new(m))).collect();
        Self { embedding, ..self }
    }

    /// The same table with limits of the requests in flight: to all models together, and of each
    /// run.
    #[must_use]
    pub fn limited(self, all: Option<u32>, per_run: Option<u32>) -> Self {
        Self { gate: all.map(Gate::of), per_run, ..self }
    }

    /// The same models with a budget of each run.
    #[must_use]
    pub fn with_run_budget(self, run_budget: Option<RunBudget>) -> Self {
        Self { run_budget, ..self }
    }

    /// The budget of each run, if there is one.
    #[must_use]
    pub const fn run_budget(&self) -> Option<&RunBudget> {
        self.run_budget.as_ref()
    }

    /// The same models, whose runs report their requests to an observer, unless they have another one.
    #[must_use]
    pub fn observed(self, observer: Arc<dyn LmObserver>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// The observer of runs that have no other.
    #[must_use]
    pub const fn observer(&self) -> Option<&Arc<dyn LmObserver>> {
        self.observer.as_ref()
    }

    /// The limit of all models together, if there is one.
    #[must_use]
    pub const fn gate(&self) -> Option<&Gate> {
        self.gate.as_ref()
    }

    /// The queue of the requests of one more run.
    #[must_use]
    pub fn lane(&self) -> Lane {
        Lane::limited(self.per_run)
    }

    /// The models to try in order after one has failed for good: each of its fallbacks, followed by
    /// the fallbacks of that one. No model occurs twice.
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
        alias == Self::DEFAULT
            || self.answering.contains_key(alias)
            || self.embedding.contains_key(alias)
    }

    /// The model of an alias, if it is one that answers.
    #[must_use]
    pub fn get(&self, alias: &str) -> Option<&Arc<Model>> {
        self.answering.get(self.resolve(alias))
    }

    /// The embedding model of an alias, if it is one.
    #[must_use]
    pub fn embedding(&self, alias: &str) -> Option<&Arc<EmbeddingModel>> {
        self.embedding.get(self.resolve(alias))
    }

    fn resolve<'a>(&'a self, alias: &'a str) -> &'a str {
        match &self.default {
            Some(default) if alias == Self::DEFAULT => default,
            _ => alias,
        }
    }

    /// The models that answer, in configured order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.answering.values()
    }

    /// The embedding models, in configured order.
    pub fn embedding_models(&self) -> impl Iterator<Item = &Arc<EmbeddingModel>> {
        self.embedding.values()
    }

    /// The alias that `default` refers to, if a model is configured at all.
    #[must_use]
    pub fn default_alias(&self) -> Option<&str> {
        self.get(Self::DEFAULT).map(|model| model.alias.as_ref())
    }

    /// Whether no model is configured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answering.is_empty() && self.embedding.is_empty()
    }
}
