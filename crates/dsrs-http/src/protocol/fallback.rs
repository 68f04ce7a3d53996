//! The answers if a route or method does not exist. The front makes problems of them; the router adds
//! `Allow`.

use axum::http::{Method, StatusCode};

/// The route does not exist.
pub(crate) async fn no_route() -> StatusCode {
    StatusCode::NOT_FOUND
}

/// The route has other methods; `OPTIONS` lists them.
pub(crate) async fn no_method(method: Method) -> StatusCode {
    match method {
        Method::OPTIONS => StatusCode::NO_CONTENT,
        _ => StatusCode::METHOD_NOT_ALLOWED,
    }
}
