//! The gRPC collector of a server that was built without the feature `otlp-grpc`: there is none, and a configured one
//! is refused.

use std::convert::Infallible;

use bytes::Bytes;

use super::answer::{ExportAnswer, ExportFailure};
use dsrs_config::TelemetryConfig;

/// A collector, which this server cannot have.
pub(super) struct NoGrpcCollector(Infallible);

impl NoGrpcCollector {
    pub(super) fn new(_: &TelemetryConfig) -> Result<Self, String> {
        Err("OTEL_EXPORTER_OTLP_PROTOCOL = \"grpc\": this server was built without the feature `otlp-grpc`; \
             use `http/protobuf`"
            .to_owned())
    }

    pub(super) async fn send(&mut self, _: Bytes) -> Result<ExportAnswer, ExportFailure> {
        match self.0 {}
    }
}
