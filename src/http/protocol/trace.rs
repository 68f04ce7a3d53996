//! The span of each request and the line in the log about its answer, at level `debug`. Without that
//! level it costs nothing. Knows no route.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use tower::{Layer, ServiceExt};
use tower_http::trace::TraceLayer;
use tracing::{Level, Span};

use crate::http::protocol::caller::Caller;

/// Runs the route, inside a span if the log shows spans.
pub(crate) async fn run_traced(next: Next, request: Request) -> Response {
    if !tracing::enabled!(Level::DEBUG) {
        return next.run(request).await;
    }
    let layer = TraceLayer::new_for_http()
        .make_span_with(request_span)
        .on_request(())
        .on_response(log_answer)
        .on_body_chunk(())
        .on_eos(())
        .on_failure(());
    let Ok(answer) = Box::pin(layer.layer(next).oneshot(request)).await;
    answer.map(Body::new)
}

fn request_span(request: &Request) -> Span {
    let id = request.extensions().get::<Caller>().map(|caller| caller.request_id.as_ref());
    tracing::debug_span!("request", id, method = %request.method(), path = request.uri().path())
}

fn log_answer(answer: &Response, took: Duration, _: &Span) {
    tracing::debug!(status = answer.status().as_u16(), ?took, "answered");
}
