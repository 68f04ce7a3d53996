//! Strategies and their previews, as the OpenAPI document tells them.

use indexmap::IndexMap;
use utoipa::ToSchema;

use super::Json;
use super::signature::Signature;

/// A strategy of the registry.
#[derive(ToSchema)]
pub struct Strategy {
    /// The name that nodes use.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON Schema of its config.
    #[schema(value_type = Object)]
    pub config_schema: Json,
    /// Whether running it calls an LM.
    pub calls_lm: bool,
    /// The paths of its predictors.
    pub predictors: Vec<String>,
}

/// A page of strategies.
#[derive(ToSchema)]
pub struct StrategyPage {
    /// By name.
    pub items: Vec<Strategy>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// What to preview.
#[derive(ToSchema)]
pub struct PreviewRequest {
    /// A signature in one of its three spellings. Of an op its inputs say what would be connected,
    /// its outputs nothing.
    #[schema(value_type = Option<Object>)]
    pub signature: Option<Json>,
    /// What the signature may name.
    #[schema(value_type = Option<Object>)]
    pub types: Option<Json>,
    /// As the strategy's config schema says.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Json>,
}

/// What a strategy makes of a signature.
#[derive(ToSchema)]
pub struct PreviewAnswer {
    /// The transformed signature.
    pub schema: Signature,
    /// Each predictor inside, by path.
    pub predictors: IndexMap<String, PreviewedPredictor>,
}

/// One predictor of a preview.
#[derive(ToSchema)]
pub struct PreviewedPredictor {
    /// Its own signature.
    pub schema: Signature,
    /// Its system prompt.
    pub system: String,
}
