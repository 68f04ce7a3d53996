//! The id of a request, with what the log says of it when it is answered: the run that it started, and for
//! what that run waited. May not know HTTP.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use uuid::Uuid;

use dsrs_config::Sampler;
use dsrs_telemetry::{RemoteSpan, is_collected};

/// The id of a request. Clones share the notes.
#[derive(Clone)]
pub struct RequestId {
    noted: Arc<NotedRequest>,
    /// The place of a message of the request that has a span of its own.
    message: Option<Arc<RequestPlace>>,
}

struct NotedRequest {
    id: Box<str>,
    actor: OnceLock<Arc<str>>,
    run: OnceLock<Uuid>,
    times: OnceLock<RunTimes>,
    place: RequestPlace,
}

/// The place in a trace.
#[derive(Default)]
struct RequestPlace {
    /// Whether it may have a span.
    offer: OnceLock<TraceOffer>,
    span: OnceLock<RemoteSpan>,
}

/// What decides about the span of a request, should it start a run.
struct TraceOffer {
    parent: Option<RemoteSpan>,
    sampler: Sampler,
}

/// For what a run waited. Spans that overlap count once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTimes {
    /// From its start to its end.
    pub total: Duration,
    /// While a request to a model was in flight.
    pub models: Duration,
    /// While its requests to models waited for their turn.
    pub queued: Duration,
    /// While a tool was called.
    pub tools: Duration,
    /// While none of these was the case: what the server itself takes.
    pub own: Duration,
}

impl RequestId {
    /// An id without notes.
    #[must_use]
    pub fn new(id: impl Into<Box<str>>) -> Self {
        let (actor, run, times, place) = Default::default();
        let noted = NotedRequest { id: id.into(), actor, run, times, place };
        Self { noted: Arc::new(noted), message: None }
    }

    /// A new id, for a request without one.
    #[must_use]
    pub fn unique() -> Self {
        let mut room = Uuid::encode_buffer();
        Self::new(&*Uuid::now_v7().hyphenated().encode_lower(&mut room))
    }

    /// The id of a request that was answered before, with its span.
    pub(crate) fn with_span(id: impl Into<Box<str>>, span: Option<RemoteSpan>) -> Self {
        let id = Self::new(id);
        if let Some(span) = span {
            let _ = id.place().span.set(span);
        }
        id
    }

    /// The same request for a message in it, which may have a span below this one, or else below that of the caller,
    /// instead of the request.
    pub(crate) fn of_message(&self, parent: Option<RemoteSpan>) -> Self {
        let place = RequestPlace::default();
        if let Some(offer) = self.place().offer.get() {
            let parent = parent.or_else(|| offer.parent.clone());
            let _ = place.offer.set(TraceOffer { parent, sampler: offer.sampler });
        }
        Self { noted: self.noted.clone(), message: Some(Arc::new(place)) }
    }

    fn place(&self) -> &RequestPlace {
        self.message.as_deref().unwrap_or(&self.noted.place)
    }

    /// Lets the request have a span if it starts a run, below one of the caller if there is one.
    pub fn offer_trace(&self, parent: Option<RemoteSpan>, sampler: Sampler) {
        let _ = self.place().offer.set(TraceOffer { parent, sampler });
    }

    /// The span of the request, which it has from now on: in the trace of the caller, else in this one. `None` if it
    /// may have none.
    pub(crate) fn span_in(&self, trace_id: impl FnOnce() -> [u8; 16]) -> Option<&RemoteSpan> {
        let place = self.place();
        if place.span.get().is_none() {
            let TraceOffer { parent, sampler } = place.offer.get()?;
            let parent = parent.as_ref();
            let trace_id = parent.map_or_else(trace_id, |parent| parent.trace_id);
            // The second half of an id of version 7 is random.
            let (_, random) = Uuid::now_v7().as_u64_pair();
            let _ = place.span.set(RemoteSpan {
                trace_id,
                span_id: random.to_be_bytes(),
                sampled: is_collected(sampler, trace_id, parent),
                state: parent.and_then(|parent| parent.state.clone()),
            });
        }
        self.span()
    }

    /// The span of the request, if it has one.
    pub(crate) fn span(&self) -> Option<&RemoteSpan> {
        self.place().span.get()
    }

    /// The span of the caller.
    pub(crate) fn parent(&self) -> Option<&RemoteSpan> {
        self.place().offer.get()?.parent.as_ref()
    }

    /// Notes the label of the caller's key.
    pub fn note_actor(&self, actor: &Arc<str>) {
        let _ = self.noted.actor.set(actor.clone());
    }

    /// Notes the run that the request starts; the first one, if it starts several.
    pub(crate) fn note_run(&self, run: Uuid) {
        let _ = self.noted.run.set(run);
    }

    /// Notes for what the run waited.
    pub(crate) fn note_times(&self, times: RunTimes) {
        let _ = self.noted.times.set(times);
    }

    /// The label of the caller's key.
    #[must_use]
    pub fn actor(&self) -> Option<&str> {
        self.noted.actor.get().map(|actor| &**actor)
    }

    /// The run that the request started.
    #[must_use]
    pub fn run(&self) -> Option<Uuid> {
        self.noted.run.get().copied()
    }

    /// For what that run waited, if it has ended.
    #[must_use]
    pub fn times(&self) -> Option<RunTimes> {
        self.noted.times.get().copied()
    }
}

impl RunTimes {
    /// What took the longest.
    #[must_use]
    pub fn longest(&self) -> &'static str {
        let parts = [
            (self.models, "models"),
            (self.queued, "the queue for models"),
            (self.tools, "tools"),
            (self.own, "the server"),
        ];
        parts.into_iter().max_by_key(|(time, _)| *time).map_or("", |(_, what)| what)
    }
}

impl Deref for RequestId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.noted.id
    }
}

impl From<&str> for RequestId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsrs_config::SamplerRoot;

    #[test]
    fn the_first_run_of_a_request_is_noted_for_all_clones() {
        let (id, first) = (RequestId::from("r-1"), Uuid::now_v7());
        id.clone().note_run(first);
        id.note_run(Uuid::now_v7());
        assert_eq!((&*id, id.run()), ("r-1", Some(first)));
    }

    #[test]
    fn a_message_has_a_place_of_its_own_and_shares_the_notes() {
        let span = |text: &str| RemoteSpan::read(text, None);
        let above = span("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        let named = span("00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01");
        let id = RequestId::from("r-1");
        assert!(id.of_message(named.clone()).span_in(|| [1; 16]).is_none(), "nothing is offered");
        let sampler = Sampler { root: SamplerRoot::Always, follows_parent: true };
        id.offer_trace(above.clone(), sampler);
        for (parent, expected) in [(named.clone(), &named), (None, &above)] {
            let message = id.of_message(parent);
            assert_eq!(message.parent(), expected.as_ref());
            let trace = message.span_in(|| [1; 16]).map(|span| span.trace_id);
            assert_eq!(trace, expected.as_ref().map(|span| span.trace_id));
            message.note_run(Uuid::nil());
        }
        assert_eq!((id.span(), id.run()), (None, Some(Uuid::nil())));
    }

    #[test]
    fn the_longest_part_of_a_run_is_named() {
        let seconds = Duration::from_secs;
        let times = RunTimes { models: seconds(2), queued: seconds(3), ..RunTimes::default() };
        assert_eq!(times.longest(), "the queue for models");
    }
}
