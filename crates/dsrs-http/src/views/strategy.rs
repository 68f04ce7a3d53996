//! Strategies and their previews.

use dsrs::signature::signature_to_payload;
use dsrs::strategy::StrategyFactory;
use dsrs::value::Payload;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::example_prompt::PROMPT;
use super::signature::SignatureView;
use super::{Json, PageView, SignatureNotation, TypeDefinitions, example};
use dsrs_app::{PredictorPreview, Preview};

/// A strategy of the registry.
#[derive(Serialize, ToSchema)]
#[schema(as = Strategy, examples(json!(StrategyView::example())))]
pub struct StrategyView {
    /// The name that nodes use.
    pub name: &'static str,
    /// The purpose of the strategy and when to use it.
    pub description: &'static str,
    /// The JSON Schema of its config.
    #[schema(value_type = Object)]
    pub config_schema: Payload,
    /// Whether it calls an LM.
    pub calls_lm: bool,
    /// The paths of its predictors.
    #[schema(value_type = Vec<String>)]
    pub predictors: &'static [&'static str],
}

impl From<&'static dyn StrategyFactory> for StrategyView {
    fn from(strategy: &'static dyn StrategyFactory) -> Self {
        Self {
            name: strategy.name(),
            description: strategy.description(),
            config_schema: strategy.config_schema(),
            calls_lm: strategy.calls_lm(),
            predictors: strategy.predictors(),
        }
    }
}

impl StrategyView {
    fn example() -> Self {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        Self {
            name: "predict",
            description: "Calls the LM once for the outputs of the signature.",
            config_schema: example::payload(&schema),
            calls_lm: true,
            predictors: &[""],
        }
    }
}

/// A page of strategies, by name.
pub type StrategyPage = PageView<StrategyView>;

/// A strategy and a signature to preview.
#[derive(ToSchema)]
pub struct PreviewRequest {
    /// A signature in one of its three spellings. For an op, the inputs stand for what would be
    /// connected, and the outputs are ignored.
    #[schema(value_type = Option<SignatureNotation>)]
    pub signature: Option<Json>,
    /// The types that the signature may name.
    #[schema(value_type = Option<TypeDefinitions>)]
    pub types: Option<Json>,
    /// The config, according to the strategy's config schema.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Json>,
}

/// A strategy applied to a signature.
#[derive(Serialize, ToSchema)]
#[schema(as = PreviewAnswer, examples(json!(PreviewView::example())))]
pub struct PreviewView<'a> {
    /// The transformed signature.
    #[schema(value_type = SignatureView)]
    pub schema: Payload,
    /// The predictors of the strategy, by path.
    #[schema(value_type = IndexMap<String, PredictorPreviewView>)]
    pub predictors: IndexMap<&'a str, PredictorPreviewView<'a>>,
}

impl<'a> From<&'a Preview> for PreviewView<'a> {
    fn from(preview: &'a Preview) -> Self {
        let predictors = preview.predictors.iter();
        let predictors = predictors.map(|(path, predictor)| (path.as_str(), predictor.into()));
        Self { schema: signature_to_payload(&preview.schema), predictors: predictors.collect() }
    }
}

impl PreviewView<'static> {
    fn example() -> Self {
        let schema = PROMPT.schema.clone();
        let predictor = PredictorPreviewView { schema: schema.clone(), system: &PROMPT.system };
        Self { schema, predictors: IndexMap::from([("", predictor)]) }
    }
}

/// A predictor of a preview.
#[derive(Serialize, ToSchema)]
#[schema(as = PreviewedPredictor)]
pub struct PredictorPreviewView<'a> {
    /// The signature of the predictor.
    #[schema(value_type = SignatureView)]
    pub schema: Payload,
    /// The system prompt of the predictor.
    pub system: &'a str,
}

impl<'a> From<&'a PredictorPreview> for PredictorPreviewView<'a> {
    fn from(preview: &'a PredictorPreview) -> Self {
        Self { schema: signature_to_payload(&preview.schema), system: &preview.system }
    }
}
