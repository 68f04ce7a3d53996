//! The span of a request that started a run, so that runs in the background can link to it.

use std::time::{Duration, SystemTime};

use super::attributes::{gen_ai, own};
use crate::RequestId;
use dsrs_telemetry::{SpanPlace, SpanRole, SpanWriter, Telemetry};

/// A request that was answered.
pub struct AnsweredSpan<'a> {
    pub id: &'a RequestId,
    pub method: &'static str,
    /// The pattern.
    pub route: &'a str,
    pub path: &'a str,
    pub status: u16,
    /// The time to the head of the answer.
    pub took: Duration,
}

impl AnsweredSpan<'_> {
    /// Sends the span, if the request has started a run or a job whose trace is collected.
    pub fn send(&self, telemetry: &Telemetry) {
        let Some(span) = self.id.span().filter(|span| span.sampled) else { return };
        let parent = self.id.parent();
        let end = SystemTime::now();
        let start = end.checked_sub(self.took).unwrap_or(end);
        let place = SpanPlace {
            trace_id: span.trace_id,
            span_id: span.span_id,
            state: span.state.as_deref(),
            parent: parent.map(|parent| parent.span_id),
            has_remote_parent: parent.is_some(),
            start,
            end,
        };
        telemetry.send(1, |spans| spans.add(&place, |out| self.describe(out)));
    }

    fn describe(&self, out: &mut SpanWriter<'_>) {
        out.role(SpanRole::Server);
        out.name(&[self.method, " ", self.route]);
        let to = &mut out.attributes();
        to.text(gen_ai::HTTP_METHOD, self.method);
        to.text(gen_ai::HTTP_ROUTE, self.route);
        to.count(gen_ai::HTTP_STATUS, self.status.into());
        to.text(gen_ai::URL_PATH, self.path);
        to.text(gen_ai::URL_SCHEME, "http");
        to.text(own::REQUEST, self.id);
        if self.status >= 500 {
            to.text(gen_ai::ERROR_TYPE, &self.status.to_string());
            out.fail("");
        }
    }
}
