//! The models of the settings, all together: the common endpoint, the aliases, what `default` is.

use super::endpoint::{Constrain, Provider};
use super::fallback::check_fallbacks;
use super::models::{DEFAULT_ALIAS, ModelConfig, Models};
use super::nearest::hint;
use super::parse;
use super::read_model::{Endpoint, read_model, secret, without_slash};
use super::reader::Reader;

/// Reads every `[models.NAME]` and decides what `default` is.
pub(super) fn read_models(read: &mut Reader<'_>) -> Option<Models> {
    let endpoint = read_endpoint(read);
    let mut models = Models::default();
    for alias in read.layers.aliases() {
        check_alias(read, &alias);
        if let Some(model) = read_model(read, &alias, &endpoint) {
            models.add(alias, model);
        }
    }
    check_fallbacks(read, &models);
    let default = match read.optional("default_model", parse::text) {
        Some(alias) if alias != DEFAULT_ALIAS => Some(known_alias(read, &models, alias)?),
        _ => unnamed_default(read, &mut models, endpoint),
    };
    check_default(read, &models, default.as_deref());
    Some(models.with_default(default))
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

/// `default_model` as given, which must be one of the models.
fn known_alias(read: &mut Reader<'_>, models: &Models, alias: String) -> Option<String> {
    if models.own(&alias).is_some() {
        return Some(alias);
    }
    let given = read.given("default_model")?;
    // A model that is itself wrong has been told already.
    if !read.layers.aliases().contains(&alias) {
        let hint = hint(&alias, models.iter().map(|(alias, _)| alias));
        read.refuse("default_model", given, &format!("no model has this alias{hint}"));
    }
    None
}

/// Refuses a default that cannot answer.
fn check_default(read: &mut Reader<'_>, models: &Models, default: Option<&str>) {
    let Some(alias) = default else { return };
    if models.own(alias).is_some_and(|model| model.embedding) {
        read.problems.push(format!(
            "models.{alias} is an embedding model and what `default` stands for; set default_model to \
             one that answers"
        ));
    }
}

/// What `default` is when nobody says: `[models.default]`, else the only model that answers, else
/// one made from the common endpoint, else nothing.
fn unnamed_default(
    read: &mut Reader<'_>,
    models: &mut Models,
    endpoint: Endpoint,
) -> Option<String> {
    if models.own(DEFAULT_ALIAS).is_some() {
        return Some(DEFAULT_ALIAS.to_owned());
    }
    if let Some(only) = only_alias(models) {
        return Some(only.to_owned());
    }
    if !endpoint.given {
        return None;
    }
    let model = read.required("model", parse::text)?;
    models.add(DEFAULT_ALIAS.to_owned(), implicit(read, model, endpoint)?);
    Some(DEFAULT_ALIAS.to_owned())
}

fn only_alias(models: &Models) -> Option<&str> {
    let mut aliases = models.iter().filter(|(_, model)| !model.embedding).map(|(alias, _)| alias);
    let first = aliases.next()?;
    aliases.next().is_none().then_some(first)
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
        embedding: false,
        capabilities: Vec::new(),
        constrain: Constrain::None,
        input_price: None,
        output_price: None,
    })
}
