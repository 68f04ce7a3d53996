//! A collector that is reached over gRPC. Requests are encoded before, so the codec passes bytes. Knows status codes, not
//! what requests contain.

use std::error::Error as _;

use bytes::{Buf, BufMut, Bytes};
use hyper::http::uri::PathAndQuery;
use tonic::client::Grpc;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Extensions, Request, Status};
use tonic_types::StatusExt;

use super::answer::{ExportAnswer, ExportFailure, shortened};
use super::http::headers;
use dsrs_config::TelemetryConfig;

const EXPORT: PathAndQuery =
    PathAndQuery::from_static("/opentelemetry.proto.collector.trace.v1.TraceService/Export");

/// How much of an answer is read.
const LONGEST_ANSWER: usize = 64 * 1024;

/// The channel, with what every request has.
pub(super) struct GrpcCollector {
    client: Grpc<Channel>,
    metadata: MetadataMap,
}

impl GrpcCollector {
    pub(super) fn new(config: &TelemetryConfig) -> Result<Self, String> {
        let endpoint = Endpoint::from_shared(config.endpoint.to_string());
        let mut endpoint = endpoint.map_err(|error| error.to_string())?;
        if config.endpoint.scheme() == "https" {
            let tls = ClientTlsConfig::new().with_native_roots();
            endpoint = endpoint.tls_config(tls).map_err(|error| error.to_string())?;
        }
        // Collectors compress their answer if they compress what they receive.
        let gzip = CompressionEncoding::Gzip;
        let client = Grpc::new(endpoint.connect_lazy()).accept_compressed(gzip);
        let client = if config.compressed { client.send_compressed(gzip) } else { client };
        Ok(Self { client, metadata: MetadataMap::from_headers(headers(config)?) })
    }

    pub(super) async fn send(&mut self, request: Bytes) -> Result<ExportAnswer, ExportFailure> {
        let connected = self.client.ready().await;
        connected.map_err(|error| ExportFailure::of_connection(&error))?;
        let request = Request::from_parts(self.metadata.clone(), Extensions::new(), request);
        let answered = self.client.unary(request, EXPORT, PlainCodec).await;
        answered
            .map(|answer| ExportAnswer::read(answer.get_ref()))
            .map_err(|status| failure(&status))
    }
}

fn failure(status: &Status) -> ExportFailure {
    // The connection failed, and there is no answer.
    if let Some(cause) = status.source() {
        return ExportFailure::of_connection(cause);
    }
    let pause = status.get_details_retry_info().and_then(|info| info.retry_delay);
    let is_passing = match status.code() {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => true,
        // Only if the collector says that it will recover.
        Code::ResourceExhausted => pause.is_some(),
        _ => false,
    };
    let message = shortened(status.message());
    let reason = format!("the collector answered {:?}: {message}", status.code());
    ExportFailure { reason, is_passing, pause }
}

/// Passes messages as they are.
#[derive(Clone, Copy, Debug)]
struct PlainCodec;

impl Codec for PlainCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for PlainCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(message);
        Ok(())
    }
}

impl Decoder for PlainCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        let length = message.remaining();
        if length > LONGEST_ANSWER {
            message.advance(length);
            return Ok(Some(Bytes::new()));
        }
        Ok(Some(message.copy_to_bytes(length)))
    }
}
