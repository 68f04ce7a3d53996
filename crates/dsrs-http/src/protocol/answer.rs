//! Answers that are not problems: views as JSON with their headers, entity tags, `304`. Knows no
//! resource.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use serde::Serialize;

use crate::protocol::etag::{ETag, IfNoneMatch};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Initial capacity of an answer; most answers fit.
const CAPACITY: usize = 1024;

/// A view as JSON text.
pub(crate) fn to_text(view: &impl Serialize) -> String {
    String::from_utf8(to_json(view)).unwrap_or_default()
}

fn to_json(view: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::with_capacity(CAPACITY);
    write(&mut text, view);
    text
}

pub(crate) fn json_lines<V: Serialize>(views: impl IntoIterator<Item = V>) -> Bytes {
    let mut text = Vec::with_capacity(CAPACITY);
    for view in views {
        write(&mut text, &view);
        text.push(b'\n');
    }
    text.into()
}

fn write(text: &mut Vec<u8>, view: &impl Serialize) {
    // Fails only for maps with keys that are not text; no view has one.
    if let Err(error) = serde_json::to_writer(text, view) {
        tracing::error!(%error, "a view has no JSON form");
    }
}

/// A view with a status.
pub(crate) fn json(status: StatusCode, view: &impl Serialize) -> Response {
    json_text(status, to_json(view))
}

fn json_text(status: StatusCode, text: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// A view with `200`.
pub(crate) fn ok(view: &impl Serialize) -> Response {
    json(StatusCode::OK, view)
}

/// A view that is written already, with `200`.
pub(crate) fn ok_text(text: String) -> Response {
    json_text(StatusCode::OK, text.into_bytes())
}

/// A view of a version, with its `ETag`.
pub(crate) fn tagged(etag: &ETag, view: &impl Serialize) -> Response {
    let mut response = ok(view);
    response.headers_mut().insert(header::ETAG, etag.header());
    response
}

/// A view of a new resource: `201` with its address.
pub(crate) fn created(location: &str, etag: &ETag, view: &impl Serialize) -> Response {
    let mut response = tagged(etag, view);
    *response.status_mut() = StatusCode::CREATED;
    located(response, location)
}

/// A view of a job that a worker will run: `202` with its address.
pub(crate) fn accepted(location: &str, view: &impl Serialize) -> Response {
    located(json(StatusCode::ACCEPTED, view), location)
}

fn located(mut response: Response, location: &str) -> Response {
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// An answer without a body.
pub(crate) fn no_content() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// A view of a version, or `304` if the client has that version.
pub(crate) fn fresh(known: &IfNoneMatch, etag: &ETag, view: &impl Serialize) -> Response {
    known.find(etag).map_or_else(|| tagged(etag, view), |own| not_modified(&own))
}

/// `304`: the client has this version, under this tag.
pub(crate) fn not_modified(etag: &ETag) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response.headers_mut().insert(header::ETAG, etag.header());
    response
}
