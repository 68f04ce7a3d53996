//! Answers that are not problems: JSON with its headers, entity tags, `304`. Knows no resource.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::http::protocol::etag::{ETag, IfNoneMatch};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// JSON text with a status.
pub(crate) fn json(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// JSON text with `200`.
pub(crate) fn ok(text: String) -> Response {
    json(StatusCode::OK, text)
}

/// JSON text of a version.
pub(crate) fn tagged(etag: &ETag, text: String) -> Response {
    let mut response = ok(text);
    response.headers_mut().insert(header::ETAG, etag.header());
    response
}

/// JSON text of a new thing, with its place.
pub(crate) fn created(location: &str, etag: &ETag, text: String) -> Response {
    let mut response = tagged(etag, text);
    *response.status_mut() = StatusCode::CREATED;
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// Nothing to say.
pub(crate) fn no_content() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// JSON text of a version, or `304` when the reader has it.
pub(crate) fn fresh(known: &IfNoneMatch, etag: &ETag, text: impl FnOnce() -> String) -> Response {
    if !known.has(etag) {
        return tagged(etag, text());
    }
    not_modified(etag)
}

/// The reader has this version.
pub(crate) fn not_modified(etag: &ETag) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response.headers_mut().insert(header::ETAG, etag.header());
    response
}
