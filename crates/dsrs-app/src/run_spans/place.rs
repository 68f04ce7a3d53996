//! The place of a run in a trace: in that of the request that waits for it, or in one of its own with a link to the
//! request that started it.

use std::sync::Arc;

use dsrs::lm::TraceContext;
use uuid::Uuid;

use crate::{App, RequestId};
use dsrs_telemetry::{RemoteSpan, is_collected};

/// The place of one attempt at a run.
#[derive(Clone, Debug)]
pub(crate) struct RunTrace {
    pub(crate) context: Arc<TraceContext>,
    /// The span above that of the run.
    pub(super) parent: Option<RemoteSpan>,
    /// The span of the request that started it.
    pub(super) link: Option<RemoteSpan>,
}

impl RunTrace {
    /// The place of a run in the background that has begun.
    pub(crate) fn linked(context: Arc<TraceContext>, request: &RequestId) -> Self {
        Self { context, parent: None, link: request.span().cloned() }
    }
}

impl App {
    /// The place of a run whose client waits: below the request, if that may have a span. `None` if spans are sent
    /// nowhere.
    pub(crate) fn trace_of_execution(&self, request: &RequestId, run: Uuid) -> Option<RunTrace> {
        self.telemetry.as_ref()?;
        let Some(span) = request.span_in(|| run.into_bytes()).cloned() else {
            return self.trace_of_job(request, run);
        };
        let context = TraceContext::new(span.trace_id, salt(run), span.sampled, span.state.clone());
        Some(RunTrace { context: Arc::new(context), parent: Some(span), link: None })
    }

    /// The place of an attempt at a run in the background: a trace with the id of the run.
    pub(crate) fn trace_of_job(&self, request: &RequestId, run: Uuid) -> Option<RunTrace> {
        let telemetry = self.telemetry.as_ref()?;
        let (trace_id, link) = (run.into_bytes(), request.span().cloned());
        let sampled = match &link {
            Some(link) => link.sampled,
            None => is_collected(telemetry.sampler(), trace_id, None),
        };
        let state = link.as_ref().and_then(|link| link.state.clone());
        let context = TraceContext::new(trace_id, salt(Uuid::now_v7()), sampled, state);
        Some(RunTrace { context: Arc::new(context), parent: None, link })
    }
}

/// Different for every run, and for every attempt.
fn salt(id: Uuid) -> u64 {
    let (high, low) = id.as_u64_pair();
    high.rotate_left(32) ^ low
}
