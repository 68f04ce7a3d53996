//! The profile of a graph: where the time and the money of its runs go, node by node. It is computed from the newest
//! recorded runs of a time. May not know SQL.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{App, AppError, run_blocking};
use dsrs_store::Scope;
use dsrs_store::graph::GraphRef;
use dsrs_store::graph_profile::{self, ProfileQuery, ProfiledRun};

/// The most runs that a profile reads.
pub(crate) const MOST_RUNS: i64 = 2_000;

/// The most bytes of their documents, compressed as they are stored.
const MOST_BYTES: i64 = 32 << 20;

/// Which runs a profile is about.
#[derive(Clone, Copy, Debug)]
pub struct ProfileRequest {
    pub version: Option<i32>,
    pub since: DateTime<Utc>,
    pub until: DateTime<Utc>,
}

#[derive(Clone, Debug, Default)]
pub struct GraphProfile {
    /// The runs that were read.
    pub runs: usize,
    /// Whether there are older ones in the time.
    pub is_sample: bool,
    /// The nodes by name.
    pub nodes: BTreeMap<String, NodeProfile>,
}

/// What one node did in these runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeProfile {
    /// The durations of the runs in which it ran, in milliseconds, sorted.
    pub durations: Vec<u64>,
    pub failed: u64,
    pub skipped: u64,
    /// How often it failed, by code.
    pub errors: BTreeMap<String, u64>,
    /// Leniencies with which answers were read.
    pub repairs: u64,
    pub cached_replies: u64,
    pub lm_calls: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    pub reasoning_tokens: u64,
    pub cache_write_tokens: u64,
    pub cost: Option<f64>,
}

impl NodeProfile {
    /// The duration that this share of the runs does not exceed, from 0 to 1. `None` without runs.
    pub fn percentile(&self, share: f64) -> Option<u64> {
        let last = self.durations.len().checked_sub(1)?;
        let rank = (share * self.durations.len() as f64).ceil() as usize;
        self.durations.get(rank.saturating_sub(1).min(last)).copied()
    }
}

impl App {
    /// The profile of a graph over a time.
    pub async fn graph_profile(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        request: ProfileRequest,
    ) -> Result<GraphProfile, AppError> {
        let row = self.graph_get(scope, graph, None).await?;
        let query = ProfileQuery {
            graph: row.id,
            version: request.version,
            since: request.since,
            until: request.until,
            most_runs: MOST_RUNS,
            most_bytes: MOST_BYTES,
        };
        let chosen = graph_profile::choose(scope, &self.db, &row.name, query).await?;
        let mut profile = GraphProfile { is_sample: chosen.is_sample, ..GraphProfile::default() };
        for ids in chosen.portions {
            let runs = graph_profile::documents(scope, &self.db, &ids).await?;
            let added = run_blocking(move || {
                runs.iter().for_each(|run| profile.add(run));
                profile
            });
            let broken = || AppError::Internal("a profile could not be computed".to_owned());
            profile = added.await.ok_or_else(broken)?;
        }
        profile.nodes.values_mut().for_each(|node| node.durations.sort_unstable());
        Ok(profile)
    }
}

#[derive(Deserialize)]
struct NodeDocument<'d> {
    #[serde(borrow)]
    status: Cow<'d, str>,
    duration_ms: Option<u64>,
    error: Option<ErrorDocument>,
}

#[derive(Deserialize)]
struct ErrorDocument {
    code: Option<String>,
}

#[derive(Deserialize)]
struct TraceDocument<'d> {
    #[serde(borrow)]
    spans: Vec<SpanDocument<'d>>,
}

#[derive(Deserialize)]
struct SpanDocument<'d> {
    #[serde(borrow)]
    node: Cow<'d, str>,
    cached: Option<bool>,
    usage: Option<UsageDocument>,
    #[serde(borrow)]
    parse_report: Option<Vec<&'d RawValue>>,
}

#[derive(Deserialize)]
struct UsageDocument {
    lm_calls: u64,
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    reasoning_tokens: u64,
    cached_tokens: u64,
    #[serde(default)]
    cache_write_tokens: u64,
    cost: Option<f64>,
}

impl GraphProfile {
    /// Adds a run. What an earlier release recorded in another form is left out.
    fn add(&mut self, run: &ProfiledRun) {
        self.runs += 1;
        let nodes = serde_json::from_str::<BTreeMap<Cow<'_, str>, NodeDocument<'_>>>(&run.nodes);
        for (name, node) in nodes.unwrap_or_default() {
            self.node(&name).add(node);
        }
        let Ok(trace) = serde_json::from_str::<TraceDocument<'_>>(&run.trace) else { return };
        for span in trace.spans {
            self.node(&span.node).add_span(&span);
        }
    }

    fn node(&mut self, name: &str) -> &mut NodeProfile {
        self.nodes.entry(name.to_owned()).or_default()
    }
}

impl NodeProfile {
    fn add(&mut self, node: NodeDocument<'_>) {
        match &*node.status {
            "skipped" => self.skipped += 1,
            "failed" => self.failed += 1,
            _ => {}
        }
        self.durations.extend(node.duration_ms);
        if let Some(code) = node.error.and_then(|error| error.code) {
            *self.errors.entry(code).or_default() += 1;
        }
    }

    fn add_span(&mut self, span: &SpanDocument<'_>) {
        self.repairs += span.parse_report.as_ref().map_or(0, |report| report.len() as u64);
        self.cached_replies += u64::from(span.cached == Some(true));
        let Some(usage) = &span.usage else { return };
        self.lm_calls += usage.lm_calls;
        self.input_tokens += usage.input_tokens;
        self.output_tokens += usage.output_tokens;
        self.reasoning_tokens += usage.reasoning_tokens;
        self.cached_tokens += usage.cached_tokens;
        self.cache_write_tokens += usage.cache_write_tokens;
        self.cost = match (self.cost, usage.cost) {
            (None, cost) | (cost, None) => cost,
            (Some(one), Some(two)) => Some(one + two),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(nodes: &str, trace: &str) -> ProfiledRun {
        ProfiledRun { nodes: nodes.to_owned(), trace: trace.to_owned() }
    }

    #[test]
    fn what_each_node_did_is_summed_over_runs() {
        let mut profile = GraphProfile::default();
        profile.add(&run(
            r#"{"a":{"status":"succeeded","duration_ms":10},"b":{"status":"failed","duration_ms":3,"error":{"code":"timeout"}}}"#,
            r#"{"spans":[{"node":"a","parse_report":[{},{}]},{"node":"a","cached":true},
                {"node":"b","usage":{"lm_calls":1,"input_tokens":2,"output_tokens":3,"cached_tokens":0,"cost":0.5}}]}"#,
        ));
        profile.add(&run(
            r#"{"a":{"status":"succeeded","duration_ms":30},"b":{"status":"skipped","duration_ms":null,"error":null}}"#,
            "",
        ));
        profile.add(&run("[]", "{}"));
        let a = &profile.nodes["a"];
        assert_eq!((a.durations.as_slice(), a.repairs, a.cached_replies), (&[10, 30][..], 2, 1));
        let b = &profile.nodes["b"];
        assert_eq!((b.failed, b.skipped, b.errors["timeout"], b.cost), (1, 1, 1, Some(0.5)));
        assert_eq!((profile.runs, b.lm_calls, b.input_tokens, b.output_tokens), (3, 1, 2, 3));
    }

    #[test]
    fn percentiles_are_durations_of_runs() {
        let node = NodeProfile { durations: (1..=200).collect(), ..NodeProfile::default() };
        let found = [0.5, 0.95, 0.99, 1.0].map(|share| node.percentile(share));
        assert_eq!(found, [Some(100), Some(190), Some(198), Some(200)]);
        assert_eq!(NodeProfile::default().percentile(0.5), None);
    }
}
