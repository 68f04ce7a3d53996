//! Requests of OTLP, assembled of encoded spans. Knows their messages and limits, not how they are sent.

use super::protobuf::{end_of_message, length_of, put_bytes, put_length};
use super::span::{AttributeWriter, EncodedSpans};
use crate::config::TelemetryConfig;

/// Collectors accept 4 MiB over gRPC by default. One span may be larger.
pub(super) const MOST_BYTES: usize = 2 << 20;

/// The field for the spans of a scope, and for the scopes of a resource.
const CONTENT: u32 = 2;

/// Who sends spans: the first part of every request.
pub(super) struct SpanSource {
    /// `ResourceSpans.resource`.
    resource: Vec<u8>,
    /// `ScopeSpans.scope`.
    scope: Vec<u8>,
}

/// The spans of one request.
#[derive(Debug, Default)]
pub(super) struct SpanBatch<'a> {
    pieces: Vec<&'a [u8]>,
    pub(super) bytes: usize,
    pub(super) count: usize,
}

impl SpanSource {
    pub(super) fn of(config: &TelemetryConfig) -> Self {
        let mut attributes = Vec::new();
        let mut writer = AttributeWriter { out: &mut attributes, field: 1 };
        for (name, value) in &config.resource {
            writer.text(name, value);
        }
        let mut scope = Vec::new();
        put_bytes(&mut scope, 1, b"dsrs-server");
        put_bytes(&mut scope, 2, env!("CARGO_PKG_VERSION").as_bytes());
        Self { resource: field(1, &attributes), scope: field(1, &scope) }
    }

    /// `ExportTraceServiceRequest` with one resource and one scope.
    pub(super) fn request(&self, batch: &SpanBatch<'_>) -> Vec<u8> {
        let within_scope = self.scope.len() + batch.bytes;
        let within_resource = self.resource.len() + length_of(within_scope);
        let mut out = Vec::with_capacity(length_of(within_resource));
        put_length(&mut out, 1, within_resource);
        out.extend_from_slice(&self.resource);
        put_length(&mut out, CONTENT, within_scope);
        out.extend_from_slice(&self.scope);
        for piece in &batch.pieces {
            out.extend_from_slice(piece);
        }
        out
    }
}

fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, number, content);
    out
}

impl<'a> SpanBatch<'a> {
    /// Divides spans into batches of at most this number.
    pub(super) fn divide(spans: &'a [EncodedSpans], most: usize) -> Vec<Self> {
        let mut batches = vec![Self::default()];
        for EncodedSpans { bytes, count } in spans {
            if *count <= most && bytes.len() <= MOST_BYTES {
                Self::add(&mut batches, bytes, *count, most);
                continue;
            }
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (span, others) = rest.split_at(end_of_message(rest));
                Self::add(&mut batches, span, 1, most);
                rest = others;
            }
        }
        batches.retain(|batch| batch.count > 0);
        batches
    }

    fn add(batches: &mut Vec<Self>, piece: &'a [u8], count: usize, most: usize) {
        let fits = |batch: &Self| {
            batch.count + count <= most && batch.bytes.saturating_add(piece.len()) <= MOST_BYTES
        };
        match batches.last_mut().filter(|last| last.count == 0 || fits(last)) {
            Some(last) => {
                last.pieces.push(piece);
                last.bytes += piece.len();
                last.count += count;
            }
            None => batches.push(Self { pieces: vec![piece], bytes: piece.len(), count }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use prost::Message;

    use super::*;
    use crate::telemetry::SpanPlace;

    /// A run with this many spans, whose names have this length.
    fn run(count: u8, length: usize) -> EncodedSpans {
        let mut spans = EncodedSpans::default();
        for number in 0..count {
            let place = SpanPlace {
                trace_id: [1; 16],
                span_id: [number; 8],
                state: None,
                parent: None,
                has_remote_parent: false,
                start: UNIX_EPOCH,
                end: UNIX_EPOCH,
            };
            spans.add(&place, |out| out.name(&[&"n".repeat(length)]));
        }
        spans
    }

    fn counts(spans: &[EncodedSpans], most: usize) -> Vec<usize> {
        SpanBatch::divide(spans, most).iter().map(|batch| batch.count).collect()
    }

    #[test]
    fn a_batch_has_whole_runs_and_a_large_run_is_divided() {
        assert_eq!(counts(&[], 4), [0; 0]);
        assert_eq!(counts(&[run(3, 1), run(1, 1), run(2, 1)], 4), [4, 2]);
        assert_eq!(counts(&[run(3, 1), run(10, 1), run(2, 1)], 4), [4, 4, 4, 3]);
        assert_eq!(counts(&[run(1, 1), run(1, 1)], 1), [1, 1]);
    }

    #[test]
    fn a_batch_is_no_larger_than_what_collectors_accept() {
        let megabyte = 1_000_000;
        assert_eq!(counts(&[run(1, megabyte), run(5, megabyte)], 512), [2, 2, 2]);
        // One span alone may be larger.
        assert_eq!(counts(&[run(1, 1), run(1, 5 * megabyte), run(1, 1)], 512), [1, 1, 1]);
    }

    #[test]
    fn a_request_reads_back_as_spans_of_one_resource() {
        let source = SpanSource { resource: field(1, b""), scope: field(1, b"\x0a\x04name") };
        let spans = [run(2, 300), run(1, 1)];
        let batches = SpanBatch::divide(&spans, 512);
        let request = ExportTraceServiceRequest::decode(&source.request(&batches[0])[..]).unwrap();
        let [resource] = &request.resource_spans[..] else { panic!("one resource") };
        let [scope] = &resource.scope_spans[..] else { panic!("one scope") };
        assert_eq!(scope.scope.as_ref().unwrap().name, "name");
        let ids: Vec<u8> = scope.spans.iter().map(|span| span.span_id[0]).collect();
        assert_eq!(ids, [0, 1, 0]);
    }
}
