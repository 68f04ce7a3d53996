//! Online evaluations: what clients set.

use dsrs::value::Map;
use facet::Facet;

/// An online evaluation to set.
#[derive(Clone, Debug, PartialEq, Facet)]
#[facet(dsrs::schema("OnlineEvaluationBody"))]
pub struct OnlineEvaluationRequest {
    /// 1 to 8 metrics, each by the name of its score, in the form of those of evaluations. They fit the current version of
    /// the graph, and see no expected outputs: use `judge`, `expression` or `graph`.
    #[facet(dsrs::schema("Metric"))]
    pub metrics: Map,
    /// The share of the runs that are judged, above 0, at most 1.
    #[facet(dsrs::above(0), dsrs::maximum(1))]
    pub sample: f64,
    /// `false` pauses it. `true` if absent.
    #[facet(default = true)]
    pub enabled: bool,
    /// The most requests to models a day (UTC). Absent: any number.
    #[facet(dsrs::minimum(1))]
    pub calls_per_day: Option<i64>,
    /// The most cost a day (UTC), in the currency of the configured prices. Absent: any.
    #[facet(dsrs::above(0))]
    pub cost_per_day: Option<f64>,
}
