//! The profile of a graph, node by node.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::time::timestamp;
use super::{UsageView, example};
use dsrs_app::{GraphProfile, NodeProfile, ProfileRequest};

/// The time and the cost of a graph, by node.
#[derive(Serialize, ToSchema)]
#[schema(as = GraphProfile, examples(json!(GraphProfileView::example())))]
pub struct GraphProfileView<'a> {
    /// The beginning of the time.
    #[serde(serialize_with = "timestamp")]
    pub since: DateTime<Utc>,
    /// The end of the time that was asked for.
    #[serde(serialize_with = "timestamp")]
    pub until: DateTime<Utc>,
    /// The runs that were read.
    pub runs: usize,
    /// Whether there are others in the time, older than these.
    pub is_sample: bool,
    /// The nodes, the one that took the most time first.
    pub nodes: Vec<NodeProfileView<'a>>,
}

/// The work of one node in these runs.
#[derive(Serialize, ToSchema)]
#[schema(as = NodeProfile)]
pub struct NodeProfileView<'a> {
    /// The name of the node.
    pub node: &'a str,
    /// The runs in which it ran.
    pub runs: usize,
    /// The runs in which the node failed.
    pub failed: u64,
    /// The runs in which the node did not run.
    pub skipped: u64,
    /// The failures by code.
    pub errors: &'a BTreeMap<String, u64>,
    /// The median of its durations, in milliseconds; null if it did not run.
    pub p50_ms: Option<u64>,
    /// The 95th percentile.
    pub p95_ms: Option<u64>,
    /// The 99th percentile.
    pub p99_ms: Option<u64>,
    /// The share of the node in the durations of all nodes, from 0 to 1. Nodes can run at the same time.
    pub share_of_time: f64,
    /// The share of the node in the cost, from 0 to 1; null without prices.
    pub share_of_cost: Option<f64>,
    /// Leniencies with which its answers were read.
    pub repairs: u64,
    /// Replies that came from a cache instead of a model.
    pub cached_replies: u64,
    /// Requests to models, tokens and cost.
    pub usage: UsageView,
}

impl<'a> GraphProfileView<'a> {
    pub(crate) fn of(request: ProfileRequest, profile: &'a GraphProfile) -> Self {
        let time: u64 = profile.nodes.values().map(spent_time).sum();
        let costs: Vec<f64> = profile.nodes.values().filter_map(|node| node.cost).collect();
        let cost = (!costs.is_empty()).then(|| costs.iter().sum());
        let mut nodes: Vec<(&String, &NodeProfile)> = profile.nodes.iter().collect();
        nodes.sort_by_key(|(_, node)| std::cmp::Reverse(spent_time(node)));
        let view = |(name, node): (&'a String, &'a NodeProfile)| {
            NodeProfileView::of(name, node, time, cost)
        };
        Self {
            since: request.since,
            until: request.until,
            runs: profile.runs,
            is_sample: profile.is_sample,
            nodes: nodes.into_iter().map(view).collect(),
        }
    }
}

fn spent_time(node: &NodeProfile) -> u64 {
    node.durations.iter().sum()
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl<'a> NodeProfileView<'a> {
    fn of(name: &'a str, node: &'a NodeProfile, time: u64, cost: Option<f64>) -> Self {
        Self {
            node: name,
            runs: node.durations.len(),
            failed: node.failed,
            skipped: node.skipped,
            errors: &node.errors,
            p50_ms: node.percentile(0.5),
            p95_ms: node.percentile(0.95),
            p99_ms: node.percentile(0.99),
            share_of_time: share(spent_time(node) as f64, time as f64),
            share_of_cost: cost.map(|whole| share(node.cost.unwrap_or(0.0), whole)),
            repairs: node.repairs,
            cached_replies: node.cached_replies,
            usage: UsageView {
                lm_calls: signed(node.lm_calls),
                input_tokens: signed(node.input_tokens),
                output_tokens: signed(node.output_tokens),
                reasoning_tokens: signed(node.reasoning_tokens),
                cached_tokens: signed(node.cached_tokens),
                cache_write_tokens: signed(node.cache_write_tokens),
                cost: node.cost,
            },
        }
    }
}

impl GraphProfileView<'static> {
    fn example() -> serde_json::Value {
        let node = json!({
            "node": "triage", "runs": 120, "failed": 2, "skipped": 0, "errors": {"lm_error": 2},
            "p50_ms": 820, "p95_ms": 2100, "p99_ms": 3900, "share_of_time": 0.6, "share_of_cost": 0.4,
            "repairs": 3, "cached_replies": 0, "usage": UsageView::example()
        });
        let times = [example::time(0), example::time(86_400)].map(dsrs_app::timestamp);
        json!({"since": times[0], "until": times[1], "runs": 120, "is_sample": false, "nodes": [node]})
    }
}
