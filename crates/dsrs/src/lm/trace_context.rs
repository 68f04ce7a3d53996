//! The place of a run in a distributed trace (W3C Trace Context): the ids of its spans, which are known before they
//! end, and the headers that name the span of a request to a model or a tool. Does not know who collects spans.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The name of the header with trace, span and flags.
pub const TRACEPARENT: &str = "traceparent";

/// The name of the header with what other vendors add.
pub const TRACESTATE: &str = "tracestate";

/// The place of a run in a trace. The ids of spans follow from their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: [u8; 16],
    /// Differs between the runs of a trace, and between the attempts of a run.
    salt: u64,
    sampled: bool,
    state: Option<Arc<str>>,
}

impl TraceContext {
    /// A run in a trace. `salt` is an arbitrary number of this attempt at the run.
    #[must_use]
    pub const fn new(
        trace_id: [u8; 16],
        salt: u64,
        sampled: bool,
        state: Option<Arc<str>>,
    ) -> Self {
        Self { trace_id, salt, sampled, state }
    }

    /// The trace.
    #[must_use]
    pub const fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    /// Whether the spans of the run are collected.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// What other vendors have added to the trace.
    #[must_use]
    pub const fn state(&self) -> Option<&Arc<str>> {
        self.state.as_ref()
    }

    /// The id of a span by its number within the run; 0 is the run itself. Never zero.
    #[must_use]
    pub const fn span_id(&self, number: u32) -> [u8; 8] {
        let mixed = mix(self.salt.wrapping_add((number as u64 + 1).wrapping_mul(GOLDEN)));
        (if mixed == 0 { 1 } else { mixed }).to_be_bytes()
    }

    /// The headers of a request that a span makes.
    #[must_use]
    pub fn headers(&self, number: u32) -> Vec<(&'static str, String)> {
        let mut headers = vec![(TRACEPARENT, self.traceparent(number))];
        if let Some(state) = &self.state {
            headers.push((TRACESTATE, state.to_string()));
        }
        headers
    }

    fn traceparent(&self, number: u32) -> String {
        traceparent(self.trace_id, self.span_id(number), self.sampled)
    }
}

/// A `traceparent` header.
#[must_use]
pub fn traceparent(trace_id: [u8; 16], span_id: [u8; 8], sampled: bool) -> String {
    let mut text = String::with_capacity(55);
    text.push_str("00-");
    push_hex(&mut text, &trace_id);
    text.push('-');
    push_hex(&mut text, &span_id);
    text.push_str(if sampled { "-01" } else { "-00" });
    text
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// The span that sends a request: the run knows the trace, each attempt at the request sets its own number.
#[derive(Clone, Debug)]
pub struct RequestTrace(Arc<(Arc<TraceContext>, AtomicU32)>);

impl RequestTrace {
    /// A request of a run, whose span is not known yet.
    #[must_use]
    pub fn new(context: Arc<TraceContext>) -> Self {
        Self(Arc::new((context, AtomicU32::new(0))))
    }

    /// Notes the number of the span that sends the request now.
    pub fn set_span(&self, number: u32) {
        self.0.1.store(number, Ordering::Relaxed);
    }

    /// The headers that name that span.
    #[must_use]
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        self.0.0.headers(self.0.1.load(Ordering::Relaxed))
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of SplitMix64: a bijection, so that no two spans of a run share an id.
const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_span_of_a_run_has_an_id_of_its_own() {
        let context = TraceContext::new([7; 16], 42, true, None);
        let ids: HashSet<_> = (0..10_000).map(|number| context.span_id(number)).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(!ids.contains(&[0; 8]));
        let other = TraceContext::new([7; 16], 43, true, None);
        assert!((0..10_000).all(|number| !ids.contains(&other.span_id(number))));
    }

    #[test]
    fn the_headers_name_the_span_that_sends_the_request() {
        let context = Arc::new(TraceContext::new([0xab; 16], 1, false, Some("v=1".into())));
        let request = RequestTrace::new(context.clone());
        request.set_span(3);
        let [(first, parent), (second, state)] = <[_; 2]>::try_from(request.headers()).unwrap();
        assert_eq!((first, second, &*state), ("traceparent", "tracestate", "v=1"));
        let id =
            context.span_id(3).iter().fold(String::new(), |id, byte| format!("{id}{byte:02x}"));
        assert_eq!(parent, format!("00-{}-{id}-00", "ab".repeat(16)));
    }
}
