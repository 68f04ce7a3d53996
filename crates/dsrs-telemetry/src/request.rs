//! Requests of OTLP, assembled of encoded spans. Knows their messages and limits, not how they are sent.

use super::protobuf::{end_of_message, length_of, put_bytes, put_length};
use super::schema::{GENAI_SCHEMA, GENERAL_SCHEMA};
use super::span::{AttributeWriter, EncodedSpans};
use dsrs_config::TelemetryConfig;

/// Collectors accept 4 MiB over gRPC by default. One span may be larger.
pub(super) const MOST_BYTES: usize = 2 << 20;

/// The field for the spans of a scope, and for the scopes of a resource.
const CONTENT: u32 = 2;

/// The field for the address of the schema of a resource, and of a scope.
const SCHEMA: u32 = 3;

/// Who sends spans: what every request has besides them.
pub(super) struct SpanSource {
    /// `ResourceSpans.resource` and `schema_url`.
    resource: Vec<u8>,
    /// `ScopeSpans.scope` and `schema_url`.
    scope: Vec<u8>,
}

/// The spans of one request.
#[derive(Debug)]
pub(super) struct SpanBatch<'a> {
    pub(super) bytes: &'a [u8],
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
        Self {
            resource: with_schema(field(1, &attributes), GENERAL_SCHEMA),
            scope: with_schema(field(1, &scope), GENAI_SCHEMA),
        }
    }

    /// `ExportTraceServiceRequest` with one resource and one scope.
    pub(super) fn request(&self, batch: &SpanBatch<'_>) -> Vec<u8> {
        let within_scope = self.scope.len() + batch.bytes.len();
        let within_resource = self.resource.len() + length_of(within_scope);
        let mut out = Vec::with_capacity(length_of(within_resource));
        put_length(&mut out, 1, within_resource);
        out.extend_from_slice(&self.resource);
        put_length(&mut out, CONTENT, within_scope);
        out.extend_from_slice(&self.scope);
        out.extend_from_slice(batch.bytes);
        out
    }
}

fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, number, content);
    out
}

fn with_schema(mut source: Vec<u8>, url: &str) -> Vec<u8> {
    put_bytes(&mut source, SCHEMA, url.as_bytes());
    source
}

impl<'a> SpanBatch<'a> {
    /// Divides spans into batches of at most this number, and of at most the bytes that collectors accept.
    pub(super) fn divide(
        EncodedSpans { bytes, count }: &'a EncodedSpans,
        most: usize,
    ) -> Vec<Self> {
        match count {
            0 => return Vec::new(),
            count if *count <= most && bytes.len() <= MOST_BYTES => {
                return vec![Self { bytes, count: *count }];
            }
            _ => {}
        }
        let mut batches = Vec::new();
        let (mut from, mut to, mut count) = (0, 0, 0);
        while to < bytes.len() {
            let end = to + end_of_message(&bytes[to..]);
            if count == most || (count > 0 && end - from > MOST_BYTES) {
                batches.push(Self { bytes: &bytes[from..to], count });
                (from, count) = (to, 0);
            }
            (to, count) = (end, count + 1);
        }
        batches.push(Self { bytes: &bytes[from..to], count });
        batches
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use prost::Message;

    use super::*;
    use crate::SpanPlace;

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

    fn counts(spans: &EncodedSpans, most: usize) -> Vec<usize> {
        SpanBatch::divide(spans, most).iter().map(|batch| batch.count).collect()
    }

    #[test]
    fn a_batch_has_at_most_as_many_spans_as_asked_for() {
        assert_eq!(counts(&run(0, 1), 4), [0; 0]);
        assert_eq!(counts(&run(4, 1), 4), [4]);
        assert_eq!(counts(&run(10, 1), 4), [4, 4, 2]);
        assert_eq!(counts(&run(2, 1), 1), [1, 1]);
    }

    #[test]
    fn a_batch_is_no_larger_than_what_collectors_accept() {
        let megabyte = 1_000_000;
        assert_eq!(counts(&run(5, megabyte), 512), [2, 2, 1]);
        let mut spans = run(1, 1);
        // One span alone may be larger.
        spans.extend(&run(1, 5 * megabyte));
        spans.extend(&run(1, 1));
        assert_eq!(counts(&spans, 512), [1, 1, 1]);
    }

    #[test]
    fn a_request_reads_back_as_spans_of_one_resource() {
        let source = SpanSource {
            resource: with_schema(field(1, b""), "of the resource"),
            scope: with_schema(field(1, b"\x0a\x04name"), "of the scope"),
        };
        let mut spans = run(2, 300);
        spans.extend(&run(1, 1));
        let batches = SpanBatch::divide(&spans, 512);
        let request = ExportTraceServiceRequest::decode(&source.request(&batches[0])[..]).unwrap();
        let [resource] = &request.resource_spans[..] else { panic!("one resource") };
        let [scope] = &resource.scope_spans[..] else { panic!("one scope") };
        assert_eq!(scope.scope.as_ref().unwrap().name, "name");
        let schemas = [&*resource.schema_url, &*scope.schema_url];
        assert_eq!(schemas, ["of the resource", "of the scope"]);
        let ids: Vec<u8> = scope.spans.iter().map(|span| span.span_id[0]).collect();
        assert_eq!(ids, [0, 1, 0]);
    }
}
