//! Predictors and their rendered messages.

use dsrs::lm;
use dsrs::predict::DynPredictor;
use dsrs::signature::signature_to_payload;
use dsrs::value::Payload;
use indexmap::IndexMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::example_prompt::PROMPT;
use super::predictor_state::PredictorStateView;
use super::signature::SignatureView;
use super::trace::MessageView;
use super::{Json, PageView, PredictorPatch};

/// A predictor of a graph.
#[derive(Serialize, ToSchema)]
#[schema(as = Predictor, examples(json!(PredictorView::example())))]
pub struct PredictorView<'a> {
    /// The path: the name of the node, then the path in its strategy.
    pub path: &'a str,
    /// The node.
    pub node: &'a str,
    /// The fields, including those that the strategy adds.
    #[schema(value_type = SignatureView)]
    pub schema: Payload,
    /// The state, and the instruction that calls use.
    #[serde(flatten)]
    pub state: PredictorStateView<'a>,
}

impl<'a> PredictorView<'a> {
    pub(crate) fn new(path: &'a str, predictor: &'a dyn DynPredictor) -> Self {
        Self {
            path,
            node: path.split('.').next().unwrap_or(path),
            schema: signature_to_payload(predictor.schema()),
            state: predictor.into(),
        }
    }
}

impl PredictorView<'static> {
    fn example() -> Self {
        Self {
            path: "triage",
            node: "triage",
            schema: PROMPT.schema.clone(),
            state: PredictorStateView::example(),
        }
    }
}

/// A page of predictors, in the order of the graph.
pub type PredictorPage = PageView<PredictorView<'static>>;

/// The node to render, with its inputs.
#[derive(ToSchema)]
pub struct RenderRequest {
    /// The inputs of the node.
    #[schema(value_type = Object)]
    pub inputs: Json,
    /// The node.
    pub node: String,
    /// The graph version. Default: the newest.
    pub version: Option<i32>,
    /// The state version. Default: the active one.
    pub state_version: Option<i32>,
    /// Changes of the state that are not stored, by predictor path. Each replaces the members that it contains,
    /// like the body of `PATCH …/predictors/{path}`.
    pub predictors: Option<IndexMap<String, PredictorPatch>>,
}

/// The messages of a node.
#[derive(Serialize, ToSchema)]
#[schema(as = Rendered, examples(json!(RenderedView::example())))]
pub struct RenderedView<'a> {
    /// By predictor path.
    #[schema(value_type = IndexMap<String, RenderedMessagesView>)]
    pub predictors: IndexMap<&'a str, RenderedMessagesView<'a>>,
}

impl<'a> From<&'a IndexMap<String, Vec<lm::Message>>> for RenderedView<'a> {
    fn from(rendered: &'a IndexMap<String, Vec<lm::Message>>) -> Self {
        let view = |messages| RenderedMessagesView { messages };
        let predictors = rendered.iter().map(|(path, messages)| (path.as_str(), view(messages)));
        Self { predictors: predictors.collect() }
    }
}

impl RenderedView<'static> {
    fn example() -> Self {
        let messages = RenderedMessagesView { messages: &PROMPT.messages };
        Self { predictors: IndexMap::from([("triage", messages)]) }
    }
}

/// The messages of one predictor.
#[derive(Serialize, ToSchema)]
#[schema(as = RenderedMessages)]
pub struct RenderedMessagesView<'a> {
    /// In the order of the request.
    #[schema(value_type = Vec<MessageView>)]
    pub messages: &'a [lm::Message],
}
