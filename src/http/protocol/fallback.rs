//! What is answered where no route or no method is. The front makes problems of them; the router
//! adds `Allow`.

use axum::http::{Method, StatusCode};

/// No such route.
pub(crate) async fn no_route() -> StatusCode {
    StatusCode::NOT_FOUND
}

/// The route has other methods; `OPTIONS` asks which.
pub(crate) async fn no_method(method: Method) -> StatusCode {
    match method {
        Method::OPTIONS => StatusCode::NO_CONTENT,
        _ => StatusCode::METHOD_NOT_ALLOWED,
    }
}
