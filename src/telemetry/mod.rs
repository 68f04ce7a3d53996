//! OpenTelemetry: places in distributed traces (W3C Trace Context), and spans that are sent to a collector (OTLP). The
//! only room that knows the exporter. Knows neither runs nor requests.

mod context;
mod exporter;
mod queue;
mod sampler;

pub use context::RemoteSpan;
pub use queue::{SpanCounts, Telemetry};
