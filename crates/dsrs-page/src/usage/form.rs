//! The form of the view of usage: the time, the graph, and by what the sums are divided.

use chrono::{DateTime, TimeDelta, Utc};
use maud::{Markup, html};

use crate::parts::choice::{Names, choice};
use dsrs_http::Query;
use dsrs_store::usage::{UsageDimension, UsageInterval, UsageQuery};

/// The times to choose from: days, and their label.
const TIMES: [(i64, &str); 3] = [(1, "24 hours"), (7, "7 days"), (30, "30 days")];

/// What a person chose. What cannot be read is the default.
#[derive(Clone, Debug)]
pub(super) struct UsageForm {
    days: i64,
    pub(super) graph: String,
    pub(super) by: UsageDimension,
}

impl UsageForm {
    pub(super) fn read(query: &mut Query) -> Self {
        let mut text = |name: &str| query.text(name).unwrap_or_default();
        let (days, by) = (text("days").parse().ok(), text("by"));
        let days = days.filter(|days| TIMES.iter().any(|time| time.0 == *days)).unwrap_or(7);
        let by = UsageDimension::ALL.into_iter().find(|known| known.as_str() == by);
        Self { days, graph: text("graph"), by: by.unwrap_or(UsageDimension::Graph) }
    }

    /// The length of the periods.
    pub(super) fn interval(&self) -> UsageInterval {
        if self.days == 1 { UsageInterval::Hour } else { UsageInterval::Day }
    }

    /// The sums of the time until now.
    pub(super) fn query(&self, now: DateTime<Utc>) -> UsageQuery {
        let only = match self.graph.is_empty() {
            true => Vec::new(),
            false => vec![(UsageDimension::Graph, self.graph.clone())],
        };
        UsageQuery {
            since: now - TimeDelta::days(self.days),
            until: now,
            interval: None,
            by: Vec::new(),
            only,
        }
    }

    /// The same for the API.
    pub(super) fn api_query(&self, query: &UsageQuery) -> String {
        let mut text = url::form_urlencoded::Serializer::new(String::new());
        text.append_pair("since", &query.since.to_rfc3339()).append_pair("by", self.by.as_str());
        if !self.graph.is_empty() {
            text.append_pair("graph", &self.graph);
        }
        text.finish()
    }

    pub(super) fn show(&self, graphs: &Names) -> Markup {
        html! {
            form.filters action="/usage" method="get" {
                label { "Time" select name="days" {
                    @for (days, label) in TIMES { option value=(days) selected[days == self.days] { (label) } }
                } }
                label { "Graph" (choice("graph", &self.graph, graphs, "all")) }
                label { "By" select name="by" {
                    @for by in UsageDimension::ALL {
                        option value=(by.as_str()) selected[by == self.by] { (label(by)) }
                    }
                } }
                button type="submit" { "Show" }
            }
        }
    }
}

/// What a person reads.
pub(super) const fn label(by: UsageDimension) -> &'static str {
    match by {
        UsageDimension::Graph => "Graph",
        UsageDimension::Version => "Graph version",
        UsageDimension::StateVersion => "State version",
        UsageDimension::Key => "Key",
        UsageDimension::User => "User",
        UsageDimension::Work => "Work",
        UsageDimension::Tag => "Tag",
        UsageDimension::Model => "Model",
    }
}
