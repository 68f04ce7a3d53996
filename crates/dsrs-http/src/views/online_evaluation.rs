//! Online evaluations of graphs.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::document::SchemaPart;
use super::time::timestamp;
use super::{RawJson, example};
use dsrs_api::online_evaluation::OnlineEvaluationRequest;
use dsrs_store::online_evaluation::OnlineEvaluationRow;

/// An online evaluation to set.
pub type OnlineEvaluationBody = SchemaPart<OnlineEvaluationRequest>;

/// The online evaluation of a graph.
#[derive(Serialize, ToSchema)]
#[schema(as = OnlineEvaluation, examples(json!(OnlineEvaluationView::example())))]
pub struct OnlineEvaluationView<'a> {
    /// The metrics by the name of their score, with everything that was left unsaid filled in.
    #[schema(value_type = BTreeMap<String, Object>)]
    pub metrics: RawJson<'a>,
    /// The share of the runs that are judged.
    pub sample: f64,
    /// Whether runs are judged.
    pub enabled: bool,
    /// The most requests to models a day.
    pub calls_per_day: Option<i64>,
    /// The most cost a day.
    pub cost_per_day: Option<f64>,
    /// The requests to models of today.
    pub spent_calls: i64,
    /// The cost of today.
    pub spent_cost: f64,
    /// The runs of today that stay without a score, because their metric failed for a reason of its provider, the time or
    /// a budget.
    pub unmeasured: i32,
    /// The time when the online evaluation was first set.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when the online evaluation was last set.
    #[serde(serialize_with = "timestamp")]
    pub updated_at: DateTime<Utc>,
    /// By whom, last.
    pub created_by: &'a str,
}

impl<'a> From<&'a OnlineEvaluationRow> for OnlineEvaluationView<'a> {
    fn from(row: &'a OnlineEvaluationRow) -> Self {
        Self {
            metrics: (&row.settings.metrics).into(),
            sample: row.settings.sample,
            enabled: row.settings.enabled,
            calls_per_day: row.settings.calls_per_day,
            cost_per_day: row.settings.cost_per_day,
            spent_calls: row.spent_calls,
            spent_cost: row.spent_cost,
            unmeasured: row.unmeasured,
            created_at: row.created_at,
            updated_at: row.updated_at,
            created_by: &row.created_by,
        }
    }
}

impl OnlineEvaluationView<'static> {
    fn example() -> Value {
        json!({
            "metrics": {"short": {"expression": "outputs.answer|length < 400"}},
            "sample": 0.1, "enabled": true, "calls_per_day": 1000, "cost_per_day": null, "spent_calls": 0,
            "spent_cost": 0.0, "unmeasured": 0, "created_at": dsrs_app::timestamp(example::time(0)),
            "updated_at": dsrs_app::timestamp(example::time(0)), "created_by": "deploy"
        })
    }
}
