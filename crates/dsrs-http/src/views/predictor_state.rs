//! The state of one predictor: its instruction, demos and settings.

use dsrs::predict::{DynPredictor, state_to_payload};
use dsrs::value::Payload;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::graph_definition::LmSettings;
use super::{Json, example};

/// The state of a predictor.
#[derive(ToSchema)]
pub struct PredictorState {
    /// The instruction; null for that of the signature.
    pub instruction: Option<String>,
    /// Worked examples.
    pub demos: Option<Vec<DemoView>>,
    /// LM settings, which override those of the node.
    pub lm: Option<LmSettings>,
    /// The choice of the demos of each call; without it, every call has all demos.
    pub nearest: Option<Nearest>,
    /// The rules of decisions, by output of a `decide` node: `{"threshold": …}` of a bool, `{"weights": {label: …}}` of an
    /// enum, `{"cuts": […]}` of a score. Decisions without a rule have the default.
    pub decisions: Option<IndexMap<String, DecisionRuleView>>,
}

/// How a decision follows from its probabilities: one of the three.
#[derive(ToSchema)]
#[schema(as = DecisionRule)]
#[serde(deny_unknown_fields)]
pub struct DecisionRuleView {
    /// A bool is true from this probability.
    #[schema(minimum = 0, maximum = 1)]
    pub threshold: Option<f64>,
    /// What the probability of an option is multiplied with before the highest is chosen; 1 where there is none.
    pub weights: Option<IndexMap<String, f64>>,
    /// The mean levels from which each level after the first counts, rising.
    pub cuts: Option<Vec<f64>>,
}

/// Chooses the demos of each call by the cosine similarity of their inputs to those of the call, the most
/// similar last.
#[derive(ToSchema)]
pub struct Nearest {
    /// The alias of the embedding model, for demos and calls.
    pub model: String,
    /// The number of demos per call.
    #[schema(minimum = 1)]
    pub k: u32,
    /// The length of a vector.
    #[schema(minimum = 1)]
    pub dimensions: u32,
    /// The vectors of all demos in order, as little-endian 32-bit floats in base64.
    #[schema(value_type = String, content_encoding = "base64")]
    pub vectors: String,
}

/// A worked example.
#[derive(ToSchema)]
#[schema(as = Demo)]
pub struct DemoView {
    /// Inputs by field.
    #[schema(value_type = Object)]
    pub input: Json,
    /// Outputs by field.
    #[schema(value_type = Object)]
    pub output: Json,
}

/// The state of a predictor, and the instruction that calls use.
#[derive(Serialize, ToSchema)]
#[schema(as = ShownPredictorState)]
pub struct PredictorStateView<'a> {
    /// The state.
    #[serde(flatten)]
    #[schema(value_type = PredictorState)]
    pub state: Payload,
    /// The instruction that calls use.
    pub effective_instruction: &'a str,
}

impl<'a> From<&'a dyn DynPredictor> for PredictorStateView<'a> {
    fn from(predictor: &'a dyn DynPredictor) -> Self {
        Self {
            state: state_to_payload(predictor.state()),
            effective_instruction: predictor.instruction(),
        }
    }
}

impl PredictorStateView<'static> {
    pub(super) fn example() -> Self {
        let state = json!({"instruction": example::INSTRUCTION, "demos": [example::demo()]});
        Self { state: example::payload(&state), effective_instruction: example::INSTRUCTION }
    }
}
