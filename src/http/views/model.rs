//! Configured models.

use serde::Serialize;
use utoipa::ToSchema;

use super::PageView;
use crate::config::ModelConfig;

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
    /// What the endpoint supports besides plain chat. `embeddings` marks an embedding model, which
    /// does not chat.
    #[schema(value_type = Vec<String>)]
    pub capabilities: Vec<&'static str>,
    /// How answers are constrained: `none`, `gbnf` or `json_schema`.
    pub constrain: &'static str,
    /// The aliases to use instead if the model fails permanently, in order.
    pub fallback: &'a [String],
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
            constrain: "none",
            fallback: &[],
        }
    }
}

/// A page of models, in configured order.
pub type ModelPage = PageView<ModelView<'static>>;
