//! Starts the work of schedules: the request of a firing is the request that a client would send, answered by the same
//! routes, under an idempotency key of its own. A schedule that is to be stored is rehearsed the same way: its request
//! is checked and stored in a transaction that does not commit.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Method, Request, header};
use axum::response::Response;
use axum::routing::post;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use serde::Deserialize;
use tower::ServiceExt;
use uuid::Uuid;

use crate::protocol::caller::{Caller, new_request_id, require};
use crate::protocol::idempotency::{KEY, OwnRequest};
use crate::protocol::problem::{ApiProblem, PendingProblem};
use crate::protocol::status::ProblemCode;
use crate::routes::{background_run, batch, evaluation, optimization};
use dsrs::document::parse_word;
use dsrs_api::schedule::ScheduleTarget;
use dsrs_app::{App, Identity, RequestId, StartRefusal, WorkAnswer, WorkRequest, WorkStarter};
use dsrs_store::key_scope::KeyScope;
use dsrs_store::schedule::ScheduleColumns;

/// Starts work through the routes.
pub(crate) struct RouteStarter;

impl WorkStarter for RouteStarter {
    fn start<'a>(&'a self, app: &'a Arc<App>, work: WorkRequest) -> BoxFuture<'a, WorkAnswer> {
        start(app, work).boxed()
    }

    fn problem(&self, refusal: StartRefusal) -> String {
        let problem = match refusal {
            StartRefusal::KeyEnded => ApiProblem::new(
                ProblemCode::Forbidden,
                "the key that this schedule runs as was revoked or has expired; change the schedule with another key",
            ),
            StartRefusal::Limit => ApiProblem::new(
                ProblemCode::RateLimited,
                "a limit of the key that this schedule runs as is reached",
            ),
        };
        problem.to_json(&new_request_id())
    }
}

async fn start(app: &Arc<App>, work: WorkRequest) -> WorkAnswer {
    let WorkRequest { identity, target, graph, body, key, lease } = work;
    let request_id = RequestId::new(new_request_id());
    if let Err(problem) = require(&identity, KeyScope::Execute) {
        return WorkAnswer::Refused(problem.to_json(&request_id));
    }
    let caller = Caller { request_id: request_id.clone(), identity, place: None };
    let own = OwnRequest::Fired { lease };
    let response = request(app, caller, target, graph, body, key, own).await;
    // The front would render a problem, with the headers that say whether a repeat may succeed.
    let response = match response.extensions().get::<PendingProblem>() {
        Some(PendingProblem(problem)) => problem.render(&request_id),
        None => response,
    };
    let status = response.status();
    let retry_after = response.headers().get(header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
    let asks_for_repeat = status.is_server_error() || retry_after.is_some();
    let text = text_of(response).await;
    #[derive(Deserialize)]
    struct Started {
        id: Uuid,
    }
    match serde_json::from_str::<Started>(&text) {
        Ok(started) if status.is_success() => WorkAnswer::Accepted(started.id),
        _ if asks_for_repeat => WorkAnswer::Later(text, retry_after),
        _ => WorkAnswer::Refused(text),
    }
}

async fn text_of(response: Response) -> String {
    let body = response.into_body().collect().await;
    let bytes = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Checks the request of a schedule as the route does that would answer it. Pointers are below `/request`.
pub(crate) async fn rehearse(
    app: &Arc<App>,
    identity: &Arc<Identity>,
    settings: &ScheduleColumns,
) -> Result<(), ApiProblem> {
    let Some(target) = parse_word(&settings.target) else { return Ok(()) };
    let caller = Caller {
        request_id: RequestId::new(new_request_id()),
        identity: identity.clone(),
        place: None,
    };
    let (graph, body) = (settings.graph_id, settings.request.clone());
    let own = OwnRequest::Rehearsed;
    let mut response = request(app, caller, target, graph, body, Uuid::now_v7(), own).await;
    let Some(PendingProblem(problem)) = response.extensions_mut().remove::<PendingProblem>() else {
        return match response.status().is_success() {
            // The work has no key, and so it is never stored.
            true => Err(ApiProblem::new(ProblemCode::Internal, "a rehearsal was stored")),
            false => Err(ApiProblem::new(ProblemCode::Internal, "a rehearsal has no answer")),
        };
    };
    // The transaction did all of the work, and was refused at its end.
    if problem.code() == ProblemCode::IdempotencyInProgress {
        return Ok(());
    }
    let problem = Arc::unwrap_or_clone(problem);
    Err(problem.with(|view| {
        // The detail of a single problem begins with its pointer; that of the root is written as `/`.
        let first = view.errors.first().map(|item| item.pointer.as_ref());
        let is_root = first == Some("");
        if is_root && let Some(rest) = view.detail.strip_prefix("/: ") {
            view.detail = format!("/request: {rest}").into();
        } else if !is_root && first.is_some_and(|pointer| view.detail.starts_with(pointer)) {
            view.detail = format!("/request{}", view.detail).into();
        }
        for item in &mut view.errors {
            item.pointer = format!("/request{}", item.pointer).into();
        }
    }))
}

async fn request(
    app: &Arc<App>,
    caller: Caller,
    target: ScheduleTarget,
    graph: Uuid,
    body: String,
    key: Uuid,
    own: OwnRequest,
) -> Response {
    let collection = match target {
        ScheduleTarget::Run => "runs",
        ScheduleTarget::Batch => "batches",
        ScheduleTarget::Evaluation => "evaluations",
        ScheduleTarget::Optimization => "optimizations",
    };
    let routes = Router::new()
        .route("/{graph}/runs", post(background_run::run_start))
        .route("/{graph}/batches", post(batch::batch_start))
        .route("/{graph}/evaluations", post(evaluation::evaluation_start))
        .route("/{graph}/optimizations", post(optimization::optimization_start))
        .with_state(app.clone());
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = format!("/{graph}/{collection}").parse().unwrap_or_default();
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().insert(header::CONTENT_TYPE, json);
    if let Ok(key) = HeaderValue::from_str(&key.to_string()) {
        request.headers_mut().insert(KEY, key);
    }
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(own);
    match routes.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
