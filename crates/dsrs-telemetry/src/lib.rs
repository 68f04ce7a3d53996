//! OpenTelemetry: places in distributed traces (W3C Trace Context), and spans that are encoded and sent to a collector
//! (OTLP). The only room that knows the protocol. Knows neither runs nor requests.

mod answer;
mod context;
mod exporter;
#[cfg(feature = "otlp-grpc")]
mod grpc;
#[cfg(not(feature = "otlp-grpc"))]
mod grpc_absent;
mod http;
mod protobuf;
mod queue;
mod request;
mod sampler;
mod schema;
mod span;

pub use context::RemoteSpan;
pub use queue::{SpanCounts, Telemetry};
pub use sampler::is_collected;
pub use schema::{GENAI_SCHEMA, GENERAL_SCHEMA};
pub use span::{AttributeWriter, EncodedSpans, SpanPlace, SpanRole, SpanWriter};
