//! Builds the engine's models from the settings: one client per alias, with its time limit. Knows no
//! request.

pub(crate) mod endpoint_check;
mod limit_share;
pub(crate) mod native;
pub(crate) mod shared_limit;

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{
    Budget, ConstrainedDecoding, ConstraintForm, DeltaSink, Embedder, EmbeddingModel, Embeddings,
    Gate, GrammarField, HttpLimits, Lm, LmError, LmErrorKind, LmParams, LmReply, LmRequest,
    MaxTokensField, Model, Models, OpenAi, OpenAiConfig, OpenAiEmbedder, Prices, ReplyCache,
    RequestTrace, RunBudget,
};
use futures_util::future::{BoxFuture, FutureExt};
use secrecy::ExposeSecret;

use crate::model::native::native_model;
use dsrs_config::{
    CacheConfig, CacheMarks, Capability, Constrain as ConstrainSetting, DEFAULT_ALIAS, Limits,
    ModelConfig, ModelTable, Provider, TokenLimitField, TokenPrices,
};

/// A model whose settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("models.{alias}: {reason}")]
pub struct ModelError {
    alias: String,
    reason: String,
}

/// The configured models with the limits of their requests. Opens no connection yet.
///
/// # Errors
/// Names the first model whose address or key cannot be used.
pub fn engine_models(settings: &ModelTable, limits: &Limits) -> Result<Models, ModelError> {
    let of_kind =
        |is_embedding| settings.iter().filter(move |(_, model)| model.embedding == is_embedding);
    let models = of_kind(false).map(|(alias, model)| engine_model(alias, model));
    let models = models.collect::<Result<Vec<_>, _>>()?;
    let embedding = of_kind(true).map(|(alias, model)| embedding_model(alias, model));
    let embedding = embedding.collect::<Result<Vec<_>, _>>()?;
    let default = settings.default_alias().filter(|alias| *alias != DEFAULT_ALIAS);
    let (all, per_run) =
        (limits.max_concurrent_lm_requests, limits.max_concurrent_lm_requests_per_run);
    let models = Models::new(models, default.map(Arc::from)).with_embedding(embedding);
    Ok(models.limited(all, per_run))
}

/// The budget of each run, if there is one.
pub(crate) fn run_budget(limits: &Limits) -> Option<RunBudget> {
    let budget = Budget {
        lm_calls: limits.run_lm_calls.map(u64::from),
        tokens: limits.run_tokens.map(u64::from),
        cost: limits.run_cost,
        seconds: None,
    };
    (budget != Budget::default()).then_some(RunBudget { budget, prefix: "limits.run_" })
}

fn engine_model(alias: &str, settings: &ModelConfig) -> Result<Model, ModelError> {
    let lm: Arc<dyn Lm> = match settings.provider {
        Provider::OpenAi => Arc::new(openai(alias, settings)?),
        _ => native_model(settings)
            .map_err(|reason| ModelError { alias: alias.to_owned(), reason })?,
    };
    Ok(Model {
        alias: Arc::from(alias),
        model: Arc::from(settings.model.as_str()),
        lm: Arc::new(TimeLimitedLm { lm, timeout: settings.timeout }),
        params: LmParams {
            temperature: settings.temperature,
            max_tokens: settings.max_tokens,
            top_p: settings.top_p,
            seed: settings.seed,
            stop: None,
            reasoning_effort: settings.reasoning_effort,
            service_tier: settings.service_tier.as_deref().map(Arc::from),
            on_length: None,
            extra_body: settings.extra_body.clone(),
            extra_headers: settings.extra_headers.clone(),
        },
        prices: prices(&settings.prices),
        constrain: Arc::new(constrained_decoding(settings)),
        tools: settings.capabilities.contains(&Capability::Tools),
        logprobs: settings.capabilities.contains(&Capability::Logprobs),
        gate: settings.max_concurrent.map(Gate::of),
        cache: settings.cache.map(reply_cache),
        fallback: settings.fallback.iter().map(|alias| alias.as_str().into()).collect(),
    })
}

fn embedding_model(alias: &str, settings: &ModelConfig) -> Result<EmbeddingModel, ModelError> {
    let embedder = OpenAiEmbedder::new(&openai_config(settings))
        .map_err(|error| ModelError { alias: alias.to_owned(), reason: error.to_string() })?;
    let embedder = TimeLimitedEmbedder { embedder, timeout: settings.timeout };
    let prices = settings.prices.input.map(|input| Prices::of(input, 0.0));
    Ok(EmbeddingModel {
        model: Arc::from(settings.model.as_str()),
        prices,
        gate: settings.max_concurrent.map(Gate::of),
        ..EmbeddingModel::of(alias, Arc::new(embedder))
    })
}

fn reply_cache(settings: CacheConfig) -> Arc<ReplyCache> {
    Arc::new(ReplyCache::of(settings.bytes as u64, settings.ttl))
}

fn prices(prices: &TokenPrices) -> Option<Prices> {
    let known = Prices::of(prices.input?, prices.output?);
    Some(Prices { cached_input: prices.cached_input, cache_write: prices.cache_write, ..known })
}

fn constrained_decoding(settings: &ModelConfig) -> ConstrainedDecoding {
    match settings.constrain {
        ConstrainSetting::Auto => ConstrainedDecoding::measured(best_form(&settings.capabilities)),
        ConstrainSetting::None => ConstrainedDecoding::to(None),
        ConstrainSetting::Gbnf => ConstrainedDecoding::to(Some(ConstraintForm::Gbnf)),
        ConstrainSetting::JsonSchema => ConstrainedDecoding::to(Some(ConstraintForm::JsonSchema)),
    }
}

/// A grammar where the settings say that the endpoint has grammars: it also constrains the layout.
fn best_form(capabilities: &[Capability]) -> ConstraintForm {
    let has_grammar = capabilities.iter().any(|capability| {
        matches!(
            capability,
            Capability::Grammar | Capability::GuidedGrammar | Capability::StructuredOutputs
        )
    });
    if has_grammar { ConstraintForm::Gbnf } else { ConstraintForm::JsonSchema }
}

/// The request member for a grammar: that of llama.cpp, unless the capabilities name another.
fn grammar_field(capabilities: &[Capability]) -> GrammarField {
    let has = |capability| capabilities.contains(&capability);
    if has(Capability::StructuredOutputs) {
        GrammarField::StructuredOutputs
    } else if has(Capability::GuidedGrammar) && !has(Capability::Grammar) {
        GrammarField::GuidedGrammar
    } else {
        GrammarField::Grammar
    }
}

fn openai(alias: &str, settings: &ModelConfig) -> Result<OpenAi, ModelError> {
    OpenAi::new(openai_config(settings))
        .map_err(|error| ModelError { alias: alias.to_owned(), reason: error.to_string() })
}

fn openai_config(settings: &ModelConfig) -> OpenAiConfig {
    let connections = settings.max_connections as usize;
    OpenAiConfig {
        api_key: settings.api_key.as_ref().map(|key| key.expose_secret().to_owned()),
        grammar_field: grammar_field(&settings.capabilities),
        max_tokens_field: match settings.max_tokens_field {
            TokenLimitField::Auto => MaxTokensField::MaxTokens,
            TokenLimitField::MaxCompletionTokens => MaxTokensField::MaxCompletionTokens,
        },
        marks_prefix: settings.cache_marks == CacheMarks::On,
        http: HttpLimits { connections, ..HttpLimits::default() },
        ..OpenAiConfig::new(settings.base_url.as_str(), settings.model.as_str())
    }
}

/// Limits the time of each request to a model.
struct TimeLimitedLm {
    lm: Arc<dyn Lm>,
    timeout: Duration,
}

impl Lm for TimeLimitedLm {
    fn complete<'a>(
        &'a self,
        request: &'a LmRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        let limited = tokio::time::timeout(self.timeout, self.lm.complete(request, deltas));
        limited.map(|done| done.unwrap_or_else(|_| Err(too_slow(self.timeout)))).boxed()
    }
}

/// Limits the time of each request to an embedding model.
struct TimeLimitedEmbedder {
    embedder: OpenAiEmbedder,
    timeout: Duration,
}

impl Embedder for TimeLimitedEmbedder {
    fn embed<'a>(
        &'a self,
        texts: &'a [Arc<str>],
        trace: Option<&'a RequestTrace>,
    ) -> BoxFuture<'a, Result<Embeddings, LmError>> {
        let limited = tokio::time::timeout(self.timeout, self.embedder.embed(texts, trace));
        limited.map(|done| done.unwrap_or_else(|_| Err(too_slow(self.timeout)))).boxed()
    }
}

fn too_slow(timeout: Duration) -> LmError {
    LmError {
        kind: LmErrorKind::Timeout,
        message: format!("no answer within {} ms (the model's timeout_ms)", timeout.as_millis()),
        status: None,
        retry_after: None,
    }
}
