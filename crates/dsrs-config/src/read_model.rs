//! One model of the settings. Of the other models it knows only the endpoint they share.

use indexmap::IndexSet;
use secrecy::SecretString;
use url::Url;

use super::endpoint::{Capability, Constrain, Provider};
use super::model_data::{ModelData, TokenLimits, TokenPrices};
use super::models::{CacheConfig, ModelConfig};
use super::nearest::hint;
use super::reader::SettingReader;
use super::settings::{ModelSettings, OpenAiSettings};

/// The endpoint of models that name none.
pub(super) struct SharedEndpoint {
    /// Whether any setting describes it.
    pub(super) is_configured: bool,
    base_url: Option<String>,
    pub(super) api_key: Option<SecretString>,
}

impl SharedEndpoint {
    pub(super) fn of(settings: OpenAiSettings) -> Self {
        Self {
            is_configured: settings.base_url.is_some() || settings.api_key.is_some(),
            base_url: settings.base_url.as_ref().map(without_slash),
            api_key: settings.api_key,
        }
    }

    pub(super) fn url(&self) -> String {
        let public = || Provider::OpenAi.public_url().unwrap_or_default().to_owned();
        self.base_url.clone().unwrap_or_else(public)
    }
}

/// Reads a `[models.NAME]`. Every check runs before the first problem counts.
pub(super) fn read_model(
    read: &mut SettingReader<'_>,
    alias: &str,
    shared: &SharedEndpoint,
) -> Option<ModelConfig> {
    let settings = ModelSettings::read(read, alias)?;
    let at = |member: &str| format!("models.{alias}.{member}");
    let endpoint = read_endpoint(read, &at("base_url"), &settings, shared);
    if read.given(&at("model")).is_none() {
        read.problems.push(format!("{} is missing", at("model")));
    }
    let api_key = read_key(read, alias, &settings);
    let cache = check_cache(read, alias, &settings);
    let capabilities = read_capabilities(read, &at("capabilities"), &settings.capabilities);
    let constrain = check_constrain(read, &at("constrain"), &settings);
    let embedding = check_embedding(read, alias, &settings);
    let fallback: IndexSet<String> = settings.fallback.into_iter().collect();
    let (base_url, shared_key) = endpoint?;
    let configured_prices = TokenPrices {
        input: settings.input_price,
        output: settings.output_price,
        cached_input: settings.cached_input_price,
        cache_write: settings.cache_write_price,
    };
    Some(ModelConfig {
        provider: settings.provider?,
        api_key: api_key.or(shared_key),
        base_url,
        model: settings.model?,
        temperature: settings.temperature,
        max_tokens: settings.max_tokens,
        top_p: settings.top_p,
        seed: settings.seed,
        timeout: settings.timeout?,
        max_connections: settings.max_connections?,
        max_concurrent: settings.max_concurrent,
        fallback: fallback.into_iter().collect(),
        cache,
        embedding: embedding?,
        capabilities: if embedding? { vec![Capability::Embeddings] } else { capabilities },
        constrain: if embedding? { Constrain::None } else { constrain? },
        reasoning_effort: settings.reasoning_effort,
        service_tier: settings.service_tier,
        extra_body: settings.extra_body,
        extra_headers: settings.extra_headers,
        max_tokens_field: settings.max_tokens_field?,
        cache_marks: settings.cache_marks?,
        prices: configured_prices,
        limits: TokenLimits { context: settings.context_tokens, output: None },
    })
}

impl ModelConfig {
    /// The same model, with prices and sizes of the table where the settings have none. Prices of the
    /// settings count as a whole: a discount of one is one of all.
    pub(super) fn with_data(mut self, data: &ModelData) -> Self {
        let Some(known) = data.find(self.provider, &self.base_url, &self.model) else {
            return self;
        };
        if self.prices == TokenPrices::default() {
            self.prices = known.prices();
        }
        let limits = known.limits();
        self.limits.context = self.limits.context.or(limits.context);
        self.limits.output = self.limits.output.or(limits.output);
        self
    }
}

/// The endpoint of a model, with the key that goes there if the model has none of its own. The
/// shared key goes to the shared endpoint only, never to an endpoint that a model names.
fn read_endpoint(
    read: &mut SettingReader<'_>,
    path: &str,
    settings: &ModelSettings,
    shared: &SharedEndpoint,
) -> Option<(String, Option<SecretString>)> {
    if let Some(url) = &settings.base_url {
        return Some((without_slash(url), None));
    }
    let provider = settings.provider.filter(|_| read.given(path).is_none())?;
    if matches!(provider, Provider::OpenAi | Provider::Responses) {
        return Some((shared.url(), shared.api_key.clone()));
    }
    let public = provider.public_url();
    if public.is_none() {
        let (word, sample) = (provider.as_str(), provider.sample_url());
        read.problems.push(format!(
            "{path} is missing: \"{word}\" has no public address; set one such as {sample}"
        ));
    }
    Some((public?.to_owned(), None))
}

/// Constrained decoding must be something that the protocol can carry.
fn check_constrain(
    read: &mut SettingReader<'_>,
    path: &str,
    settings: &ModelSettings,
) -> Option<Constrain> {
    let constrain = settings.constrain?;
    let other_protocol = settings.provider.is_some_and(|provider| provider != Provider::OpenAi);
    if constrain == Constrain::Gbnf && other_protocol {
        let given = read.given(path)?;
        let reason = "only OpenAI-compatible servers accept a grammar; try \"json_schema\"";
        read.refuse(path, given, reason);
        return None;
    }
    Some(constrain)
}

/// Settings of answers, which embedding models do not return.
const ANSWER_SETTINGS: [&str; 15] = [
    "temperature",
    "max_tokens",
    "top_p",
    "seed",
    "reasoning_effort",
    "service_tier",
    "extra_body",
    "extra_headers",
    "max_tokens_field",
    "cache_marks",
    "cached_input_price",
    "constrain",
    "capabilities",
    "cache_bytes",
    "fallback",
];

/// Whether it is an embedding model; then settings of answers are refused.
fn check_embedding(
    read: &mut SettingReader<'_>,
    alias: &str,
    settings: &ModelSettings,
) -> Option<bool> {
    if !settings.embedding? {
        return Some(false);
    }
    let path = format!("models.{alias}.embedding");
    if let Some(given) = read.given(&path)
        && settings.provider.is_some_and(|provider| provider != Provider::OpenAi)
    {
        read.refuse(&path, given, "only OpenAI-compatible servers can be called for embeddings");
    }
    for setting in ANSWER_SETTINGS {
        let path = format!("models.{alias}.{setting}");
        if let Some(given) = read.given(&path) {
            read.refuse(&path, given, "an embedding model does not answer; remove this setting");
        }
    }
    Some(true)
}

/// The reply cache: its size switches it on.
fn check_cache(
    read: &mut SettingReader<'_>,
    alias: &str,
    settings: &ModelSettings,
) -> Option<CacheConfig> {
    let (size, lifetime) =
        (format!("models.{alias}.cache_bytes"), format!("models.{alias}.cache_ttl"));
    if let Some(given) = read.given(&lifetime).filter(|_| read.given(&size).is_none()) {
        let reason = format!("replies are not cached without {size}, such as 64MiB; set it too");
        read.refuse(&lifetime, given, &reason);
    }
    Some(CacheConfig { bytes: settings.cache_bytes?, ttl: settings.cache_ttl? })
}

fn read_key(
    read: &mut SettingReader<'_>,
    alias: &str,
    settings: &ModelSettings,
) -> Option<SecretString> {
    let (direct, by_name) =
        (format!("models.{alias}.api_key"), format!("models.{alias}.api_key_env"));
    let Some(variable) = &settings.api_key_env else { return settings.api_key.clone() };
    if settings.api_key.is_some() {
        read.problems.push(format!("{direct} and {by_name} are both set; remove one"));
        return None;
    }
    let found = read.env.get(variable).map(SecretString::from);
    if found.is_none() {
        read.problems.push(format!("{by_name}: environment variable {variable} is not set"));
    }
    found
}

fn read_capabilities(
    read: &mut SettingReader<'_>,
    path: &str,
    words: &[String],
) -> Vec<Capability> {
    let Some(given) = read.given(path) else { return Vec::new() };
    let mut found = Vec::new();
    for word in words {
        match Capability::ALL.into_iter().find(|capability| capability.as_str() == word) {
            Some(capability) if found.contains(&capability) => {}
            Some(capability) => found.push(capability),
            None => {
                let words = Capability::ALL.map(Capability::as_str);
                let hint = hint(word, words);
                let words = words.join(", ");
                read.refuse(path, given, &format!("\"{word}\" is not one of {words}{hint}"));
            }
        }
    }
    found
}

/// An address that paths are appended to.
fn without_slash(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}
