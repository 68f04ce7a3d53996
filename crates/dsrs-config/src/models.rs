//! Models by alias, and the target of the alias `default`. Does not know where they are read from
//! or how an endpoint is called.

use std::time::Duration;

use dsrs::lm::{ExtraBody, ExtraHeaders, ReasoningEffort};
use indexmap::IndexMap;
use secrecy::SecretString;

use super::endpoint::{CacheMarks, Capability, Constrain, Provider, TokenLimitField};
use super::model_data::{TokenLimits, TokenPrices};

/// The alias that is always known.
pub const DEFAULT_ALIAS: &str = "default";

/// One model, checked.
#[derive(Debug, Clone)]
pub struct ModelConfig {
    /// The protocol of the endpoint.
    pub provider: Provider,
    /// The endpoint, including its version, without a trailing slash.
    pub base_url: String,
    /// The provider's name of the model.
    pub model: String,
    /// The API key, unless the endpoint needs none.
    pub api_key: Option<SecretString>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Maximum length of an answer, in tokens.
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Seed for repeatable sampling.
    pub seed: Option<i64>,
    /// Time limit of one request.
    pub timeout: Duration,
    /// Maximum number of open connections to the endpoint.
    pub max_connections: u32,
    /// Maximum number of concurrent requests.
    pub max_concurrent: Option<u32>,
    /// The aliases to try, in order, if this model fails.
    pub fallback: Vec<String>,
    /// The cache of its replies, if there is one.
    pub cache: Option<CacheConfig>,
    /// Whether it is an embedding model, which returns vectors instead of answers.
    pub embedding: bool,
    /// Capabilities of the endpoint beyond plain chat.
    pub capabilities: Vec<Capability>,
    /// Constrained decoding at the endpoint.
    pub constrain: Constrain,
    /// How much it reasons.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The provider's name of the class of service.
    pub service_tier: Option<String>,
    /// Further members of each request.
    pub extra_body: Option<ExtraBody>,
    /// Further headers of each request.
    pub extra_headers: Option<ExtraHeaders>,
    /// The member that limits the length of an answer.
    pub max_tokens_field: TokenLimitField,
    /// Whether the shared part of prompts is marked for the provider's cache.
    pub cache_marks: CacheMarks,
    pub prices: TokenPrices,
    /// Its sizes.
    pub limits: TokenLimits,
}

/// The reply cache of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheConfig {
    /// Maximum size of all cached replies.
    pub bytes: usize,
    /// Lifetime of a cached reply.
    pub ttl: Duration,
}

/// The configured models in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct ModelTable {
    by_alias: IndexMap<String, ModelConfig>,
    default: Option<String>,
}

impl ModelTable {
    /// Adds a model under its alias.
    pub(super) fn add(&mut self, alias: String, model: ModelConfig) {
        self.by_alias.insert(alias, model);
    }

    /// The same models, of which this alias is the target of `default`.
    pub(super) fn with_default(self, default: Option<String>) -> Self {
        Self { default, ..self }
    }

    /// Whether a definition may name this alias.
    pub fn knows(&self, alias: &str) -> bool {
        alias == DEFAULT_ALIAS || self.by_alias.contains_key(alias)
    }

    /// The model of an alias. `default` has none when nothing is configured.
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

    /// The alias that `default` refers to; `default` itself when it is a model of its own.
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
