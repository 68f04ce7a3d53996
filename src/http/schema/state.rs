//! Predictor states and their versions, as the OpenAPI document tells them.

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
