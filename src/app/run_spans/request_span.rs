//! The span of a request that started a run, so that runs in the background can link to it.

use std::time::{Duration, SystemTime};

use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanId, SpanKind, Status};
use opentelemetry_sdk::trace::SpanData;

use super::attributes::{gen_ai, own};
use super::run::blank;
use super::span::moment;
use crate::app::RequestId;
use crate::telemetry::{RemoteSpan, Telemetry};

/// A request that was answered.
pub(crate) struct AnsweredSpan<'a> {
    pub(crate) id: &'a RequestId,
    pub(crate) method: &'static str,
    /// The pattern.
    pub(crate) route: &'a str,
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    /// The time to the head of the answer.
    pub(crate) took: Duration,
}

impl AnsweredSpan<'_> {
    /// Sends the span, if the request has started a run or a job whose trace is collected.
    pub(crate) fn send(&self, telemetry: &Telemetry) {
        let Some(span) = self.id.span().filter(|span| span.sampled) else { return };
        let made = self.span(span, self.id.parent());
        telemetry.send(1, move || vec![made]);
    }

    fn span(&self, own: &RemoteSpan, parent: Option<&RemoteSpan>) -> SpanData {
        let end = SystemTime::now();
        let start = end.checked_sub(self.took).unwrap_or(end);
        let name = format!("{} {}", self.method, self.route);
        let failed = self.status >= 500;
        let mut attributes = vec![
            KeyValue::new(gen_ai::HTTP_METHOD, self.method),
            KeyValue::new(gen_ai::HTTP_ROUTE, self.route.to_owned()),
            KeyValue::new(gen_ai::HTTP_STATUS, i64::from(self.status)),
            KeyValue::new(gen_ai::URL_PATH, self.path.to_owned()),
            KeyValue::new(gen_ai::URL_SCHEME, "http"),
            KeyValue::new(own::REQUEST, self.id.to_string()),
        ];
        if failed {
            attributes.push(KeyValue::new(gen_ai::ERROR_TYPE, self.status.to_string()));
        }
        SpanData {
            parent_span_id: parent.map_or(SpanId::INVALID, |span| SpanId::from_bytes(span.span_id)),
            parent_span_is_remote: parent.is_some(),
            start_time: start,
            end_time: moment(start, self.took),
            attributes,
            status: if failed { Status::error("") } else { Status::Unset },
            ..blank(own, name, SpanKind::Server)
        }
    }
}
