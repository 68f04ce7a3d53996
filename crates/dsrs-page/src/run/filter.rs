//! Which runs a table shows: the fields of its form, and the same as a filter of the store. Knows no table.

use chrono::{DateTime, Utc};
use dsrs_api::plain_name::PlainName;
use maud::{Markup, html};

use crate::parts::choice::{Names, choice};
use dsrs_http::{Query, problem_text, read_time};
use dsrs_store::feedback_filter::FeedbackFilter;
use dsrs_store::graph::GraphRef;
use dsrs_store::run::{RunFilter, RunStatus};
use dsrs_store::run_label::RunLabel;

/// What a person wrote into the form of filters. A value that cannot be read filters nothing, and is shown as it is.
#[derive(Clone, Debug, Default)]
pub(super) struct FilterForm {
    graph: String,
    status: String,
    version: String,
    state_version: String,
    since: String,
    until: String,
    problem: String,
    tag: String,
    session_id: String,
    user_id: String,
    error_code: String,
    min_duration_ms: String,
    max_duration_ms: String,
    score: String,
    min_score: String,
    max_score: String,
}

impl FilterForm {
    /// Reads the parameters of an address.
    pub(super) fn read(query: &mut Query) -> Self {
        let mut text = |name: &str| query.text(name).unwrap_or_default();
        Self {
            graph: text("graph"),
            status: text("status"),
            version: text("version"),
            state_version: text("state_version"),
            since: text("since"),
            until: text("until"),
            problem: text("problem"),
            tag: text("tag"),
            session_id: text("session_id"),
            user_id: text("user_id"),
            error_code: text("error_code"),
            min_duration_ms: text("min_duration_ms"),
            max_duration_ms: text("max_duration_ms"),
            score: text("score"),
            min_score: text("min_score"),
            max_score: text("max_score"),
        }
    }

    /// Whether nothing is filtered.
    pub(super) fn is_empty(&self) -> bool {
        self.fields().all(|(_, value)| value.is_empty())
    }

    fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("graph", &self.graph),
            ("status", &self.status),
            ("version", &self.version),
            ("state_version", &self.state_version),
            ("since", &self.since),
            ("until", &self.until),
            ("problem", &self.problem),
            ("tag", &self.tag),
            ("session_id", &self.session_id),
            ("user_id", &self.user_id),
            ("error_code", &self.error_code),
            ("min_duration_ms", &self.min_duration_ms),
            ("max_duration_ms", &self.max_duration_ms),
            ("score", &self.score),
            ("min_score", &self.min_score),
            ("max_score", &self.max_score),
        ]
        .into_iter()
        .map(|(name, value)| (name, value.as_str()))
    }

    /// The same for the store.
    pub(super) fn filter(&self) -> RunFilter {
        let version = |text: &str| text.parse().ok().filter(|version: &i32| *version > 0);
        RunFilter {
            graph: (!self.graph.is_empty()).then(|| GraphRef::parse(&self.graph)),
            status: RunStatus::parse(&self.status),
            since: moment(&self.since),
            until: moment(&self.until),
            version: version(&self.version),
            state_version: version(&self.state_version),
            problem: problem_text(&self.problem),
            labels: self.labels(),
            min_duration: self.min_duration_ms.parse().ok().filter(|least| *least >= 0),
            max_duration: self.max_duration_ms.parse().ok().filter(|most| *most >= 0),
            feedback: self.feedback(),
        }
    }

    /// The labels, those first that usually have the fewest runs.
    fn labels(&self) -> Vec<RunLabel> {
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        let labels = [
            given(&self.session_id).map(RunLabel::session),
            given(&self.user_id).map(RunLabel::user),
            given(&self.error_code).map(RunLabel::error_code),
            given(&self.tag).map(RunLabel::tag),
        ];
        labels.into_iter().flatten().collect()
    }

    fn feedback(&self) -> Option<FeedbackFilter> {
        let score = PlainName::parse(&self.score)?;
        let number = |text: &str| text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
        Some(FeedbackFilter {
            score: Some(score.as_str().to_owned()),
            min: number(&self.min_score),
            max: number(&self.max_score),
            ..FeedbackFilter::default()
        })
    }

    /// The parameters of an address, without those that filter nothing.
    pub(super) fn query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.fields().filter(|(_, value)| !value.is_empty()));
        query.finish()
    }

    /// The parameters for the API, whose times have a zone.
    pub(super) fn api_query(&self) -> String {
        let Self { since, until, .. } = self;
        let zoned = |text: &str| moment(text).map_or(String::new(), |at| at.to_rfc3339());
        Self { since: zoned(since), until: zoned(until), ..self.clone() }.query()
    }

    pub(super) fn show(&self, graphs: &Names) -> Markup {
        let names = RunStatus::ALL.iter().map(|status| status.as_str().to_owned()).collect();
        let statuses = Names { names, has_more: false };
        html! {
            form.filters action="/runs" method="get" {
                label { "Graph" (choice("graph", &self.graph, graphs, "all")) }
                label { "Status" (choice("status", &self.status, &statuses, "all")) }
                label.short { "Version" input name="version" value=(self.version) inputmode="numeric" pattern="[0-9]*"; }
                label.short { "State" input name="state_version" value=(self.state_version) inputmode="numeric" pattern="[0-9]*"; }
                label.moment { "From (UTC)" input type="datetime-local" name="since" value=(self.since); }
                label.moment { "To (UTC)" input type="datetime-local" name="until" value=(self.until); }
                label { "Problem contains" input name="problem" value=(self.problem) maxlength="200"; }
                label { "Tag" input name="tag" value=(self.tag) maxlength="64"; }
                label { "Session" input name="session_id" value=(self.session_id) maxlength="200"; }
                label { "User" input name="user_id" value=(self.user_id) maxlength="200"; }
                label { "Error code" input name="error_code" value=(self.error_code) maxlength="64"; }
                label.short { "From ms" input name="min_duration_ms" value=(self.min_duration_ms) inputmode="numeric" pattern="[0-9]*"; }
                label.short { "To ms" input name="max_duration_ms" value=(self.max_duration_ms) inputmode="numeric" pattern="[0-9]*"; }
                label { "Score" input name="score" value=(self.score) maxlength="64" placeholder="thumb" autocomplete="off"; }
                label.short { "at least" input name="min_score" value=(self.min_score) inputmode="decimal" autocomplete="off"; }
                label.short { "at most" input name="max_score" value=(self.max_score) inputmode="decimal" autocomplete="off"; }
                button type="submit" { "Filter" }
                @if !self.is_empty() { a.button.quiet href="/runs" { "Clear" } }
            }
        }
    }
}

/// A time with a zone, or one of a form, which is in UTC.
fn moment(text: &str) -> Option<DateTime<Utc>> {
    let seconds = if text.matches(':').count() == 1 { ":00" } else { "" };
    read_time(text).or_else(|| read_time(&format!("{text}{seconds}Z")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_forms_are_in_utc() {
        let texts = ["2026-11-23T05:41", "2026-11-23T05:41:00", "2026-11-23T06:41:00+01:00"];
        for text in texts {
            assert_eq!(moment(text).unwrap().to_rfc3339(), "2026-11-23T05:41:00+00:00", "{text}");
        }
        assert_eq!((moment(""), moment("today")), (None, None));
    }
}
