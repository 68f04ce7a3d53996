//! Compression of large JSON and text. Event streams are never compressed: a compressor delays them.
//! A small answer is not touched, and costs nothing here. Knows no route.

use std::convert::Infallible;
use std::future::ready;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use tower::{Layer, ServiceExt, service_fn};
use tower_http::compression::predicate::{Predicate, SizeAbove};
use tower_http::compression::{CompressionLayer, CompressionLevel};

use crate::protocol::etag;

/// The size from which an answer is compressed.
const LARGE: u16 = 8 << 10;

/// Compresses large answers with gzip, which every client knows.
pub(crate) struct Compression(CompressionLayer<LargeText>);

impl Compression {
    /// `None` if answers are sent as they are.
    pub(crate) fn new(enabled: bool) -> Option<Self> {
        // Most of the gain in a third of the time of the default level.
        let layer = CompressionLayer::new().quality(CompressionLevel::Fastest);
        enabled.then(|| Self(layer.compress_when(LargeText)))
    }

    /// Whether an answer depends on the `Accept-Encoding` of its client.
    pub(crate) fn concerns(answer: &Response) -> bool {
        answer.status() == StatusCode::NOT_MODIFIED || LargeText.should_compress(answer)
    }

    /// An answer as a client with this `Accept-Encoding` receives it.
    pub(crate) async fn encode(&self, accepts: Option<HeaderValue>, answer: Response) -> Response {
        if answer.status() == StatusCode::NOT_MODIFIED {
            return varied(answer);
        }
        if !LargeText.should_compress(&answer) {
            return answer;
        }
        let mut request = Request::new(Body::empty());
        request.headers_mut().extend(accepts.map(|accepts| (header::ACCEPT_ENCODING, accepts)));
        let mut answer = Some(answer);
        let answered = service_fn(move |_: Request| {
            ready(Ok::<_, Infallible>(answer.take().unwrap_or_default()))
        });
        let Ok(encoded) = self.0.layer(answered).oneshot(request).await;
        tagged(encoded.map(Body::new))
    }
}

/// The value of `Accept-Encoding`, if the request has one.
pub(crate) fn accepted_encoding(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(header::ACCEPT_ENCODING).cloned()
}

/// Decides which answers are compressed.
#[derive(Clone, Copy)]
struct LargeText;

impl Predicate for LargeText {
    fn should_compress<B: HttpBody>(&self, answer: &axum::http::Response<B>) -> bool {
        SizeAbove::new(LARGE).should_compress(answer)
            && answer.headers().get(header::CONTENT_TYPE).is_some_and(is_text)
    }
}

fn is_text(media_type: &HeaderValue) -> bool {
    let name = media_type.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    match name.trim_ascii() {
        b"text/event-stream" => false,
        b"application/json" | b"application/problem+json" | b"application/jsonl" => true,
        other => other.starts_with(b"text/"),
    }
}

/// `304` names what the complete answer depends on.
fn varied(mut answer: Response) -> Response {
    answer.headers_mut().append(header::VARY, header::ACCEPT_ENCODING.into());
    answer
}

/// A strong tag stands for one sequence of bytes: the compressed answer has another.
fn tagged(mut answer: Response) -> Response {
    let is_compressed = answer.headers().contains_key(header::CONTENT_ENCODING);
    let tag = answer.headers().get(header::ETAG).filter(|_| is_compressed);
    if let Some(tag) = tag.and_then(etag::compressed) {
        answer.headers_mut().insert(header::ETAG, tag);
    }
    answer
}
