//! All models of the settings: the shared endpoint, the aliases, and the target of `default`.

use std::path::Path;

use super::endpoint::Provider;
use super::fallback::check_fallbacks;
use super::model_data::{ModelData, TokenLimits, TokenPrices};
use super::models::{DEFAULT_ALIAS, ModelConfig, ModelTable};
use super::nearest::hint;
use super::read_model::{SharedEndpoint, read_model};
use super::reader::SettingReader;
use super::settings::{DefaultModelSettings, ModelSettings, OpenAiSettings};

/// Reads every `[models.NAME]` and determines the target of `default`.
pub(super) fn read_models(read: &mut SettingReader<'_>) -> Option<ModelTable> {
    let endpoint = SharedEndpoint::of(OpenAiSettings::read(read, "")?);
    let settings = DefaultModelSettings::read(read, "")?;
    let data = read_data(read, settings.model_data.as_deref());
    let mut models = ModelTable::default();
    for alias in read.layers.aliases() {
        check_alias(read, &alias);
        if let Some(model) = read_model(read, &alias, &endpoint) {
            models.add(alias, model.with_data(&data));
        }
    }
    check_fallbacks(read, &models);
    let default = match settings.default_model {
        Some(alias) if alias != DEFAULT_ALIAS => Some(known_alias(read, &models, alias)?),
        _ => unnamed_default(read, &mut models, settings.model, endpoint, &data),
    };
    check_default(read, &models, default.as_deref());
    Some(models.with_default(default))
}

/// The table of known models.
fn read_data(read: &mut SettingReader<'_>, path: Option<&Path>) -> ModelData {
    let Some(path) = path else { return ModelData::built_in() };
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    text.and_then(|text| ModelData::read(&text)).unwrap_or_else(|reason| {
        read.problems.push(format!("model_data: cannot read {}: {reason}", path.display()));
        ModelData::default()
    })
}

fn check_alias(read: &mut SettingReader<'_>, alias: &str) {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if alias.len() > 63
        || !alias.starts_with(|c: char| c.is_ascii_alphanumeric())
        || !alias.chars().all(fits)
    {
        read.problems.push(format!(
            "models.{alias}: an alias has up to 63 letters, digits, \"_\", \"-\" and \".\", and begins with a letter or digit"
        ));
    }
}

/// `default_model`, which must be one of the models.
fn known_alias(read: &mut SettingReader<'_>, models: &ModelTable, alias: String) -> Option<String> {
    if models.own(&alias).is_some() {
        return Some(alias);
    }
    let given = read.given("default_model")?;
    // A model with a problem of its own is already reported.
    if !read.layers.aliases().contains(&alias) {
        let hint = hint(&alias, models.iter().map(|(alias, _)| alias));
        read.refuse("default_model", given, &format!("no model has this alias{hint}"));
    }
    None
}

/// Refuses a default that cannot answer.
fn check_default(read: &mut SettingReader<'_>, models: &ModelTable, default: Option<&str>) {
    let Some(alias) = default else { return };
    if models.own(alias).is_some_and(|model| model.embedding) {
        read.problems.push(format!(
            "models.{alias} is an embedding model and cannot be `default`; set default_model to a \
             model that answers"
        ));
    }
}

/// The target of `default` if `default_model` is not set: `[models.default]`, else the only model
/// that answers, else a model made from the shared endpoint, else nothing.
fn unnamed_default(
    read: &mut SettingReader<'_>,
    models: &mut ModelTable,
    model: Option<String>,
    endpoint: SharedEndpoint,
    data: &ModelData,
) -> Option<String> {
    if models.own(DEFAULT_ALIAS).is_some() {
        return Some(DEFAULT_ALIAS.to_owned());
    }
    if let Some(only) = only_alias(models) {
        return Some(only.to_owned());
    }
    if !endpoint.is_configured {
        return None;
    }
    let model = implicit_model(read, model?, endpoint)?;
    models.add(DEFAULT_ALIAS.to_owned(), model.with_data(data));
    Some(DEFAULT_ALIAS.to_owned())
}

fn only_alias(models: &ModelTable) -> Option<&str> {
    let mut aliases = models.iter().filter(|(_, model)| !model.embedding).map(|(alias, _)| alias);
    let first = aliases.next()?;
    aliases.next().is_none().then_some(first)
}

fn implicit_model(
    read: &mut SettingReader<'_>,
    model: String,
    endpoint: SharedEndpoint,
) -> Option<ModelConfig> {
    let defaults = ModelSettings::read(read, DEFAULT_ALIAS)?;
    Some(ModelConfig {
        provider: Provider::OpenAi,
        base_url: endpoint.url(),
        model,
        api_key: endpoint.api_key,
        temperature: None,
        max_tokens: None,
        top_p: None,
        seed: None,
        timeout: defaults.timeout?,
        max_connections: defaults.max_connections?,
        max_concurrent: None,
        fallback: Vec::new(),
        cache: None,
        embedding: false,
        capabilities: Vec::new(),
        constrain: defaults.constrain?,
        reasoning_effort: None,
        service_tier: None,
        extra_body: None,
        extra_headers: None,
        max_tokens_field: defaults.max_tokens_field?,
        cache_marks: defaults.cache_marks?,
        prices: TokenPrices::default(),
        limits: TokenLimits::default(),
    })
}
