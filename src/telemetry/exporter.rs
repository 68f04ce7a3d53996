//! The exporter of spans, over gRPC or HTTP. Knows addresses and headers, not what spans say.

use std::collections::HashMap;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::KeyValue;
use opentelemetry_otlp::tonic_types::metadata::MetadataMap;
use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;

use crate::config::{OtlpProtocol, TelemetryConfig};

/// The exporter of the settings. Connects with the first spans; call it in the runtime that sends them.
pub(super) fn exporter(config: &TelemetryConfig) -> Result<SpanExporter, String> {
    let exporter = match config.protocol {
        OtlpProtocol::Http => over_http(config),
        OtlpProtocol::Grpc => over_grpc(config),
    };
    let mut exporter = exporter?;
    exporter.set_resource(&resource(config));
    Ok(exporter)
}

fn resource(config: &TelemetryConfig) -> Resource {
    let pairs = config.resource.iter();
    let pairs = pairs.map(|(name, value)| KeyValue::new(name.clone(), value.clone()));
    Resource::builder_empty().with_attributes(pairs).build()
}

fn over_http(config: &TelemetryConfig) -> Result<SpanExporter, String> {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(dsrs::lm::tls()?)
        .redirect(reqwest::redirect::Policy::none())
        .timeout(config.timeout)
        .build()
        .map_err(|error| error.to_string())?;
    let headers: HashMap<String, String> = config.headers.iter().cloned().collect();
    SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_endpoint(config.endpoint.as_str())
        .with_headers(headers)
        .with_timeout(config.timeout)
        .build()
        .map_err(|error| error.to_string())
}

fn over_grpc(config: &TelemetryConfig) -> Result<SpanExporter, String> {
    let mut headers = HeaderMap::with_capacity(config.headers.len());
    for (name, value) in &config.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_str(value)) else {
            return Err("a header cannot be sent over gRPC".to_owned());
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let mut builder = SpanExporter::builder()
        .with_tonic()
        .with_endpoint(config.endpoint.as_str())
        .with_metadata(MetadataMap::from_headers(headers))
        .with_timeout(config.timeout);
    if config.endpoint.scheme() == "https" {
        builder = builder.with_tls_config(ClientTlsConfig::new().with_native_roots());
    }
    builder.build().map_err(|error| error.to_string())
}
