//! Models by alias, and what the alias `default` stands for. Knows nothing of where they are read
//! from and of how an endpoint is spoken to.

use std::time::Duration;

use indexmap::IndexMap;
use secrecy::SecretString;

use super::endpoint::{Capability, Constrain, Provider};

/// The alias that is always known.
pub const DEFAULT_ALIAS: &str = "default";

/// One model, ready to be asked.
#[derive(Debug, Clone)]
pub struct ModelConfig {
    /// The protocol of the endpoint.
    pub provider: Provider,
    /// The endpoint, up to and with its version, without a slash at its end.
    pub base_url: String,
    /// The provider's name of the model.
    pub model: String,
    /// The key, unless the endpoint wants none.
    pub api_key: Option<SecretString>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Longest answer in tokens.
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Seed for repeatable sampling.
    pub seed: Option<i64>,
    /// Time limit of one request.
    pub timeout: Duration,
    /// Open connections to the endpoint.
    pub max_connections: u32,
    /// Requests on their way at the same time.
    pub max_concurrent: Option<u32>,
    /// The aliases that are asked when this one fails for good, in order.
    pub fallback: Vec<String>,
    /// Whether its replies are kept, and how.
    pub cache: Option<CacheConfig>,
    /// Whether it makes vectors of texts instead of answering.
    pub embedding: bool,
    /// What the endpoint can do beyond plain chat.
    pub capabilities: Vec<Capability>,
    /// What the endpoint holds answers to.
    pub constrain: Constrain,
    /// Price of a million input tokens.
    pub input_price: Option<f64>,
    /// Price of a million output tokens.
    pub output_price: Option<f64>,
}

/// How replies of a model are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheConfig {
    /// The room for all of them.
    pub bytes: usize,
    /// How long each is kept.
    pub keep: Duration,
}

/// The configured models in the order they were written.
#[derive(Debug, Clone, Default)]
pub struct Models {
    by_alias: IndexMap<String, ModelConfig>,
    default: Option<String>,
}

impl Models {
    /// Puts a model behind its own alias.
    pub(super) fn add(&mut self, alias: String, model: ModelConfig) {
        self.by_alias.insert(alias, model);
    }

    /// The same models, of which this alias is what `default` stands for.
    pub(super) fn with_default(self, default: Option<String>) -> Self {
        Self { default, ..self }
    }

    /// Whether a definition may name this alias.
    pub fn knows(&self, alias: &str) -> bool {
        alias == DEFAULT_ALIAS || self.by_alias.contains_key(alias)
    }

    /// The model behind an alias. `default` has none when nothing is configured.
    pub fn get(&self, alias: &str) -> Option<&ModelConfig> {
        match alias {
            DEFAULT_ALIAS => self.by_alias.get(self.default.as_deref()?),
            _ => self.by_alias.get(alias),
        }
    }

    /// The model that has this very alias.
    pub(super) fn own(&self, alias: &str) -> Option<&ModelConfig> {
        self.by_alias.get(alias)
    }

    /// The alias that `default` stands for; `default` itself when it is a model of its own.
    pub fn default_alias(&self) -> Option<&str> {
        self.default.as_deref()
    }

    /// Every alias with a model of its own.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ModelConfig)> {
        self.by_alias.iter().map(|(alias, model)| (alias.as_str(), model))
    }

    /// Whether no model is configured at all.
    pub fn is_empty(&self) -> bool {
        self.by_alias.is_empty()
    }
}
