//! The line in the log about each request: who asked for what, the status, the time and the run; never what was
//! asked or answered. Below it, at level `debug`, is the span of the request. Knows no route.

use std::time::Duration;

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Instrument, Level};

use crate::protocol::caller::Caller;
use dsrs_app::{RequestId, RunTimes};

/// A request that was answered.
pub(crate) struct AnsweredRequest<'a> {
    pub(crate) id: &'a RequestId,
    pub(crate) method: &'a Method,
    /// The pattern, not the path.
    pub(crate) route: &'a str,
    pub(crate) status: StatusCode,
    /// The time to the head of the answer.
    pub(crate) took: Duration,
}

/// Writes one event of a level with the members that every line has.
macro_rules! line {
    ($level:ident, $request:expr $(, $name:ident = $value:expr)*) => {
        tracing::$level!(
            id = &**$request.id,
            method = %$request.method,
            route = $request.route,
            status = $request.status.as_u16(),
            ms = $request.took.as_millis() as u64,
            run = $request.id.run().map(tracing::field::display),
            key = $request.id.actor(),
            $($name = $value,)*
            "answered"
        )
    };
}

impl AnsweredRequest<'_> {
    /// Writes the line: at `warn` from `slow` on, and at `debug` for what monitors and browsers fetch.
    pub(crate) fn log(&self, slow: Duration) {
        if self.status == StatusCode::INTERNAL_SERVER_ERROR {
            line!(error, self);
        } else if self.took >= slow {
            line!(warn, self, reason = reason(self.id.times()));
        } else if self.is_upkeep() {
            line!(debug, self);
        } else {
            line!(info, self);
        }
    }

    fn is_upkeep(&self) -> bool {
        matches!(self.route, "/healthz" | "/readyz" | "/metrics")
            || self.route.starts_with("/assets/")
            || self.route.starts_with("/docs")
    }
}

/// Why a request was slow.
fn reason(times: Option<RunTimes>) -> String {
    let Some(times) = times else { return "the request was slow".to_owned() };
    let [total, models, queued, tools, own] =
        [times.total, times.models, times.queued, times.tools, times.own]
            .map(|time| time.as_millis());
    format!(
        "the run waited longest for {}: of {total} ms, {models} for models, {queued} in the queue for models, \
         {tools} for tools, {own} for the server",
        times.longest()
    )
}

/// Runs the route, inside a span if the log shows spans.
pub(crate) async fn run_traced(next: Next, request: Request) -> Response {
    if !tracing::enabled!(Level::DEBUG) {
        return next.run(request).await;
    }
    let id = request.extensions().get::<Caller>().map(|caller| caller.request_id.clone());
    let (method, path) = (request.method(), request.uri().path());
    let span = tracing::debug_span!("request", id = id.as_deref(), %method, path);
    next.run(request).instrument(span).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_slow_request_names_what_took_the_longest() {
        let seconds = Duration::from_secs;
        let times = RunTimes {
            total: seconds(9),
            models: seconds(8),
            own: seconds(1),
            ..RunTimes::default()
        };
        let text = reason(Some(times));
        assert!(text.starts_with("the run waited longest for models: of 9000 ms, 8000"), "{text}");
    }
}
