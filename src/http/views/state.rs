//! Predictor states, their versions, differences and activations.

use chrono::{DateTime, Utc};
use dsrs::predict::{DynPredictor, state_to_payload};
use dsrs::value::Payload;
use indexmap::IndexMap;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::graph::LmSettings;
use super::time::timestamp;
use super::{Json, Page};
use crate::app;
use crate::store::state;
use crate::store::state_activation::ActivationItem;

/// The state of a predictor.
#[derive(ToSchema)]
pub struct PredictorState {
    /// The instruction; null for that of the signature.
    pub instruction: Option<String>,
    /// Worked examples.
    pub demos: Option<Vec<Demo>>,
    /// LM settings, which override those of the node.
    pub lm: Option<LmSettings>,
    /// How to choose the demos of each call; without it, every call has all demos.
    pub nearest: Option<Nearest>,
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
pub struct Demo {
    /// Inputs by field.
    #[schema(value_type = Object)]
    pub input: Json,
    /// Outputs by field.
    #[schema(value_type = Object)]
    pub output: Json,
}

/// A predictor state to activate, in one of two formats.
#[derive(ToSchema)]
#[serde(untagged)]
pub enum PutState {
    /// As a GET answers it.
    Own(PutOwnState),
    /// A file of DSPy.
    Dspy(PutDspyState),
}

/// A file that `program.save("x.json")` of DSPy wrote, to activate.
#[derive(ToSchema)]
pub struct PutDspyState {
    /// `dspy`.
    #[schema(value_type = String, pattern = "^dspy$")]
    pub format: String,
    /// The file.
    #[schema(value_type = Object)]
    pub state: Json,
}

/// A predictor state to activate.
#[derive(ToSchema)]
pub struct PutOwnState {
    /// By path. Predictors that are left out have their defaults.
    pub predictors: IndexMap<String, PredictorState>,
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

/// A predictor state.
#[derive(Serialize, ToSchema)]
#[schema(as = State)]
pub struct StateView<'a> {
    /// The number of the state version.
    pub version: i32,
    /// The graph version to which it belongs.
    pub graph_version: i32,
    /// All predictors by path.
    pub predictors: IndexMap<String, PredictorStateView<'a>>,
    /// When it was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The client that created it.
    pub created_by: &'a str,
    /// The author: a client or an optimization.
    pub author: AuthorView<'a>,
    /// The state version that it was derived from.
    pub parent: Option<i32>,
    /// Its measured score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The content hash of the data on which the score was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset_hash: Option<&'a str>,
}

impl<'a> From<&'a app::StateVersion> for StateView<'a> {
    fn from(state: &'a app::StateVersion) -> Self {
        let row = &state.row;
        let predictors = state.program.predictors().into_iter();
        Self {
            version: row.version,
            graph_version: row.graph_version,
            predictors: predictors.map(|(path, predictor)| (path, predictor.into())).collect(),
            created_at: row.created_at,
            created_by: &row.created_by,
            author: AuthorView::new(&row.created_by, row.optimization),
            parent: row.parent,
            score: row.score,
            dataset_hash: row.dataset_hash.as_deref(),
        }
    }
}

/// An entry in the list of state versions.
#[derive(Serialize, ToSchema)]
#[schema(as = StateItem)]
pub struct StateItemView<'a> {
    /// The number of the state version.
    pub version: i32,
    /// The graph version to which it belongs.
    pub graph_version: i32,
    /// Whether it is active for that graph version.
    pub in_force: bool,
    /// When it was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The client that created it.
    pub created_by: &'a str,
    /// The author: a client or an optimization.
    pub author: AuthorView<'a>,
    /// The state version that it was derived from.
    pub parent: Option<i32>,
    /// Its measured score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The content hash of the data on which the score was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset_hash: Option<&'a str>,
}

impl<'a> From<&'a state::StateSummaryRow> for StateItemView<'a> {
    fn from(item: &'a state::StateSummaryRow) -> Self {
        Self {
            version: item.version,
            graph_version: item.graph_version,
            in_force: item.in_force,
            created_at: item.created_at,
            created_by: &item.created_by,
            author: AuthorView::new(&item.created_by, item.optimization),
            parent: item.parent,
            score: item.score,
            dataset_hash: item.dataset_hash.as_deref(),
        }
    }
}

/// A page of state versions, newest first.
pub type StatePage = Page<StateItemView<'static>>;

/// The active state after a request.
#[derive(Serialize, ToSchema)]
#[schema(as = StatePut)]
pub struct StatePutView<'a> {
    /// The state.
    #[serde(flatten)]
    pub state: StateView<'a>,
    /// For a file of DSPy: JSON Pointers into the request to the members that have no meaning here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored: Option<&'a [String]>,
}

/// The author of a state or an activation.
#[derive(Serialize, ToSchema)]
#[schema(as = Author)]
pub struct AuthorView<'a> {
    /// `client` or `optimization`.
    #[schema(value_type = String, example = "client", pattern = "^(client|optimization)$")]
    pub kind: &'static str,
    /// For a client: the name of its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// For an optimization: its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub id: Option<Uuid>,
}

impl<'a> AuthorView<'a> {
    fn new(created_by: &'a str, optimization: Option<Uuid>) -> Self {
        match optimization {
            Some(_) => Self { kind: "optimization", name: None, id: optimization },
            None => Self { kind: "client", name: Some(created_by), id: None },
        }
    }
}

/// An activated predictor state.
#[derive(Serialize, ToSchema)]
#[schema(as = ActivatedState)]
pub struct ActivatedStateView<'a> {
    /// The state.
    #[serde(flatten)]
    pub state: StateView<'a>,
    /// The effect of the activation.
    pub activation: StateMoveView,
}

/// The effect of an activation.
#[derive(Serialize, ToSchema)]
#[schema(as = StateMove)]
pub struct StateMoveView {
    /// The graph version of the state.
    pub graph_version: i32,
    /// Whether that is the newest one, which runs use by default.
    pub newest: bool,
    /// The previously active state version.
    pub from: i32,
    /// The active state version. If it equals `from`, nothing changed.
    pub to: i32,
}

impl<'a> From<&'a app::StateActivation> for ActivatedStateView<'a> {
    fn from(activation: &'a app::StateActivation) -> Self {
        let row = &activation.view.row;
        let (from, to) = (activation.before, row.version);
        let effect =
            StateMoveView { graph_version: row.graph_version, newest: activation.newest, from, to };
        Self { state: (&activation.view).into(), activation: effect }
    }
}

/// An entry in the list of activations.
#[derive(Serialize, ToSchema)]
#[schema(as = Activation)]
pub struct ActivationView<'a> {
    /// The graph version of the state.
    pub graph_version: i32,
    /// The previously active state version; null if the graph version was new.
    pub from: Option<i32>,
    /// The activated state version.
    pub to: i32,
    /// When it was activated.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The client that activated it, or that started the optimization.
    pub created_by: &'a str,
    /// The author: a client or an optimization.
    pub author: AuthorView<'a>,
}

impl<'a> From<&'a ActivationItem> for ActivationView<'a> {
    fn from(item: &'a ActivationItem) -> Self {
        Self {
            graph_version: item.graph_version,
            from: item.before,
            to: item.state_version,
            created_at: item.created_at,
            created_by: &item.created_by,
            author: AuthorView::new(&item.created_by, item.optimization),
        }
    }
}

/// A page of activations, newest first.
pub type ActivationPage = Page<ActivationView<'static>>;

/// The difference between two state versions.
#[derive(Serialize, ToSchema)]
#[schema(as = StateDiff)]
pub struct StateDiffView {
    /// The state version that the difference starts from.
    pub from: i32,
    /// The state version that it leads to.
    pub to: i32,
    /// Their graph versions.
    pub graph_versions: FromToView,
    /// The predictors that differ, by path.
    #[schema(value_type = IndexMap<String, PredictorDiff>)]
    pub predictors: Payload,
    /// The same for people: one line per change, with `+`, `-` or `~` in front.
    pub text: String,
}

impl From<&app::StateComparison> for StateDiffView {
    fn from(found: &app::StateComparison) -> Self {
        let (from, to) = (found.from.graph_version, found.to.graph_version);
        Self {
            from: found.from.version,
            to: found.to.version,
            graph_versions: FromToView { from, to },
            predictors: found.diff.to_payload(),
            text: found.diff.text(),
        }
    }
}

/// The start and the end of a difference.
#[derive(Serialize, ToSchema)]
#[schema(as = FromTo)]
pub struct FromToView {
    /// The start.
    pub from: i32,
    /// The end.
    pub to: i32,
}

/// The difference in one predictor.
#[derive(ToSchema)]
pub struct PredictorDiff {
    /// Whether both graph versions have the predictor, only the new one, or only the old one.
    #[schema(value_type = String, example = "changed", pattern = "^(changed|added|removed)$")]
    pub change: String,
    /// The instruction, if it differs.
    pub instruction: Option<InstructionDiff>,
    /// The steps from the old demos to the new ones, if they differ.
    pub demos: Option<Vec<DemoDiff>>,
    /// The LM settings that differ, by name.
    pub lm: Option<IndexMap<String, BeforeAfter>>,
    /// How the demos of each call are chosen, if it differs: `model`, `k`, the number of `demos`,
    /// `dimensions`, and in `vectors` the first digits of a hash.
    pub nearest: Option<BeforeAfter>,
}

/// An instruction before and after.
#[derive(ToSchema)]
pub struct InstructionDiff {
    /// The previous override; null for the instruction of the signature.
    pub before: Option<String>,
    /// The new override.
    pub after: Option<String>,
    /// What calls used; null if there was no such predictor.
    pub effective_before: Option<String>,
    /// What calls use now.
    pub effective_after: Option<String>,
}

/// A step from the old demos to the new ones.
#[derive(ToSchema)]
pub struct DemoDiff {
    /// `removed`, `added`, `moved` or `changed`.
    #[schema(value_type = String, example = "changed", pattern = "^(removed|added|moved|changed)$")]
    pub change: String,
    /// The position in the old list, from 0; absent for an added demo.
    pub from: Option<u32>,
    /// The position in the new list, from 0; absent for a removed demo.
    pub to: Option<u32>,
    /// The demo that was added or removed.
    pub demo: Option<Demo>,
    /// The values that differ.
    pub fields: Option<Vec<DemoFieldDiff>>,
}

/// A value of a demo before and after.
#[derive(ToSchema)]
pub struct DemoFieldDiff {
    /// `input.` or `output.`, and the field.
    pub field: String,
    /// The value before and after.
    #[serde(flatten)]
    pub value: BeforeAfter,
}

/// A value before and after; absent where there is none.
#[derive(ToSchema)]
pub struct BeforeAfter {
    /// The value before.
    pub before: Option<Json>,
    /// The value after.
    pub after: Option<Json>,
}
