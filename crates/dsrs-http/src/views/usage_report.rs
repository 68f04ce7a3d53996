//! Usage over time.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::time::{timestamp, timestamp_or_null};
use super::{UsageView, example};
use dsrs_app::{UsageItem, UsageScore};
use dsrs_store::usage::{UsageDimension, UsageQuery, UsageRow};

/// Sums over a time.
#[derive(Serialize, ToSchema)]
#[schema(as = UsageReport, examples(json!(UsageReportView::example())))]
pub struct UsageReportView<'a> {
    /// The beginning of the time that was asked for.
    #[serde(serialize_with = "timestamp")]
    pub since: DateTime<Utc>,
    /// The end of the time that was asked for.
    #[serde(serialize_with = "timestamp")]
    pub until: DateTime<Utc>,
    /// The periods: `hour`, `day`, or null for all in one.
    pub interval: Option<&'a str>,
    /// By what the sums are divided.
    pub by: Vec<&'a str>,
    /// The sums, oldest first. Periods and combinations without any are left out.
    pub items: Vec<UsageItemView<'a>>,
}

/// The sums of one period and one combination of values. Members by which the sums are not divided are absent.
#[derive(Default, Serialize, ToSchema)]
#[schema(as = UsageItem)]
pub struct UsageItemView<'a> {
    /// The beginning of the period; null without `interval`.
    #[serde(serialize_with = "timestamp_or_null")]
    pub start: Option<DateTime<Utc>>,
    /// The graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<&'a str>,
    /// The graph version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    /// The state version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_version: Option<i32>,
    /// The label of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'a str>,
    /// The user of the caller; absent, too, for runs without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<&'a str>,
    /// The kind of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<&'a str>,
    /// The tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<&'a str>,
    /// The alias of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    /// Runs that have ended.
    pub runs: i64,
    /// The runs that failed.
    pub failed: i64,
    /// The runs that were cancelled.
    pub cancelled: i64,
    /// The mean of their durations, in milliseconds; null without runs.
    pub mean_duration_ms: Option<f64>,
    /// Requests to models, tokens and cost.
    pub usage: UsageView,
    /// Pieces of feedback on the runs. Absent if the sums are divided or narrowed by `tag` or `model`, by which feedback
    /// is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<i64>,
    /// The mean scores by name. Absent as `feedback` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<Vec<UsageScoreView<'a>>>,
}

/// The mean of the scores of one name.
#[derive(Serialize, ToSchema)]
#[schema(as = UsageScore)]
pub struct UsageScoreView<'a> {
    /// The name.
    pub name: &'a str,
    /// The mean.
    pub mean: f64,
    /// The number of scores.
    pub count: i64,
}

impl<'a> UsageReportView<'a> {
    pub(crate) fn of(query: &'a UsageQuery, items: &'a [UsageItem]) -> Self {
        Self {
            since: query.since,
            until: query.until,
            interval: query.interval.map(|interval| interval.as_str()),
            by: query.by.iter().map(|dimension| dimension.as_str()).collect(),
            items: items.iter().map(|item| UsageItemView::of(query, item)).collect(),
        }
    }

    fn example() -> Self {
        let item = UsageItemView {
            start: Some(example::time(0)),
            graph: Some("support-reply"),
            runs: 120,
            failed: 2,
            mean_duration_ms: Some(1840.5),
            usage: UsageView::example(),
            feedback: Some(7),
            scores: Some(vec![UsageScoreView { name: "helpful", mean: 0.8, count: 5 }]),
            ..UsageItemView::default()
        };
        let (since, until) = (example::time(0), example::time(86_400));
        Self { since, until, interval: Some("day"), by: vec!["graph"], items: vec![item] }
    }
}

impl<'a> UsageItemView<'a> {
    fn of(query: &UsageQuery, item: &'a UsageItem) -> Self {
        let row = &item.row;
        let value = row.value.as_deref();
        let is_by = |dimension| query.by.contains(&dimension);
        let counts = query.counts_feedback();
        Self {
            start: row.start,
            graph: row.graph_name.as_deref(),
            version: row.graph_version,
            state_version: row.state_version,
            key: row.created_by.as_deref(),
            user_id: row.user_id.as_deref(),
            work: row.work.as_deref(),
            tag: value.filter(|_| is_by(UsageDimension::Tag)),
            model: value.filter(|_| is_by(UsageDimension::Model)),
            runs: row.runs,
            failed: row.failed,
            cancelled: row.cancelled,
            mean_duration_ms: (row.runs > 0).then(|| row.duration_ms as f64 / row.runs as f64),
            usage: UsageView::from(row),
            feedback: counts.then_some(row.feedback),
            scores: counts.then(|| item.scores.iter().map(UsageScoreView::from).collect()),
        }
    }
}

impl<'a> From<&'a UsageScore> for UsageScoreView<'a> {
    fn from(score: &'a UsageScore) -> Self {
        Self { name: &score.name, mean: score.mean, count: score.count }
    }
}

impl From<&UsageRow> for UsageView {
    fn from(row: &UsageRow) -> Self {
        Self {
            lm_calls: row.lm_calls,
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            reasoning_tokens: row.reasoning_tokens,
            cached_tokens: row.cached_tokens,
            cache_write_tokens: row.cache_write_tokens,
            cost: row.cost,
        }
    }
}
