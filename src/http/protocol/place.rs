//! What can be told of a request by its path's end: whether its answer may be a stream, and whether
//! the thread of its connection may do it itself, between those of other connections: executions,
//! which are many and mostly wait. All else may compute for long or ask the database, and is done by
//! the workers that all share. Knows paths by their end only.

use axum::http::{HeaderMap, Method, Request, header};

use crate::http::protocol::idempotency;

/// The largest body that is read in between; it takes well under a millisecond.
const SMALL: u64 = 64 << 10;

/// Whether the thread of its connection may do the request itself.
#[must_use]
pub(crate) fn stays_on_its_thread<B>(request: &Request<B>) -> bool {
    request.method() == Method::POST
        && request.uri().path().ends_with("/execute")
        && is_small(request.headers())
        && !request.headers().contains_key(idempotency::KEY)
}

/// Whether the answer may be a stream of events.
#[must_use]
pub(crate) fn may_stream<B>(request: &Request<B>) -> bool {
    let path = request.uri().path();
    let followed = ["/v1/runs/", "/v1/evaluations/", "/v1/optimizations/"];
    let followed = followed.iter().any(|list| path.starts_with(list));
    path.ends_with("/execute") || (followed && path.ends_with("/events"))
}

/// Whether the answer may be a JSON document a line.
#[must_use]
pub(crate) fn may_be_lines<B>(request: &Request<B>) -> bool {
    let path = request.uri().path();
    (path.starts_with("/v1/batches/") && path.ends_with("/results"))
        || (path.starts_with("/v1/datasets/") && path.ends_with("/examples"))
}

fn is_small(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    length.and_then(|text| text.parse().ok()).is_some_and(|length: u64| length <= SMALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stays(method: Method, path: &str, headers: &[(&str, &str)]) -> bool {
        let request = Request::builder().method(method).uri(path);
        let with = |request: axum::http::request::Builder, (name, value): &(&str, &str)| {
            request.header(*name, *value)
        };
        stays_on_its_thread(&headers.iter().fold(request, with).body(()).unwrap())
    }

    #[test]
    fn only_short_executions_stay_on_the_thread_of_their_connection() {
        let (path, small) = ("/v1/graphs/g/execute", ("content-length", "100"));
        assert!(stays(Method::POST, path, &[small]));
        assert!(!stays(Method::POST, "/v1/graphs", &[small]));
        assert!(!stays(Method::GET, path, &[small]));
        assert!(!stays(Method::POST, path, &[]));
        assert!(!stays(Method::POST, path, &[("content-length", "65537")]));
        assert!(!stays(Method::POST, path, &[small, ("idempotency-key", "k")]));
    }
}
