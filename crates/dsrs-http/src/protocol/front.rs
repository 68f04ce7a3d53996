//! The layer in front of all routes: request ids, other web sites, admission, threads, panics,
//! metrics, and the rendering of every problem, including those of the framework. Knows no resource.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use dsrs::lm::{TRACEPARENT, TRACESTATE};
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::protocol::admission::{Admission, Presented, admit};
use crate::protocol::caller::{Caller, REQUEST_ID, request_id};
use crate::protocol::compression::{Compression, accepted_encoding};
use crate::protocol::cors::Cors;
use crate::protocol::openai_problem;
use crate::protocol::problem::{
    AnsweredProblem, ApiProblem, ForeignError, PROBLEM_JSON, PendingProblem,
};
use crate::protocol::request_log::{AnsweredRequest, run_traced};
use crate::protocol::route::{RouteInfo, RouteTable, RunsOn};
use crate::protocol::same_site::{SiteGuard, is_probe};
use crate::protocol::status::{ProblemCode, code_of};
use dsrs_app::metrics::Metrics;
use dsrs_app::{AnsweredSpan, AppError, ComputePool, RequestId, spawn_named_on};
use dsrs_telemetry::{RemoteSpan, Telemetry};

/// What the front shares between requests.
pub(crate) struct Front {
    /// The keys of clients, and their limits.
    pub(crate) admission: Admission,
    /// Refuses other web sites as long as there is no key.
    pub(crate) guard: Option<SiteGuard>,
    pub(crate) cors: Option<Cors>,
    pub(crate) compression: Option<Compression>,
    pub(crate) metrics: Arc<Metrics>,
    /// Where spans are sent to, if anywhere.
    pub(crate) telemetry: Option<Arc<Telemetry>>,
    pub(crate) routes: RouteTable,
    /// The threads for what clients make the server compute.
    pub(crate) compute: ComputePool,
    /// How long a request may compute.
    pub(crate) request_time: Duration,
    /// From when on a request is logged as slow.
    pub(crate) slow_request: Duration,
}

/// Gives a request its id, answers it, and completes the answer.
pub(crate) async fn front(
    State(front): State<Arc<Front>>,
    request: Request,
    next: Next,
) -> Response {
    let is_openai = request.uri().path().starts_with(openai_problem::PREFIX);
    let answer = complete(&front, request, next).await;
    if is_openai { openai_problem::shown(answer) } else { answer }
}

async fn complete(front: &Front, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let (id, id_header) = request_id(request.headers());
    front.offer_trace(&id, request.headers());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let path = front.telemetry.as_ref().map(|_| request.uri().path().to_owned());
    let compression = front.compression.as_ref();
    let compression = compression.map(|found| (found, accepted_encoding(request.headers())));
    let requires_key = match is_probe(&request) {
        // A probe is answered at once, even if the database is not.
        true => Ok(false),
        false => front.admission.requires_key().await,
    };
    let answer = match (front.admit_site(&request, &requires_key), &front.cors) {
        (Err(problem), _) => refuse(&problem, &id),
        (Ok(()), None) => front.answer(next, request, &id, requires_key).await,
        (Ok(()), Some(cors)) => {
            let answer = |request| {
                let answer = front.answer(next.clone(), request, &id, requires_key.clone());
                Box::pin(answer).map(Ok)
            };
            Box::pin(cors.answer(request, answer)).await
        }
    };
    let mut answer = match compression {
        // Boxed, because most answers are small, and every request would reserve space for it.
        Some((compression, encoding)) if Compression::concerns(&answer) => {
            Box::pin(compression.encode(encoding, answer)).await
        }
        _ => answer,
    };
    answer.headers_mut().insert(REQUEST_ID, id_header);
    let route = route.as_ref().map_or("other", MatchedPath::as_str);
    let (status, took) = (answer.status(), started.elapsed());
    AnsweredRequest { id: &id, method: &method, route, status, took }.log(front.slow_request);
    let method = method_name(&method);
    front.metrics.request(route, method, status.as_u16(), took);
    if let (Some(telemetry), Some(path)) = (&front.telemetry, &path) {
        AnsweredSpan { id: &id, method, route, path, status: status.as_u16(), took }
            .send(telemetry);
    }
    answer
}

/// The front of the listener for monitoring: it has no keys, no limits, and no metrics of itself.
pub(crate) async fn monitor_front(
    State(guard): State<Arc<SiteGuard>>,
    request: Request,
    next: Next,
) -> Response {
    let (id, id_header) = request_id(request.headers());
    let mut answer = match guard.admit(&request) {
        Ok(()) => finish(run(next, request, &id).await, &id),
        Err(problem) => refuse(&problem, &id),
    };
    answer.headers_mut().insert(REQUEST_ID, id_header);
    answer
}

impl Front {
    /// Lets the request have a span, below that of the client if it sends one.
    fn offer_trace(&self, id: &RequestId, headers: &HeaderMap) {
        let Some(telemetry) = &self.telemetry else { return };
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let parent = text(TRACEPARENT).and_then(|span| RemoteSpan::read(span, text(TRACESTATE)));
        id.offer_trace(parent, *telemetry.sampler());
    }

    fn admit_site(
        &self,
        request: &Request,
        requires_key: &Result<bool, AppError>,
    ) -> Result<(), ApiProblem> {
        match (&self.guard, requires_key) {
            (None, _) | (_, Ok(true)) => Ok(()),
            (Some(guard), _) => guard.admit(request),
        }
    }

    /// Admits a client and runs the route.
    async fn answer(
        &self,
        next: Next,
        mut request: Request,
        id: &RequestId,
        requires_key: Result<bool, AppError>,
    ) -> Response {
        let route = request.extensions().get::<MatchedPath>();
        let info = route.map(|route| self.routes.find(route.as_str(), request.method()));
        let identified = self.admission.identify(Presented::of(&request, info), requires_key).await;
        let admitted = identified.and_then(|identity| {
            admit(&request, &identity, info)?;
            Ok(identity)
        });
        let identity = match admitted {
            Ok(identity) => identity,
            Err(problem) => return refuse(&problem, id),
        };
        id.note_actor(&identity.scope.actor);
        let quota = self.admission.quota(&identity);
        let answer = match self.admission.count(quota.as_ref(), info).await {
            Ok(place) => {
                let caller = Caller { request_id: id.clone(), identity, place };
                request.extensions_mut().insert(caller);
                self.run(next, request, id, info).await
            }
            Err(problem) => refuse(&problem, id),
        };
        let mut answer = finish(answer, id);
        self.admission.show(quota.as_ref(), answer.headers_mut());
        answer
    }

    /// Runs the route on the threads that it declares. If the client disconnects, the request is
    /// dropped, and what it computes ends.
    async fn run(
        &self,
        next: Next,
        request: Request,
        id: &RequestId,
        info: Option<RouteInfo>,
    ) -> Response {
        let threads = info.map_or(RunsOn::Compute, |info| info.runs_on(request.headers()));
        if threads == RunsOn::Connection {
            return run(next, request, id).await;
        }
        let id = id.clone();
        let running = async move { run(next, request, &id).await };
        let cancelled = CancellationToken::new();
        let running = match threads {
            RunsOn::Service => spawn_named_on(self.compute.service(), "a request", running),
            _ => self.compute.spawn_within("a request", self.request_time, &cancelled, running),
        };
        let _cancelled = cancelled.drop_guard();
        let answer = AbortOnDropHandle::new(running).await.ok().flatten();
        answer.unwrap_or_else(|| broken().into_response())
    }
}

/// The answer to a request that reaches no route.
fn refuse(problem: &ApiProblem, id: &str) -> Response {
    tracing::debug!(id, detail = problem.detail(), "refused");
    AnsweredProblem(Arc::new(problem.clone())).render(id)
}

/// Runs the route. A panic becomes an `internal` problem without details.
async fn run(next: Next, request: Request, id: &str) -> Response {
    let handled = AssertUnwindSafe(run_traced(next, request)).catch_unwind().await;
    handled.unwrap_or_else(|panic| {
        tracing::error!(id, panic = panic_text(panic.as_ref()), "a handler panicked");
        broken().into_response()
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

fn broken() -> ApiProblem {
    let detail = "an internal error occurred; the log has details under this request id";
    ApiProblem::new(ProblemCode::Internal, detail)
}

/// Renders every failure that is not a problem document yet as one.
fn finish(mut answer: Response, id: &str) -> Response {
    if !(answer.status().is_client_error() || answer.status().is_server_error()) {
        return answer;
    }
    if let Some(PendingProblem(problem)) = answer.extensions_mut().remove::<PendingProblem>() {
        return carry_headers(&answer, AnsweredProblem(problem).render(id));
    }
    if answer.extensions().get::<ForeignError>().is_some() {
        return answer;
    }
    let media_type = answer.headers().get(header::CONTENT_TYPE);
    // A form of the page that was refused is shown again, with the reason.
    if media_type
        .is_some_and(|found| *found == PROBLEM_JSON || found.as_bytes().starts_with(b"text/html"))
    {
        return answer;
    }
    let problem = Arc::new(framework_problem(answer.status()));
    carry_headers(&answer, AnsweredProblem(problem).render(id))
}

/// Copies the headers that other layers set, such as `Allow`.
fn carry_headers(from: &Response, mut to: Response) -> Response {
    for (name, value) in from.headers() {
        let framing = [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
        if !framing.contains(name) && !to.headers().contains_key(name) {
            to.headers_mut().append(name, value.clone());
        }
    }
    to
}

fn framework_problem(status: StatusCode) -> ApiProblem {
    match status {
        StatusCode::NOT_FOUND => ApiProblem::not_found("there is no such route; see /docs/"),
        StatusCode::METHOD_NOT_ALLOWED => {
            let detail = "the route exists, but not with this method; see `Allow`";
            ApiProblem::new(ProblemCode::MethodNotAllowed, detail)
        }
        StatusCode::BAD_REQUEST => {
            ApiProblem::parameter("the path is not percent-encoded UTF-8 as this route expects it")
        }
        other if other.is_server_error() => broken(),
        other => {
            let reason = other.canonical_reason().unwrap_or("refused").to_lowercase();
            ApiProblem::new(code_of(other), reason)
        }
    }
}

/// A method as a label: only known ones, so that clients cannot create time series.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;
    use axum::{Router, middleware};
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;
    use crate::protocol::fallback::{no_method, no_route};
    use dsrs_app::Access;
    use dsrs_config::ApiKeys;

    async fn broken_handler() -> &'static str {
        panic!("secret words")
    }

    fn access(keys: &[&str]) -> Arc<Access> {
        Arc::new(Access::new(&ApiKeys::new(keys.iter().copied()), None))
    }

    fn router(keys: &[&str]) -> Router {
        let state = Front {
            admission: Admission::new(access(keys), None),
            guard: None,
            cors: None,
            compression: None,
            metrics: Arc::new(Metrics::new().unwrap()),
            telemetry: None,
            slow_request: Duration::from_secs(30),
            routes: RouteTable::default(),
            compute: ComputePool::start().unwrap(),
            request_time: Duration::from_secs(60),
        };
        Router::new()
            .route("/v1/fine", get(|caller: Caller| async move { format!("{caller:?}") }))
            .route("/v1/broken", get(broken_handler))
            .route("/healthz", get(|| async { "ok" }))
            .fallback(no_route)
            .method_not_allowed_fallback(no_method)
            .layer(middleware::from_fn_with_state(Arc::new(state), front))
    }

    async fn send(router: Router, request: axum::http::request::Builder) -> (Response<()>, String) {
        let request = request.body(Body::empty()).unwrap();
        let (parts, body) = router.oneshot(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (Response::from_parts(parts, ()), String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_valid_request_id_is_used_and_any_other_is_replaced() {
        let sane = Request::get("/healthz").header("x-request-id", "abc-1");
        let (answer, _) = send(router(&[]), sane).await;
        assert_eq!(answer.headers()[&REQUEST_ID], "abc-1");
        for odd in ["two words", "", &"x".repeat(129)] {
            let request = Request::get("/healthz").header("x-request-id", odd);
            let (answer, _) = send(router(&[]), request).await;
            assert_eq!(answer.headers()[&REQUEST_ID].len(), 36, "{odd:?}");
        }
    }

    #[tokio::test]
    async fn with_keys_the_api_requires_one_and_health_does_not() {
        let keys = &["open-sesame"];
        assert_eq!(send(router(keys), Request::get("/healthz")).await.0.status(), 200);
        for wrong in ["Bearer nope", "Basic open-sesame", "open-sesame"] {
            let request = Request::get("/v1/fine").header("authorization", wrong);
            let (answer, body) = send(router(keys), request).await;
            assert_eq!(answer.status(), 401);
            assert_eq!(answer.headers()[header::WWW_AUTHENTICATE], "Bearer");
            assert!(body.contains("\"code\":\"unauthenticated\""), "{body}");
        }
        for path in ["/v1/nowhere", "/v1", "/metrics"] {
            assert_eq!(send(router(keys), Request::get(path)).await.0.status(), 401, "{path}");
        }
        let request = Request::get("/v1/fine").header("authorization", "bearer open-sesame");
        assert_eq!(send(router(keys), request).await.0.status(), 200);
    }

    #[tokio::test]
    async fn errors_of_the_framework_are_problems() {
        let (answer, body) = send(router(&[]), Request::get("/v1/nowhere")).await;
        assert_eq!(answer.status(), 404);
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/problem+json");
        assert!(body.contains("\"code\":\"not_found\""), "{body}");

        let (answer, body) = send(router(&[]), Request::delete("/v1/fine")).await;
        assert_eq!(answer.status(), 405);
        assert_eq!(answer.headers()[header::ALLOW], "GET,HEAD");
        assert!(body.contains("\"code\":\"method_not_allowed\""), "{body}");

        let (answer, body) = send(router(&[]), Request::options("/v1/fine")).await;
        assert_eq!((answer.status().as_u16(), body.as_str()), (204, ""));
        assert_eq!(answer.headers()[header::ALLOW], "GET,HEAD");

        let request = Request::get("/v1/fine").header("accept", "text/event-stream");
        let (answer, body) = send(router(&[]), request).await;
        assert_eq!(answer.status(), 406);
        assert!(body.contains("\"code\":\"not_acceptable\""), "{body}");
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_problem_without_details() {
        let request = Request::get("/v1/broken").header("x-request-id", "r-9");
        let (answer, body) = send(router(&[]), request).await;
        assert_eq!(answer.status(), 500);
        assert!(body.contains("\"code\":\"internal\"") && body.contains("\"r-9\""), "{body}");
        assert!(!body.contains("secret"), "{body}");
    }
}
