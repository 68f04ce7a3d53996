//! A collector of spans (OTLP over HTTP or gRPC) that decodes what arrives with the messages of the standard, and refuses
//! what does not fit.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::{Span, span, status};
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::PATIENCE;

/// The path of the service over gRPC.
const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

type Attributes = BTreeMap<String, Value>;

/// A span that arrived.
#[derive(Clone, Debug)]
pub struct SeenSpan {
    pub name: String,
    pub kind: span::SpanKind,
    /// In hexadecimal digits, as all ids.
    pub trace: String,
    pub id: String,
    /// Empty for a root.
    pub parent: String,
    pub state: String,
    pub attributes: Attributes,
    pub events: Vec<(String, Attributes)>,
    /// Trace and span of each.
    pub links: Vec<(String, String)>,
    pub failed: bool,
    pub message: String,
    pub resource: Attributes,
    /// The addresses of the schemas of its resource and its scope.
    pub schemas: [String; 2],
    /// The headers of its request.
    pub headers: HeaderMap,
    pub nanos: (u64, u64),
}

impl SeenSpan {
    /// An attribute; `null` if it is missing.
    pub fn get(&self, name: &str) -> Value {
        self.attributes.get(name).cloned().unwrap_or(Value::Null)
    }
}

/// A collector; it ends with the runtime of the test.
#[derive(Clone)]
pub struct Collector {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    seen: Arc<watch::Sender<Vec<SeenSpan>>>,
    /// Whether it never answers.
    stalls: bool,
    /// What it answers first, instead of accepting all spans.
    answers: Arc<Mutex<VecDeque<CollectorAnswer>>>,
}

/// An answer of a collector that has not accepted all spans.
#[derive(Clone, Copy, Debug)]
pub enum CollectorAnswer {
    /// None: a status of HTTP, or a code of gRPC.
    Refusal(u16),
    /// None, and asks for a pause of so many seconds.
    Pause(u16, u32),
    /// None, with details that cannot be read. Over gRPC.
    Malformed(u16),
    /// All but this many.
    Partial(i64),
}

/// What a status says whose details cannot be read.
const MALFORMED: &str = "malformed";

impl CollectorAnswer {
    /// A status of HTTP, or a code of gRPC.
    fn code(self) -> u16 {
        match self {
            Self::Refusal(code) | Self::Pause(code, _) | Self::Malformed(code) => code,
            Self::Partial(_) => 0,
        }
    }

    /// Over gRPC.
    fn status(self) -> Status {
        let code = Code::from(i32::from(self.code()));
        match self {
            Self::Pause(_, seconds) => {
                let pause = Duration::from_secs(seconds.into());
                Status::with_error_details(code, "no", ErrorDetails::with_retry_info(Some(pause)))
            }
            Self::Malformed(_) => Status::new(code, MALFORMED),
            _ => Status::new(code, ""),
        }
    }
}

impl Collector {
    /// Over HTTP with protobuf.
    pub async fn http() -> Self {
        let (collector, listener) = Self::listen(false).await;
        let router = collector.router();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        collector
    }

    /// Over gRPC.
    pub async fn grpc() -> Self {
        let (collector, listener) = Self::listen(false).await;
        let router = collector.router();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let service = TowerToHyperService::new(router.clone());
                let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(http.serve_connection(TokioIo::new(connection), service));
            }
        });
        collector
    }

    /// One that accepts requests and never answers.
    pub async fn stalling() -> Self {
        let (collector, listener) = Self::listen(true).await;
        let router = collector.router();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        collector
    }

    async fn listen(stalls: bool) -> (Self, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (seen, answers) = (Arc::new(watch::Sender::new(Vec::new())), Arc::default());
        (Self { url, seen, stalls, answers }, listener)
    }

    fn router(&self) -> Router {
        let router =
            Router::new().route("/v1/traces", post(over_http)).route(EXPORT, post(over_grpc));
        router.with_state(self.clone())
    }

    /// Answers the next requests with these.
    pub fn answer_next(&self, answers: &[CollectorAnswer]) {
        self.answers.lock().unwrap().extend(answers);
    }

    /// What has arrived.
    pub fn spans(&self) -> Vec<SeenSpan> {
        self.seen.borrow().clone()
    }

    /// Waits until this many spans have arrived.
    pub async fn arrived(&self, count: usize) -> Vec<SeenSpan> {
        let mut seen = self.seen.subscribe();
        let waited =
            tokio::time::timeout(PATIENCE, seen.wait_for(|seen| seen.len() >= count)).await;
        let found = self.spans();
        let names: Vec<&str> = found.iter().map(|span| span.name.as_str()).collect();
        assert!(waited.is_ok(), "waited too long for {count} spans: {names:?}");
        found
    }

    /// Takes spans, or else says how it does not; with the body of the answer.
    fn answer(&self, headers: &HeaderMap, message: &[u8]) -> Result<Vec<u8>, CollectorAnswer> {
        let answer = self.answers.lock().unwrap().pop_front();
        let rejected_spans = match answer {
            Some(CollectorAnswer::Partial(rejected)) => Some(rejected),
            Some(refusal) => return Err(refusal),
            None => None,
        };
        self.take(headers, message);
        let Some(rejected_spans) = rejected_spans else { return Ok(Vec::new()) };
        let error_message = "too old\nby a day".to_owned();
        let partial_success = Some(ExportTracePartialSuccess { rejected_spans, error_message });
        Ok(ExportTraceServiceResponse { partial_success }.encode_to_vec())
    }

    fn take(&self, headers: &HeaderMap, message: &[u8]) {
        let request = ExportTraceServiceRequest::decode(message).expect("a request of OTLP");
        for group in request.resource_spans {
            let resource = attributes(&group.resource.expect("a resource").attributes);
            for scope in group.scope_spans {
                assert_eq!(scope.scope.expect("a scope").name, "dsrs-server");
                let schemas = [group.schema_url.clone(), scope.schema_url];
                let spans = scope.spans.into_iter();
                let spans = spans.map(|span| seen(span, &resource, &schemas, headers));
                let spans: Vec<SeenSpan> = spans.collect();
                self.seen.send_modify(|seen| seen.extend(spans));
            }
        }
    }
}

async fn over_http(
    State(collector): State<Collector>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if collector.stalls {
        std::future::pending::<()>().await;
    }
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let body = match headers.get("content-encoding") {
        Some(encoding) => inflated(encoding, &body),
        None => body.to_vec(),
    };
    let form = [("content-type", "application/x-protobuf")];
    let refusal = match collector.answer(&headers, &body) {
        Ok(body) => return (form, body).into_response(),
        Err(refusal) => refusal,
    };
    let status = StatusCode::from_u16(refusal.code()).unwrap();
    let mut response = (status, form, "no").into_response();
    if let CollectorAnswer::Pause(_, seconds) = refusal {
        response.headers_mut().insert("retry-after", seconds.into());
    }
    response
}

async fn over_grpc(
    State(collector): State<Collector>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    assert_eq!(
        (&headers["content-type"], &headers["te"]),
        (&"application/grpc".parse::<HeaderValue>().unwrap(), &"trailers".parse().unwrap())
    );
    let (head, message) = body.split_at(5);
    assert_eq!(u32::from_be_bytes(head[1..].try_into().unwrap()), message.len() as u32);
    let message = match head[0] {
        0 => message.to_vec(),
        _ => inflated(&headers["grpc-encoding"], message),
    };
    let is_compressed = head[0] == 1;
    let (ended, message) = match collector.answer(&headers, &message) {
        Ok(message) => (Status::ok(""), Some(message)),
        Err(refusal) => (refusal.status(), None),
    };
    let mut trailers = HeaderMap::new();
    ended.add_header(&mut trailers).unwrap();
    if ended.message() == MALFORMED {
        trailers.insert("grpc-status-details-bin", "!".parse().unwrap());
    }
    let framed = message.map(|message| {
        // As grpc-go does, whose answers have the encoding of the request.
        let message = if is_compressed { deflated(&message) } else { message };
        let head = [&[u8::from(is_compressed)][..], &(message.len() as u32).to_be_bytes()].concat();
        Frame::data(Bytes::from([head, message].concat()))
    });
    let frames = framed.into_iter().chain([Frame::trailers(trailers)]);
    let body = StreamBody::new(stream::iter(frames.map(Ok::<_, Infallible>)));
    let encoding = if is_compressed { "gzip" } else { "identity" };
    let headers = [("content-type", "application/grpc"), ("grpc-encoding", encoding)];
    (StatusCode::OK, headers, Body::new(body)).into_response()
}

fn deflated(message: &[u8]) -> Vec<u8> {
    let mut compressed = Vec::new();
    GzEncoder::new(message, Compression::fast()).read_to_end(&mut compressed).unwrap();
    compressed
}

fn inflated(encoding: &HeaderValue, body: &[u8]) -> Vec<u8> {
    assert_eq!(encoding, "gzip");
    let mut plain = Vec::new();
    GzDecoder::new(body).read_to_end(&mut plain).unwrap();
    plain
}

fn seen(span: Span, resource: &Attributes, schemas: &[String; 2], headers: &HeaderMap) -> SeenSpan {
    assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
    assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{span:?}");
    let status = span.status.unwrap_or_default();
    SeenSpan {
        kind: span::SpanKind::try_from(span.kind).unwrap(),
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        state: span.trace_state,
        attributes: attributes(&span.attributes),
        events: span
            .events
            .into_iter()
            .map(|event| (event.name, attributes(&event.attributes)))
            .collect(),
        links: span.links.iter().map(|link| (hex(&link.trace_id), hex(&link.span_id))).collect(),
        failed: status.code == i32::from(status::StatusCode::Error),
        message: status.message,
        resource: resource.clone(),
        schemas: schemas.clone(),
        headers: headers.clone(),
        nanos: (span.start_time_unix_nano, span.end_time_unix_nano),
        name: span.name,
    }
}

fn attributes(pairs: &[KeyValue]) -> Attributes {
    let mut found = Attributes::new();
    for pair in pairs {
        let known = found.insert(pair.key.clone(), value(pair.value.as_ref().expect("a value")));
        assert!(known.is_none(), "{} is there twice", pair.key);
    }
    found
}

fn value(value: &AnyValue) -> Value {
    match value.value.as_ref().expect("a value") {
        any_value::Value::StringValue(text) => json!(text),
        any_value::Value::BoolValue(bool) => json!(bool),
        any_value::Value::IntValue(int) => json!(int),
        any_value::Value::DoubleValue(double) => json!(double),
        any_value::Value::ArrayValue(list) => list.values.iter().map(self::value).collect(),
        other => panic!("an attribute of a type that is not used: {other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
