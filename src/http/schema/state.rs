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

/// A predictor state to put in force.
#[derive(ToSchema)]
pub struct PutState {
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
    /// The state it was made from.
    pub parent: Option<i32>,
    /// What an optimizer measured.
    pub score: Option<f64>,
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
    /// The state it was made from.
    pub parent: Option<i32>,
    /// What an optimizer measured.
    pub score: Option<f64>,
}

/// A page of state versions.
#[derive(ToSchema)]
pub struct StatePage {
    /// Newest first.
    pub items: Vec<StateItem>,
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
