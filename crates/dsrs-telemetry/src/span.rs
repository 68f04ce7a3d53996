//! Spans in the encoding of OTLP, written as they are described. There is no span as a value: a run has dozens of
//! attributes, and each would be copied three times before it is the same bytes. Knows the messages of OTLP, not what
//! spans say.
//!
//! Messages: <https://github.com/open-telemetry/opentelemetry-proto>, `trace/v1/trace.proto`.

use std::mem;
use std::time::{SystemTime, UNIX_EPOCH};

use super::RemoteSpan;
use super::protobuf::{
    length_of, put_bytes, put_fixed32, put_fixed64, put_length, put_message, put_text, put_varint,
};

/// Numbers of the fields of `opentelemetry.proto.trace.v1.Span`.
mod field {
    pub(super) const TRACE_ID: u32 = 1;
    pub(super) const SPAN_ID: u32 = 2;
    pub(super) const TRACE_STATE: u32 = 3;
    pub(super) const PARENT: u32 = 4;
    pub(super) const NAME: u32 = 5;
    pub(super) const KIND: u32 = 6;
    pub(super) const START: u32 = 7;
    pub(super) const END: u32 = 8;
    pub(super) const ATTRIBUTES: u32 = 9;
    pub(super) const EVENTS: u32 = 11;
    pub(super) const LINKS: u32 = 13;
    pub(super) const STATUS: u32 = 15;
    pub(super) const FLAGS: u32 = 16;
}

/// The field of `ScopeSpans` for its spans.
pub(super) const SPANS: u32 = 2;

/// The bytes of the length of most spans: they take 128 bytes to 16 KiB.
const DIGITS: usize = 2;

/// The most memory that is used again for the spans of the next run.
const MOST_REUSED: usize = 64 * 1024;

/// `Span.flags`: the next bit is known.
const KNOWS_REMOTE: u32 = 0x100;
/// `Span.flags`: the parent is of another process.
const IS_REMOTE: u32 = 0x200;

/// Encoded spans, ready to be sent.
#[derive(Debug, Default)]
pub struct EncodedSpans {
    /// Fields of `ScopeSpans`.
    pub(super) bytes: Vec<u8>,
    pub(super) count: usize,
}

/// What a span does, as seen from its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanRole {
    /// A step within the process.
    Internal = 1,
    /// The answer to a request.
    Server = 2,
    /// A request to another service.
    Client = 3,
}

/// Where a span is in its trace, and when it was.
#[derive(Clone, Copy, Debug)]
pub struct SpanPlace<'a> {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    /// What other vendors have added to the trace.
    pub state: Option<&'a str>,
    /// The span above.
    pub parent: Option<[u8; 8]>,
    /// Whether that span belongs to another process.
    pub has_remote_parent: bool,
    /// Its begin.
    pub start: SystemTime,
    /// Its end; not before its begin.
    pub end: SystemTime,
}

impl EncodedSpans {
    /// Adds a collected span, with what `describe` says of it.
    pub fn add(&mut self, place: &SpanPlace<'_>, describe: impl FnOnce(&mut SpanWriter<'_>)) {
        self.count += 1;
        put_message(&mut self.bytes, SPANS, DIGITS, |out| {
            put_place(out, place);
            describe(&mut SpanWriter(out));
        });
    }

    /// Adds other spans.
    pub(super) fn extend(&mut self, others: &Self) {
        self.bytes.extend_from_slice(&others.bytes);
        self.count += others.count;
    }

    /// Takes the spans, and leaves memory for as many.
    pub(super) fn take(&mut self) -> Self {
        let room = Vec::with_capacity(self.bytes.len());
        Self { bytes: mem::replace(&mut self.bytes, room), count: mem::take(&mut self.count) }
    }

    /// Removes all spans, and keeps their memory for others unless it is unusually large.
    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.bytes.clear();
        self.bytes.shrink_to(MOST_REUSED);
    }
}

fn put_place(out: &mut Vec<u8>, place: &SpanPlace<'_>) {
    put_bytes(out, field::TRACE_ID, &place.trace_id);
    put_bytes(out, field::SPAN_ID, &place.span_id);
    if let Some(state) = place.state {
        put_bytes(out, field::TRACE_STATE, state.as_bytes());
    }
    if let Some(parent) = &place.parent {
        put_bytes(out, field::PARENT, parent);
    }
    put_fixed64(out, field::START, nanos(place.start));
    put_fixed64(out, field::END, nanos(place.end));
    put_fixed32(out, field::FLAGS, flags(true, place.has_remote_parent));
}

const fn flags(sampled: bool, remote: bool) -> u32 {
    KNOWS_REMOTE | if remote { IS_REMOTE } else { 0 } | sampled as u32
}

/// Nanoseconds since 1970; a time before is 0.
fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Describes one span.
pub struct SpanWriter<'a>(&'a mut Vec<u8>);

impl SpanWriter<'_> {
    /// Its name, of pieces. Call it once.
    pub fn name(&mut self, pieces: &[&str]) {
        put_text(self.0, field::NAME, pieces);
    }

    /// What it does. Call it once.
    pub fn role(&mut self, role: SpanRole) {
        put_varint(self.0, field::KIND, role as u64);
    }

    /// It failed, with these words, which may be empty.
    pub fn fail(&mut self, words: &str) {
        const ERROR: u64 = 2;
        put_message(self.0, field::STATUS, 1, |out| {
            if !words.is_empty() {
                put_bytes(out, 2, words.as_bytes());
            }
            put_varint(out, 3, ERROR);
        });
    }

    /// A span of another trace that belongs to this one.
    pub fn link(&mut self, to: &RemoteSpan) {
        put_message(self.0, field::LINKS, 1, |out| {
            put_bytes(out, 1, &to.trace_id);
            put_bytes(out, 2, &to.span_id);
            if let Some(state) = &to.state {
                put_bytes(out, 3, state.as_bytes());
            }
            put_fixed32(out, 6, flags(to.sampled, false));
        });
    }

    /// Something that happened at a moment.
    pub fn event(
        &mut self,
        name: &str,
        at: SystemTime,
        describe: impl FnOnce(&mut AttributeWriter<'_>),
    ) {
        put_message(self.0, field::EVENTS, 1, |out| {
            put_fixed64(out, 1, nanos(at));
            put_bytes(out, 2, name.as_bytes());
            describe(&mut AttributeWriter { out, field: 3 });
        });
    }

    pub fn attributes(&mut self) -> AttributeWriter<'_> {
        AttributeWriter { out: self.0, field: field::ATTRIBUTES }
    }
}

/// Appends attributes (`KeyValue`) to a field.
pub struct AttributeWriter<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) field: u32,
}

impl AttributeWriter<'_> {
    pub fn text(&mut self, key: &str, text: &str) {
        self.pieces(key, &[text]);
    }

    /// A text of pieces.
    pub fn pieces(&mut self, key: &str, pieces: &[&str]) {
        self.key(key, length_of(pieces.iter().map(|piece| piece.len()).sum()));
        put_text(self.out, 1, pieces);
    }

    pub fn flag(&mut self, key: &str, flag: bool) {
        self.key(key, 2);
        put_varint(self.out, 2, u64::from(flag));
    }

    /// A whole number.
    pub fn integer(&mut self, key: &str, number: i64) {
        // Negative numbers are written as the positive ones with the same bits.
        let bits = number.cast_unsigned();
        self.key(key, 1 + prost::encoding::encoded_len_varint(bits));
        put_varint(self.out, 3, bits);
    }

    /// A count; the largest number of the protocol if it is larger.
    pub fn count(&mut self, key: &str, count: u64) {
        self.integer(key, i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub fn number(&mut self, key: &str, number: f64) {
        self.key(key, 9);
        put_fixed64(self.out, 4, number.to_bits());
    }

    /// A list of texts.
    pub fn texts<'t>(&mut self, key: &str, texts: impl Iterator<Item = &'t str> + Clone) {
        let values = texts.clone().map(|text| length_of(length_of(text.len()))).sum();
        self.key(key, length_of(values));
        put_length(self.out, 5, values);
        for text in texts {
            put_length(self.out, 1, length_of(text.len()));
            put_bytes(self.out, 1, text.as_bytes());
        }
    }

    /// What precedes the content of a value of this length.
    fn key(&mut self, key: &str, value: usize) {
        put_length(self.out, self.field, length_of(key.len()) + length_of(value));
        put_bytes(self.out, 1, key.as_bytes());
        put_length(self.out, 2, value);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
    use opentelemetry_proto::tonic::trace::v1::{ScopeSpans, Span, Status, span};
    use proptest::prelude::*;
    use prost::Message;

    use super::*;

    fn decoded(spans: &EncodedSpans) -> Vec<Span> {
        let scope = ScopeSpans::decode(&spans.bytes[..]).unwrap();
        assert_eq!(scope.spans.len(), spans.count);
        assert_eq!(scope.encode_to_vec().len(), spans.bytes.len(), "as short as any encoding");
        scope.spans
    }

    fn place() -> SpanPlace<'static> {
        let start = UNIX_EPOCH + Duration::from_nanos(1_700_000_000_000_000_001);
        SpanPlace {
            trace_id: [7; 16],
            span_id: [8; 8],
            state: Some("vendor=1"),
            parent: Some([9; 8]),
            has_remote_parent: true,
            start,
            end: start + Duration::from_nanos(5),
        }
    }

    fn attribute(key: &str, value: Value) -> KeyValue {
        let value = Some(AnyValue { value: Some(value) });
        KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
    }

    #[test]
    fn a_span_reads_back_as_it_was_described() {
        let mut spans = EncodedSpans::default();
        let other = RemoteSpan { trace_id: [1; 16], span_id: [2; 8], sampled: true, state: None };
        spans.add(&place(), |out| {
            out.role(SpanRole::Client);
            out.name(&["chat", " ", "small"]);
            out.link(&other);
            out.event("scored", place().end, |to| to.number("value", 0.5));
            out.attributes().flag("streams", true);
            out.fail("too long");
        });
        let [span] = <[Span; 1]>::try_from(decoded(&spans)).unwrap();
        assert_eq!(span.trace_id, [7; 16]);
        assert_eq!(span.span_id, [8; 8]);
        assert_eq!(span.parent_span_id, [9; 8]);
        assert_eq!((span.trace_state.as_str(), span.name.as_str()), ("vendor=1", "chat small"));
        assert_eq!((span.kind(), span.flags), (span::SpanKind::Client, 0x301));
        let begin = 1_700_000_000_000_000_001;
        assert_eq!((span.start_time_unix_nano, span.end_time_unix_nano), (begin, begin + 5));
        assert_eq!(span.attributes, [attribute("streams", Value::BoolValue(true))]);
        let event = &span.events[0];
        assert_eq!((event.name.as_str(), event.time_unix_nano), ("scored", begin + 5));
        assert_eq!(event.attributes, [attribute("value", Value::DoubleValue(0.5))]);
        assert_eq!((&span.links[0].trace_id[..], span.links[0].flags), (&[1; 16][..], 0x101));
        assert_eq!(span.status, Some(Status { message: "too long".into(), code: 2 }));
    }

    #[test]
    fn a_failure_without_words_and_a_span_without_parent_have_no_empty_fields() {
        let mut spans = EncodedSpans::default();
        let root = SpanPlace { state: None, parent: None, has_remote_parent: false, ..place() };
        spans.add(&root, |out| out.fail(""));
        let span = &decoded(&spans)[0];
        assert!(span.parent_span_id.is_empty() && span.trace_state.is_empty());
        assert_eq!((span.flags, span.status.as_ref().unwrap().code), (0x101, 2));
    }

    proptest! {
        #[test]
        fn attributes_of_every_kind_and_length_read_back(
            texts in proptest::collection::vec(".{0,300}", 0..5),
            key in ".{1,200}",
            whole in any::<i64>(),
            number in proptest::num::f64::NORMAL,
        ) {
            let mut spans = EncodedSpans::default();
            spans.add(&place(), |out| {
                let to = &mut out.attributes();
                to.integer(&key, whole);
                to.number(&key, number);
                to.texts(&key, texts.iter().map(String::as_str));
                let pieces: Vec<&str> = texts.iter().map(String::as_str).collect();
                to.pieces(&key, &pieces);
            });
            let values = texts.iter().map(|text| AnyValue { value: Some(Value::StringValue(text.clone())) });
            let list = opentelemetry_proto::tonic::common::v1::ArrayValue { values: values.collect() };
            prop_assert_eq!(&decoded(&spans)[0].attributes, &[
                attribute(&key, Value::IntValue(whole)),
                attribute(&key, Value::DoubleValue(number)),
                attribute(&key, Value::ArrayValue(list)),
                attribute(&key, Value::StringValue(texts.concat())),
            ]);
        }
    }
}
