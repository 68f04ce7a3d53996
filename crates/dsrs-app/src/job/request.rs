//! The options that every job has, as stored with it. May not know what else a kind of job needs.

use std::time::Duration;

use dsrs::value::Payload;
use uuid::Uuid;

use crate::RequestId;
use crate::json::JsonObject;
use dsrs_telemetry::RemoteSpan;

/// The options of the request that started a job.
pub(crate) struct JobRequest {
    /// The time limit of a run, if shorter than that of the server.
    pub(crate) timeout: Option<Duration>,
    pub(crate) request_id: RequestId,
    /// Whether workers of other servers may help with an optimization.
    pub(crate) is_divided: bool,
}

impl JobRequest {
    /// The options of a job that one worker at a time works on, or that decides elsewhere whether it has parts.
    pub(crate) const fn new(timeout: Option<Duration>, request_id: RequestId) -> Self {
        Self { timeout, request_id, is_divided: false }
    }

    pub(crate) fn to_json(&self) -> String {
        let mut object = JsonObject::new();
        object.shown_or_null("timeout_ms", self.timeout.map(|timeout| timeout.as_millis()));
        object.text("request_id", &self.request_id).shown("divided", self.is_divided);
        // In a trace of its own, if the caller has none: the attempts have theirs.
        if let Some(span) = self.request_id.span_in(|| Uuid::now_v7().into_bytes()) {
            object.text("traceparent", &span.traceparent());
            if let Some(state) = &span.state {
                object.text("tracestate", state);
            }
        }
        object.finish()
    }

    /// Reads what [`JobRequest::to_json`] wrote. Missing members have defaults: an older or a newer
    /// release may have written the text.
    pub(crate) fn read(json: &str) -> Self {
        let document = Payload::from_record(json).unwrap_or(Payload::Null);
        let member = |name: &str| document.as_map().and_then(|members| members.get(name));
        let millis = match member("timeout_ms") {
            Some(Payload::Int(millis)) => u64::try_from(*millis).ok(),
            _ => None,
        };
        let text = |name: &str| member(name).and_then(Payload::as_str);
        let request_id = text("request_id").unwrap_or_default();
        let span = text("traceparent").and_then(|span| RemoteSpan::read(span, text("tracestate")));
        Self {
            timeout: millis.map(Duration::from_millis),
            request_id: RequestId::with_span(request_id, span),
            is_divided: member("divided") == Some(&Payload::Bool(true)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reads_back_as_written() {
        for timeout in [None, Some(Duration::from_millis(1500))] {
            let written = JobRequest { timeout, request_id: "r-1".into(), is_divided: true };
            let read = JobRequest::read(&written.to_json());
            assert_eq!((read.timeout, &*read.request_id), (timeout, "r-1"));
            assert!(read.is_divided);
        }
        let span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let id = RequestId::with_span("r-2", RemoteSpan::read(span, Some("v=1")));
        let read = JobRequest::read(&JobRequest::new(None, id.clone()).to_json()).request_id;
        assert_eq!((read.span(), read.parent()), (id.span(), None));
        let empty = JobRequest::read("{}");
        assert_eq!((&*empty.request_id, empty.is_divided), ("", false));
    }
}
