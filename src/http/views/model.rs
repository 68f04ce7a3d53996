//! Configured models, as the OpenAPI document tells them.

use utoipa::ToSchema;

/// A configured model.
#[derive(ToSchema)]
pub struct Model {
    /// The alias that nodes use.
    pub name: String,
    /// The protocol of its endpoint.
    pub provider: String,
    /// The provider's name for it.
    pub model: String,
    /// Whether the alias `default` stands for it.
    pub default: bool,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The most tokens to answer with.
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling seed.
    pub seed: Option<i64>,
    /// What the endpoint can do beyond plain chat; `embeddings` of a model that makes vectors of
    /// texts and does not chat.
    pub capabilities: Vec<String>,
    /// What the endpoint holds answers to while it writes them: `none`, `gbnf` or `json_schema`.
    pub constrain: String,
    /// The aliases that are asked, in order, when it fails for good.
    pub fallback: Vec<String>,
}

/// A page of models.
#[derive(ToSchema)]
pub struct ModelPage {
    /// In configured order.
    pub items: Vec<Model>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}
