//! Predictors and their rendered messages, as the OpenAPI document tells them.

use indexmap::IndexMap;
use utoipa::ToSchema;

use super::Json;
use super::signature::Signature;
use super::state::ShownPredictorState;
use super::trace::Message;

/// A predictor of a graph.
#[derive(ToSchema)]
pub struct Predictor {
    /// Its path: the node's name, then the strategy's own path.
    pub path: String,
    /// The node.
    pub node: String,
    /// Its fields, those that its strategy adds included.
    pub schema: Signature,
    /// What is tuned, and the instruction that calls use.
    #[serde(flatten)]
    pub state: ShownPredictorState,
}

/// A page of predictors.
#[derive(ToSchema)]
pub struct PredictorPage {
    /// In the graph's order.
    pub items: Vec<Predictor>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// What to render.
#[derive(ToSchema)]
pub struct RenderRequest {
    /// The node's inputs.
    #[schema(value_type = Object)]
    pub inputs: Json,
    /// The node.
    pub node: String,
    /// A graph version other than the newest.
    pub version: Option<i32>,
    /// A state version other than the one in force.
    pub state_version: Option<i32>,
}

/// Messages by predictor path.
#[derive(ToSchema)]
pub struct Rendered {
    /// By path.
    pub predictors: IndexMap<String, RenderedMessages>,
}

/// The messages of one predictor.
#[derive(ToSchema)]
pub struct RenderedMessages {
    /// In the order in which they are sent.
    pub messages: Vec<Message>,
}
