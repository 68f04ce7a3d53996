//! CORS: lets pages of the listed origins call the server and read its answers. Knows no route.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use tower::{Layer, ServiceExt, service_fn};
use tower_http::cors::CorsLayer;

use crate::protocol::admission::{RATE_LIMIT, RATE_LIMIT_POLICY};
use crate::protocol::caller::REQUEST_ID;
use crate::protocol::idempotency::{KEY, REPLAYED};
use crate::protocol::sse::LAST_EVENT_ID;

/// How long a browser may use the answer to a preflight.
const MAX_AGE: Duration = Duration::from_secs(600);

/// Answers preflights, and lets pages read answers.
pub(crate) struct Cors(CorsLayer);

impl Cors {
    /// CORS for these origins; `None` if there are none.
    pub(crate) fn new(origins: &[String]) -> Option<Self> {
        let origins: Vec<HeaderValue> =
            origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
        let methods = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        (!origins.is_empty()).then(|| {
            let layer = CorsLayer::new()
                .allow_origin(origins)
                .allow_methods(methods)
                .allow_headers(request_headers())
                .expose_headers(answer_headers())
                .allow_private_network(true)
                .max_age(MAX_AGE);
            Self(layer)
        })
    }

    /// Answers a preflight, or passes the request on and completes its answer.
    pub(crate) async fn answer<F>(
        &self,
        request: Request,
        serve: impl FnMut(Request) -> F,
    ) -> Response
    where
        F: Future<Output = Result<Response, Infallible>>,
    {
        let serve = service_fn(serve);
        let is_question = request.method() == Method::OPTIONS;
        let is_preflight = request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        // The layer takes every `OPTIONS` for a preflight; others ask for the methods of a route.
        let Ok(answer) = match is_question && !is_preflight {
            true => serve.oneshot(request).await,
            false => self.0.layer(serve).oneshot(request).await,
        };
        answer
    }
}

/// The headers of requests that have a meaning here.
fn request_headers() -> [HeaderName; 12] {
    [
        header::ACCEPT,
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        header::IF_MATCH,
        header::IF_NONE_MATCH,
        KEY,
        LAST_EVENT_ID,
        REQUEST_ID,
        HeaderName::from_static("mcp-session-id"),
        HeaderName::from_static("mcp-protocol-version"),
        HeaderName::from_static("mcp-method"),
        HeaderName::from_static("mcp-name"),
    ]
}

/// The headers of answers that pages may read.
fn answer_headers() -> [HeaderName; 8] {
    [
        header::ETAG,
        header::LOCATION,
        header::RETRY_AFTER,
        RATE_LIMIT,
        RATE_LIMIT_POLICY,
        REPLAYED,
        REQUEST_ID,
        HeaderName::from_static("mcp-session-id"),
    ]
}
