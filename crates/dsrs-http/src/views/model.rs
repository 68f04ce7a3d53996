//! Configured models.

use dsrs::lm::ReasoningEffort;
use serde::Serialize;
use utoipa::ToSchema;

use super::PageView;
use dsrs_config::{ModelConfig, TokenPrices};

/// A configured model.
#[derive(Serialize, ToSchema)]
#[schema(as = Model, examples(json!(ModelView::example())))]
pub struct ModelView<'a> {
    /// The alias that nodes use.
    pub name: &'a str,
    /// The protocol of its endpoint.
    pub provider: &'static str,
    /// The provider's name of the model.
    pub model: &'a str,
    /// Whether it is the default model.
    pub default: bool,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The maximum number of tokens of an answer.
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling seed.
    pub seed: Option<i64>,
    /// The capabilities of the endpoint besides plain chat. `embeddings` marks an embedding model, which
    /// does not chat.
    #[schema(value_type = Vec<String>)]
    pub capabilities: Vec<&'static str>,
    /// The way in which answers are constrained: `auto`, `none`, `gbnf` or `json_schema`.
    pub constrain: &'static str,
    /// The effort of a reasoning model, unless a node says otherwise.
    pub reasoning_effort: Option<ReasoningEffortView>,
    /// The longest input in tokens, if it is known.
    pub context_tokens: Option<u32>,
    /// The longest answer in tokens, if it is known.
    pub output_tokens: Option<u32>,
    /// Prices of a million tokens, if they are known.
    pub prices: Option<ModelPrices>,
    /// The aliases to use instead if the model fails permanently, in order.
    pub fallback: &'a [String],
}

/// Prices of a million tokens.
#[derive(Serialize, ToSchema)]
pub struct ModelPrices {
    /// Input tokens.
    pub input: f64,
    /// Output tokens, those of reasoning included.
    pub output: Option<f64>,
    /// Input tokens that the provider reads from its cache.
    pub cached_input: Option<f64>,
    /// Input tokens that the provider writes to its cache.
    pub cache_write: Option<f64>,
}

impl ModelPrices {
    fn of(prices: &TokenPrices) -> Option<Self> {
        let TokenPrices { input, output, cached_input, cache_write } = *prices;
        Some(Self { input: input?, output, cached_input, cache_write })
    }
}

/// The effort of a reasoning model: a word, or a number of tokens.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ReasoningEffort)]
pub enum ReasoningEffortView {
    /// A word.
    #[schema(title = "ReasoningEffortWord")]
    Word(&'static str),
    /// The most tokens of reasoning.
    #[schema(title = "ReasoningEffortTokens")]
    Tokens(u32),
}

impl From<ReasoningEffort> for ReasoningEffortView {
    fn from(effort: ReasoningEffort) -> Self {
        match effort {
            ReasoningEffort::Tokens(tokens) => Self::Tokens(tokens),
            word => Self::Word(word.word()),
        }
    }
}

impl<'a> ModelView<'a> {
    pub(crate) fn new(alias: &'a str, model: &'a ModelConfig, is_default: bool) -> Self {
        Self {
            name: alias,
            provider: model.provider.as_str(),
            model: &model.model,
            default: is_default,
            temperature: model.temperature,
            max_tokens: model.max_tokens,
            top_p: model.top_p,
            seed: model.seed,
            capabilities: model.capabilities.iter().map(|found| found.as_str()).collect(),
            constrain: model.constrain.as_str(),
            reasoning_effort: model.reasoning_effort.map(Into::into),
            context_tokens: model.limits.context,
            output_tokens: model.limits.output,
            prices: ModelPrices::of(&model.prices),
            fallback: &model.fallback,
        }
    }
}

impl ModelView<'static> {
    fn example() -> Self {
        Self {
            name: "default",
            provider: "openai",
            model: "gpt-4o-mini",
            default: true,
            temperature: Some(0.2),
            max_tokens: Some(400),
            top_p: None,
            seed: None,
            capabilities: Vec::new(),
            constrain: "auto",
            reasoning_effort: None,
            context_tokens: Some(128_000),
            output_tokens: Some(16_384),
            prices: Some(ModelPrices {
                input: 0.15,
                output: Some(0.6),
                cached_input: Some(0.075),
                cache_write: None,
            }),
            fallback: &[],
        }
    }
}

/// A page of models, in configured order.
pub type ModelPage = PageView<ModelView<'static>>;
