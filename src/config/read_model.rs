//! One model of the settings. Knows of the others only the endpoint that they have in common.

use indexmap::IndexSet;
use secrecy::SecretString;
use url::Url;

use super::endpoint::{self, Capability, Constrain, Provider};
use super::models::{CacheConfig, ModelConfig};
use super::nearest::hint;
use super::parse;
use super::reader::Reader;

/// The endpoint of models that name none.
pub(super) struct Endpoint {
    pub(super) base_url: Option<String>,
    pub(super) api_key: Option<SecretString>,
    pub(super) given: bool,
}

impl Endpoint {
    /// Where it is.
    pub(super) fn url(&self) -> String {
        let usual = || Provider::OpenAi.usual_url().unwrap_or_default().to_owned();
        self.base_url.clone().unwrap_or_else(usual)
    }
}

/// Reads a `[models.NAME]`.
pub(super) fn read_model(
    read: &mut Reader<'_>,
    alias: &str,
    common: &Endpoint,
) -> Option<ModelConfig> {
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
    let embedding = read_embedding(read, alias, provider);
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
        embedding: embedding?,
        capabilities: if embedding? { vec![Capability::Embeddings] } else { capabilities },
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

/// What is said of answers, which embedding models do not give.
const OF_ANSWERS: [&str; 8] = [
    "temperature",
    "max_tokens",
    "top_p",
    "seed",
    "constrain",
    "capabilities",
    "cache_bytes",
    "fallback",
];

/// Whether it makes vectors of texts; then there is nothing to say of answers.
fn read_embedding(read: &mut Reader<'_>, alias: &str, provider: Option<Provider>) -> Option<bool> {
    let path = format!("models.{alias}.embedding");
    let embedding = read.required(&path, parse::switch)?;
    if !embedding {
        return Some(false);
    }
    if let Some(given) = read.given(&path)
        && provider.is_some_and(|found| found != Provider::OpenAi)
    {
        read.refuse(&path, given, "only OpenAI-compatible servers are asked for embeddings");
    }
    for setting in OF_ANSWERS {
        let path = format!("models.{alias}.{setting}");
        if let Some(given) = read.given(&path) {
            read.refuse(&path, given, "an embedding model does not answer; leave it out");
        }
    }
    Some(true)
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

/// A key.
pub(super) fn secret(text: &str) -> Result<SecretString, String> {
    parse::text(text).map(|text| SecretString::from(text.trim()))
}

/// An address to which paths are added.
pub(super) fn without_slash(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}
