//! Predictor states, their versions and differences, as the OpenAPI document tells them.

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use utoipa::ToSchema;

use super::Json;
use super::graph::LmSettings;

/// What is tuned in one predictor.
#[derive(ToSchema)]
pub struct PredictorState {
    /// Null means the signature's own.
    pub instruction: Option<String>,
    /// Worked examples.
    pub demos: Option<Vec<Demo>>,
    /// LM settings that stand over the node's.
    pub lm: Option<LmSettings>,
    /// How the demos of each call are chosen; null or absent, and every call is shown all of them.
    pub nearest: Option<Nearest>,
}

/// Demos that are chosen for each call: those whose inputs are nearest to the call's, by the cosine
/// of their vectors, the nearest last.
#[derive(ToSchema)]
pub struct Nearest {
    /// The alias of the embedding model that made the vectors; it makes those of calls.
    pub model: String,
    /// How many demos a call is shown.
    #[schema(minimum = 1)]
    pub k: u32,
    /// How many numbers a vector has.
    #[schema(minimum = 1)]
    pub dimensions: u32,
    /// One vector for each demo's inputs, one after the other, as little-endian 32-bit floats in base64.
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

/// A predictor state to put in force, in one of two forms.
#[derive(ToSchema)]
#[serde(untagged)]
pub enum PutState {
    /// As it is read.
    Own(PutOwnState),
    /// A file of DSPy's.
    Dspy(PutDspyState),
}

/// A file that DSPy's `program.save("x.json")` wrote, to put in force.
#[derive(ToSchema)]
pub struct PutDspyState {
    /// `dspy`.
    #[schema(value_type = String, pattern = "^dspy$")]
    pub format: String,
    /// The file.
    #[schema(value_type = Object)]
    pub state: Json,
}

/// A predictor state to put in force.
#[derive(ToSchema)]
pub struct PutOwnState {
    /// By path; paths left out go back to their defaults.
    pub predictors: IndexMap<String, PredictorState>,
}

/// One predictor's member of a state.
#[derive(ToSchema)]
pub struct ShownPredictorState {
    /// What is tuned.
    #[serde(flatten)]
    pub state: PredictorState,
    /// The instruction that calls use.
    pub effective_instruction: String,
}

/// A predictor state.
#[derive(ToSchema)]
pub struct State {
    /// Its number within the graph.
    pub version: i32,
    /// The graph version that it fits.
    pub graph_version: i32,
    /// Every predictor by path.
    pub predictors: IndexMap<String, ShownPredictorState>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub created_by: String,
    /// The same with its kind: a client, or an optimization.
    pub author: Author,
    /// The state it was made from.
    pub parent: Option<i32>,
    /// What was measured with it.
    pub score: Option<f64>,
    /// The content hash of the data that the score was measured on.
    pub dataset_hash: Option<String>,
}

/// One line of a graph's state history.
#[derive(ToSchema)]
pub struct StateItem {
    /// Its number within the graph.
    pub version: i32,
    /// The graph version that it fits.
    pub graph_version: i32,
    /// Whether it is in force for that graph version.
    pub in_force: bool,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub created_by: String,
    /// The same with its kind: a client, or an optimization.
    pub author: Author,
    /// The state it was made from.
    pub parent: Option<i32>,
    /// What was measured with it.
    pub score: Option<f64>,
    /// The content hash of the data that the score was measured on.
    pub dataset_hash: Option<String>,
}

/// A page of state versions.
#[derive(ToSchema)]
pub struct StatePage {
    /// Newest first.
    pub items: Vec<StateItem>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// The state in force after a request.
#[derive(ToSchema)]
pub struct StatePut {
    /// The state.
    #[serde(flatten)]
    pub state: State,
    /// Of a file of DSPy's: JSON Pointers into the request to the members that have no meaning here.
    pub ignored: Option<Vec<String>>,
}

/// Who made something.
#[derive(ToSchema)]
pub struct Author {
    /// `client` or `optimization`.
    #[schema(value_type = String, example = "client", pattern = "^(client|optimization)$")]
    pub kind: String,
    /// Of a client: the name of its key.
    pub name: Option<String>,
    /// Of an optimization: its id.
    #[schema(value_type = Option<String>)]
    pub id: Option<String>,
}

/// A predictor state that was put in force.
#[derive(ToSchema)]
pub struct ActivatedState {
    /// The state.
    #[serde(flatten)]
    pub state: State,
    /// What that moved.
    pub activation: StateMove,
}

/// What putting a state in force moved.
#[derive(ToSchema)]
pub struct StateMove {
    /// The graph version for which it is in force now.
    pub graph_version: i32,
    /// Whether that is the newest one, whose state runs that ask for no version use.
    pub newest: bool,
    /// The state version that was in force for it before.
    pub from: i32,
    /// The one that is now; nothing moved if it was before.
    pub to: i32,
}

/// One move of what is in force.
#[derive(ToSchema)]
pub struct Activation {
    /// The graph version for which it moved.
    pub graph_version: i32,
    /// The state version that was in force before; null when the graph version was new.
    pub from: Option<i32>,
    /// The state version that was put in force.
    pub to: i32,
    /// When.
    pub created_at: DateTime<Utc>,
    /// Who did it, or started the optimization that did.
    pub created_by: String,
    /// Who did it: a client, or an optimization.
    pub author: Author,
}

/// A page of activations.
#[derive(ToSchema)]
pub struct ActivationPage {
    /// Newest first.
    pub items: Vec<Activation>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// Two state versions side by side.
#[derive(ToSchema)]
pub struct StateDiff {
    /// The state version that the difference starts from.
    pub from: i32,
    /// The state version that it leads to.
    pub to: i32,
    /// The graph versions that they fit.
    pub graph_versions: FromTo,
    /// What is different, by predictor path; predictors that say the same are left out.
    pub predictors: IndexMap<String, PredictorDiff>,
    /// The same to read: a line a change, with `+`, `-` or `~` in front.
    pub text: String,
}

/// Where a difference starts, and where it leads.
#[derive(ToSchema)]
pub struct FromTo {
    /// Where it starts.
    pub from: i32,
    /// Where it leads.
    pub to: i32,
}

/// What is different in one predictor.
#[derive(ToSchema)]
pub struct PredictorDiff {
    /// Whether both graph versions have the predictor, only the new one, or only the old one.
    #[schema(value_type = String, example = "changed", pattern = "^(changed|added|removed)$")]
    pub change: String,
    /// Its instruction, if it is another.
    pub instruction: Option<InstructionDiff>,
    /// Steps from the old demos to the new ones, if they are others.
    pub demos: Option<Vec<DemoDiff>>,
    /// LM settings by name, those that are others.
    pub lm: Option<IndexMap<String, BeforeAfter>>,
    /// How demos are chosen for each call, if that is another: `model`, `k`, how many `demos`,
    /// `dimensions`, and in `vectors` the first digits of the hash of the vectors.
    pub nearest: Option<BeforeAfter>,
}

/// An instruction before and after.
#[derive(ToSchema)]
pub struct InstructionDiff {
    /// The override of before; null means the signature's own.
    pub before: Option<String>,
    /// The override now.
    pub after: Option<String>,
    /// What calls used; null where there was no such predictor.
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
    /// The position in the old list, from 0; absent for one that was added.
    pub from: Option<u32>,
    /// The position in the new list, from 0; absent for one that was removed.
    pub to: Option<u32>,
    /// The demo that was added or removed.
    pub demo: Option<Demo>,
    /// The values that changed in it.
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
