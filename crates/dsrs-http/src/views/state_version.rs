//! The history of a state: its versions and their activations.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::state::{AuthorView, StateView};
use super::time::timestamp;
use super::{PageView, example};
use dsrs_store::state::StateSummaryRow;
use dsrs_store::state_activation::ActivationItem;

/// An entry in the list of state versions.
#[derive(Serialize, ToSchema)]
#[schema(as = StateItem, examples(json!(StateItemView::example())))]
pub struct StateItemView<'a> {
    /// The number of the state version.
    pub version: i32,
    /// The graph version to which it belongs.
    pub graph_version: i32,
    /// Whether it is active for that graph version.
    pub in_force: bool,
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

impl<'a> From<&'a StateSummaryRow> for StateItemView<'a> {
    fn from(item: &'a StateSummaryRow) -> Self {
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

impl StateItemView<'static> {
    fn example() -> Self {
        Self {
            version: 2,
            graph_version: 1,
            in_force: true,
            created_at: example::time(0),
            created_by: example::CLIENT,
            author: AuthorView::example(),
            parent: Some(1),
            score: None,
            dataset_hash: None,
        }
    }
}

/// A page of state versions, newest first.
pub type StatePage = PageView<StateItemView<'static>>;

/// An activated predictor state.
#[derive(Serialize, ToSchema)]
#[schema(as = ActivatedState, examples(json!(ActivatedStateView::example())))]
pub struct ActivatedStateView<'a> {
    /// The state.
    #[serde(flatten)]
    pub state: StateView<'a>,
    /// The effect of the activation.
    pub activation: StateMoveView,
}

impl<'a> From<&'a dsrs_app::StateActivation> for ActivatedStateView<'a> {
    fn from(activation: &'a dsrs_app::StateActivation) -> Self {
        let row = &activation.view.row;
        let (from, to) = (activation.before, row.version);
        let effect =
            StateMoveView { graph_version: row.graph_version, newest: activation.newest, from, to };
        Self { state: (&activation.view).into(), activation: effect }
    }
}

impl ActivatedStateView<'static> {
    fn example() -> Self {
        let activation = StateMoveView { graph_version: 1, newest: true, from: 1, to: 2 };
        Self { state: StateView::example(), activation }
    }
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

/// An entry in the list of activations.
#[derive(Serialize, ToSchema)]
#[schema(as = Activation, examples(json!(ActivationView::example())))]
pub struct ActivationView<'a> {
    /// The graph version of the state.
    pub graph_version: i32,
    /// The previously active state version; null if the graph version was new.
    pub from: Option<i32>,
    /// The activated state version.
    pub to: i32,
    /// The time of the activation.
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

impl ActivationView<'static> {
    fn example() -> Self {
        Self {
            graph_version: 1,
            from: Some(1),
            to: 2,
            created_at: example::time(0),
            created_by: example::CLIENT,
            author: AuthorView::example(),
        }
    }
}

/// A page of activations, newest first.
pub type ActivationPage = PageView<ActivationView<'static>>;
