//! Models by alias, and what the alias `default` stands for. Knows nothing of how an endpoint is
//! spoken to.

use std::time::Duration;

use indexmap::{IndexMap, IndexSet};
use secrecy::SecretString;
use url::Url;

use super::endpoint::{self, Capability, Constrain, Provider};
use super::fallback::check_fallbacks;
use super::nearest::hint;
use super::parse;
use super::reader::Reader;

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

/// The endpoint of models that name none.
struct Endpoint {
    base_url: Option<String>,
    api_key: Option<SecretString>,
    given: bool,
}

impl Endpoint {
    fn url(&self) -> String {
        let usual = || Provider::OpenAi.usual_url().unwrap_or_default().to_owned();
        self.base_url.clone().unwrap_or_else(usual)
    }
}

/// Reads every `[models.NAME]` and decides what `default` is.
pub(super) fn read_models(read: &mut Reader<'_>) -> Option<Models> {
    let endpoint = read_endpoint(read);
    let mut models = Models::default();
    for alias in read.layers.aliases() {
        check_alias(read, &alias);
        if let Some(model) = read_model(read, &alias, &endpoint) {
            models.by_alias.insert(alias, model);
        }
    }
    check_fallbacks(read, &models);
    models.default = match read.optional("default_model", parse::text) {
        Some(alias) if alias != DEFAULT_ALIAS => Some(known_alias(read, &models, alias)?),
        _ => unnamed_default(read, &mut models, endpoint),
    };
    Some(models)
}

fn read_endpoint(read: &mut Reader<'_>) -> Endpoint {
    let base_url = read.optional("openai.base_url", parse::http_url);
    let api_key = read.optional("openai.api_key", secret);
    Endpoint {
        given: base_url.is_some() || api_key.is_some(),
        base_url: base_url.as_ref().map(without_slash),
        api_key,
    }
}

fn check_alias(read: &mut Reader<'_>, alias: &str) {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if alias.len() > 63
        || !alias.starts_with(|c: char| c.is_ascii_alphanumeric())
        || !alias.chars().all(fits)
    {
        read.problems.push(format!(
            "models.{alias}: an alias is up to 63 letters, digits, \"_\", \"-\" and \".\", a letter or digit first"
        ));
    }
}

fn read_model(read: &mut Reader<'_>, alias: &str, common: &Endpoint) -> Option<ModelConfig> {
    let at = |member: &str| format!("models.{alias}.{member}");
    let api_key = read_key(read, alias);
    let provider = read.required(&at("provider"), endpoint::provider);
    let place = read_place(read, &at("base_url"), provider, common);
    let model = read.required(&at("model"), parse::text);
    let temperature = read.optional(&at("temperature"), parse::temperature);
    let max_tokens = read.optional(&at("max_tokens"), parse::positive);
    let top_p = read.optional(&at("top_p"), parse::top_p);
    let seed = read.optional(&at("seed"), parse::seed);
    let timeout = read.required(&at("timeout_ms"), parse::millis);
    let max_connections = read.required(&at("max_connections"), parse::positive);
    let max_concurrent = read.optional(&at("max_concurrent"), parse::positive);
    let cache = read_cache(read, alias);
    let capabilities = read_capabilities(read, &at("capabilities"));
    let constrain = read_constrain(read, &at("constrain"), provider);
    let input_price = read.optional(&at("input_price"), parse::price);
    let output_price = read.optional(&at("output_price"), parse::price);
    let fallback = read.given(&at("fallback")).map_or_else(Vec::new, |given| {
        let aliases: IndexSet<&str> = given.list().collect();
        aliases.into_iter().map(str::to_owned).collect()
    });
    let (base_url, common_key) = place?;
    Some(ModelConfig {
        provider: provider?,
        api_key: api_key.or(common_key),
        base_url,
        model: model?,
        temperature,
        max_tokens,
        top_p,
        seed,
        timeout: timeout?,
        max_connections: max_connections?,
        max_concurrent,
        fallback,
        cache,
        capabilities,
        constrain: constrain?,
        input_price,
        output_price,
    })
}

/// Where a model is asked, and the key that goes there if it has none of its own. The common key goes
/// to the common endpoint only, never to one that a model names itself.
fn read_place(
    read: &mut Reader<'_>,
    path: &str,
    provider: Option<Provider>,
    common: &Endpoint,
) -> Option<(String, Option<SecretString>)> {
    let own = read.optional(path, parse::http_url);
    if let Some(url) = own {
        return Some((without_slash(&url), None));
    }
    let provider = provider.filter(|_| read.given(path).is_none())?;
    if provider == Provider::OpenAi {
        return Some((common.url(), common.api_key.clone()));
    }
    let usual = provider.usual_url();
    if usual.is_none() {
        let (word, sample) = (provider.as_str(), provider.sample_url());
        read.problems.push(format!(
            "{path} is missing: \"{word}\" has no address for everybody; it is such as {sample}"
        ));
    }
    Some((usual?.to_owned(), None))
}

/// What answers are held to, which must be something that the protocol has a place for.
fn read_constrain(
    read: &mut Reader<'_>,
    path: &str,
    provider: Option<Provider>,
) -> Option<Constrain> {
    let constrain = read.required(path, endpoint::constrain)?;
    if constrain == Constrain::Gbnf && provider.is_some_and(|found| found != Provider::OpenAi) {
        let given = read.given(path)?;
        read.refuse(
            path,
            given,
            "only OpenAI-compatible servers take a grammar; try \"json_schema\"",
        );
        return None;
    }
    Some(constrain)
}

/// Whether and how replies are kept: the room for them switches it on.
fn read_cache(read: &mut Reader<'_>, alias: &str) -> Option<CacheConfig> {
    let (room, time) = (format!("models.{alias}.cache_bytes"), format!("models.{alias}.cache_ttl"));
    let bytes = read.optional(&room, parse::bytes);
    let keep = read.required(&time, parse::duration);
    if let Some(given) = read.given(&time).filter(|_| read.given(&room).is_none()) {
        read.refuse(
            &time,
            given,
            &format!("nothing is kept without {room}, such as 64MiB; give it too"),
        );
    }
    Some(CacheConfig { bytes: bytes?, keep: keep? })
}

fn read_key(read: &mut Reader<'_>, alias: &str) -> Option<SecretString> {
    let (direct, by_name) =
        (format!("models.{alias}.api_key"), format!("models.{alias}.api_key_env"));
    let key = read.optional(&direct, secret);
    let Some(variable) = read.optional(&by_name, parse::text) else { return key };
    if key.is_some() {
        read.problems.push(format!("{direct} and {by_name} are both given; keep one"));
        return None;
    }
    let found = read.env.get(&variable).map(SecretString::from);
    if found.is_none() {
        read.problems.push(format!("{by_name}: environment variable {variable} is not set"));
    }
    found
}

fn read_capabilities(read: &mut Reader<'_>, path: &str) -> Vec<Capability> {
    let Some(given) = read.given(path) else { return Vec::new() };
    let mut found = Vec::new();
    for word in given.list() {
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

fn secret(text: &str) -> Result<SecretString, String> {
    parse::text(text).map(|text| SecretString::from(text.trim()))
}

fn without_slash(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

/// `default_model` as given, which must be one of the models.
fn known_alias(read: &mut Reader<'_>, models: &Models, alias: String) -> Option<String> {
    if models.by_alias.contains_key(&alias) {
        return Some(alias);
    }
    let given = read.given("default_model")?;
    // A model that is itself wrong has been told already.
    if !read.layers.aliases().contains(&alias) {
        let hint = hint(&alias, models.by_alias.keys().map(String::as_str));
        read.refuse("default_model", given, &format!("no model has this alias{hint}"));
    }
    None
}

/// What `default` is when nobody says: `[models.default]`, else the only model, else one made
/// from the common endpoint, else nothing.
fn unnamed_default(
    read: &mut Reader<'_>,
    models: &mut Models,
    endpoint: Endpoint,
) -> Option<String> {
    let only = models.by_alias.keys().next().filter(|_| models.by_alias.len() == 1);
    if models.by_alias.contains_key(DEFAULT_ALIAS) {
        return Some(DEFAULT_ALIAS.to_owned());
    }
    if let Some(alias) = only {
        return Some(alias.clone());
    }
    if !endpoint.given {
        return None;
    }
    let model = read.required("model", parse::text)?;
    models.by_alias.insert(DEFAULT_ALIAS.to_owned(), implicit(read, model, endpoint)?);
    Some(DEFAULT_ALIAS.to_owned())
}

fn implicit(read: &mut Reader<'_>, model: String, endpoint: Endpoint) -> Option<ModelConfig> {
    Some(ModelConfig {
        provider: Provider::OpenAi,
        base_url: endpoint.url(),
        model,
        api_key: endpoint.api_key,
        temperature: None,
        max_tokens: None,
        top_p: None,
        seed: None,
        timeout: read.required("models.default.timeout_ms", parse::millis)?,
        max_connections: read.required("models.default.max_connections", parse::positive)?,
        max_concurrent: None,
        fallback: Vec::new(),
        cache: None,
        capabilities: Vec::new(),
        constrain: Constrain::None,
        input_price: None,
        output_price: None,
    })
}
