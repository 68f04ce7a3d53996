//! Predictor states.

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::predictor_state::PredictorStateView;
use super::time::timestamp;
use super::{Json, PredictorStateBody, example};

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
    pub predictors: IndexMap<String, PredictorStateBody>,
}

/// A predictor state.
#[derive(Serialize, ToSchema)]
#[schema(as = State, examples(json!(StateView::example())))]
pub struct StateView<'a> {
    /// The number of the state version.
    pub version: i32,
    /// The graph version to which it belongs.
    pub graph_version: i32,
    /// All predictors by path.
    pub predictors: IndexMap<String, PredictorStateView<'a>>,
    /// The time when the state version was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The client that created it.
    pub created_by: &'a str,
    /// The author: a client or an optimization.
    pub author: AuthorView<'a>,
    /// The state version that it was derived from.
    pub parent: Option<i32>,
    /// The measured score of the state version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The content hash of the data on which the score was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset_hash: Option<&'a str>,
}

impl<'a> From<&'a dsrs_app::StateVersion> for StateView<'a> {
    fn from(state: &'a dsrs_app::StateVersion) -> Self {
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

impl StateView<'static> {
    pub(super) fn example() -> Self {
        Self {
            version: 2,
            graph_version: 1,
            predictors: IndexMap::from([("triage".to_owned(), PredictorStateView::example())]),
            created_at: example::time(0),
            created_by: example::CLIENT,
            author: AuthorView::example(),
            parent: Some(1),
            score: None,
            dataset_hash: None,
        }
    }
}

/// A predictor state in one of two formats.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(examples(json!(StateView::example())))]
pub enum StateFile<'a> {
    /// The format of this server.
    Own(StateView<'a>),
    /// A file of DSPy.
    Dspy(DspyFile),
}

/// A state as a file that `program.load` of DSPy reads: its predictors by path, and `metadata`.
#[derive(ToSchema)]
pub struct DspyFile {
    /// The versions of DSPy and Python that the file names.
    #[schema(value_type = Object)]
    pub metadata: Json,
}

/// The active state after a request.
#[derive(Serialize, ToSchema)]
#[schema(as = StatePut, examples(json!(StatePutView::example())))]
pub struct StatePutView<'a> {
    /// The state.
    #[serde(flatten)]
    pub state: StateView<'a>,
    /// For a file of DSPy: JSON Pointers into the request to the members that have no meaning here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored: Option<&'a [String]>,
}

impl StatePutView<'static> {
    fn example() -> Self {
        Self { state: StateView::example(), ignored: None }
    }
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
    pub(super) fn new(created_by: &'a str, optimization: Option<Uuid>) -> Self {
        match optimization {
            Some(_) => Self { kind: "optimization", name: None, id: optimization },
            None => Self { kind: "client", name: Some(created_by), id: None },
        }
    }
}

impl AuthorView<'static> {
    pub(super) fn example() -> Self {
        Self::new(example::CLIENT, None)
    }
}
