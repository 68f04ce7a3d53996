//! `Idempotency-Key`: the first answer to a key, caller and route is stored, and repeats receive it.
//! If the client disconnects, work with a key continues, so that a repeat finds its answer. Knows no
//! route.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use chrono::TimeDelta;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::app::{App, AppError, now, spawn_named};
use crate::http::protocol::caller::Caller;
use crate::http::protocol::problem::{ApiProblem, PendingProblem};
use crate::http::protocol::status::ProblemCode;
use crate::store::Scope;
use crate::store::idempotency::{self, KeyLease, KeyLookup, KeyRef, KeyTimes, StoredResponse};

/// The header that carries the key.
pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header that marks the answer to a repeat.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The headers that are stored with an answer.
const STORED: [HeaderName; 4] =
    [header::CONTENT_TYPE, header::LOCATION, header::ETAG, header::RETRY_AFTER];

/// The name under which an [`AnswerKind`] is stored among the headers.
const KIND: HeaderName = HeaderName::from_static("x-answer-kind");

/// The maximum length of a key.
const LONGEST: usize = 255;

/// How long beyond the longest run a key stays claimed by a request that never completes.
const MARGIN: TimeDelta = TimeDelta::minutes(1);

/// The key of a request, if it has one.
#[derive(Clone, Debug)]
pub(crate) struct IdempotencyKey(Option<Arc<str>>);

impl IdempotencyKey {
    /// Whether the request has one.
    pub(crate) const fn is_given(&self) -> bool {
        self.0.is_some()
    }
}

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiProblem> {
        let mut values = parts.headers.get_all(KEY).iter();
        let Some(value) = values.next() else { return Ok(Self(None)) };
        let fits = |text: &&str| {
            (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        match value.to_str().ok().filter(fits).filter(|_| values.next().is_none()) {
            Some(key) => Ok(Self(Some(Arc::from(key)))),
            None => Err(ApiProblem::parameter(
                "`Idempotency-Key` must be given once, as 1 to 255 visible ASCII characters",
            )),
        }
    }
}

/// The work of a request. Boxed once: moving a large future through the layers of a request costs
/// more than the rest of the request.
pub(crate) type ResponseFuture = BoxFuture<'static, Result<Response, ApiProblem>>;

/// What an answer is for the route that gave it. Stored with the answer of a key, and not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerKind(pub(crate) String);

/// Does the work once per key; without a key, every time. `route` is method and path.
pub(crate) async fn once(
    app: &Arc<App>,
    caller: &Caller,
    key: IdempotencyKey,
    route: String,
    body: &Bytes,
    work: ResponseFuture,
) -> Response {
    once_for(app, caller, key, route, || hash_of(body), work).await
}

/// The same for a body whose hash is known.
pub(crate) async fn once_for(
    app: &Arc<App>,
    caller: &Caller,
    key: IdempotencyKey,
    route: String,
    body_hash: impl FnOnce() -> Vec<u8>,
    work: ResponseFuture,
) -> Response {
    let Some(request) = KeyedRequest::new(app, caller, key, route, body_hash) else {
        return work.await.into_response();
    };
    // Boxed, because few requests have a key, and every request would reserve space for it.
    let done = Box::pin(spawn_named("a request with a key", request.run(work))).await;
    done.ok().flatten().unwrap_or_else(|| broken().into_response())
}

/// The hash by which a repeat is recognized as the same request.
pub(crate) fn hash_of(body: &Bytes) -> Vec<u8> {
    Sha256::digest(body).to_vec()
}

/// A request with a key.
pub(crate) struct KeyedRequest {
    app: Arc<App>,
    scope: Scope,
    request_id: Arc<str>,
    route: String,
    key: Arc<str>,
    body_hash: Vec<u8>,
}

/// Whether a request is the first with its key.
pub(crate) enum KeyState {
    /// It is: its answer is to be stored.
    First(KeyClaim),
    /// It is not: the stored answer, or a refusal.
    Repeated(Response),
}

/// The claim of a first request on its key.
pub(crate) struct KeyClaim {
    request: KeyedRequest,
    lease: KeyLease,
}

impl KeyedRequest {
    /// `None` without a key.
    pub(crate) fn new(
        app: &Arc<App>,
        caller: &Caller,
        key: IdempotencyKey,
        route: String,
        body_hash: impl FnOnce() -> Vec<u8>,
    ) -> Option<Self> {
        Some(Self {
            app: app.clone(),
            scope: caller.scope(),
            request_id: caller.request_id.clone(),
            route,
            key: key.0?,
            body_hash: body_hash(),
        })
    }

    /// Claims the key, unless an earlier request has.
    pub(crate) async fn claim(self) -> KeyState {
        KeyState::Repeated(match self.begin().await {
            Ok(KeyLookup::New(lease)) => return KeyState::First(KeyClaim { request: self, lease }),
            Ok(KeyLookup::Replay(answer)) => replay(answer),
            Ok(KeyLookup::InProgress) => in_progress().into_response(),
            Ok(KeyLookup::Reused) => reused().into_response(),
            Err(problem) => problem.into_response(),
        })
    }

    async fn run(self, work: ResponseFuture) -> Response {
        match self.claim().await {
            KeyState::Repeated(response) => response,
            KeyState::First(claim) => {
                let done = catch_panic(work).await;
                claim.complete(done.into_response()).await
            }
        }
    }

    async fn begin(&self) -> Result<KeyLookup, ApiProblem> {
        let longest = delta(self.app.limits.run_timeout) + MARGIN;
        let keep = delta(self.app.idempotency_window);
        let now = now();
        let times = KeyTimes { now, lease_until: now + longest, expires_at: now + keep };
        let (key, holder) = (self.key(), Uuid::now_v7());
        let begun =
            idempotency::begin(&self.scope, &self.app.db, &key, &self.body_hash, holder, times);
        begun.await.map_err(|error| AppError::from(error).into())
    }

    fn key(&self) -> KeyRef<'_> {
        KeyRef { route: &self.route, key: &self.key }
    }

    /// The answer in both forms: to be sent, and to be stored.
    async fn render(&self, mut response: Response) -> (Response, StoredResponse) {
        let kind = response.extensions_mut().remove::<AnswerKind>();
        if let Some(PendingProblem(problem)) = response.extensions_mut().remove::<PendingProblem>()
        {
            response = problem.render(&self.request_id);
        }
        let (parts, body) = response.into_parts();
        // Our bodies are complete texts: collecting them cannot fail.
        let body = body.collect().await.map(|found| found.to_bytes()).unwrap_or_default();
        let stored = |name: &HeaderName| {
            let value = parts.headers.get(name)?.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        };
        let kind = kind.map(|AnswerKind(kind)| (KIND.as_str().to_owned(), kind));
        let answer = StoredResponse {
            status: parts.status.as_u16(),
            headers: STORED.iter().filter_map(stored).chain(kind).collect(),
            body: body.to_vec(),
        };
        (Response::from_parts(parts, Body::from(body)), answer)
    }
}

impl KeyClaim {
    /// Stores the answer for repeats and returns it rendered. After a failure of the server the key
    /// is free again, so that a repeat is a new request.
    pub(crate) async fn complete(self, response: Response) -> Response {
        let KeyedRequest { app, scope, .. } = &self.request;
        let (response, answer) = self.request.render(response).await;
        let key = self.request.key();
        if answer.status >= 500 {
            if let Err(error) = idempotency::abandon(scope, &app.db, &key, self.lease).await {
                tracing::warn!(cause = error.cause(), "could not free an idempotency key");
            }
        } else if let Err(error) =
            idempotency::complete(scope, &app.db, &key, self.lease, &answer).await
        {
            tracing::warn!(cause = error.cause(), "could not store an answer for repeats");
        }
        response
    }
}

/// Does the work; a panic becomes an `internal` problem.
pub(crate) async fn catch_panic<T>(
    work: impl Future<Output = Result<T, ApiProblem>>,
) -> Result<T, ApiProblem> {
    let done = AssertUnwindSafe(work).catch_unwind().await;
    done.unwrap_or_else(|_| {
        tracing::error!("a handler panicked");
        Err(broken())
    })
}

/// As a difference of dates, a year at most.
fn delta(duration: Duration) -> TimeDelta {
    let year = TimeDelta::days(365);
    TimeDelta::from_std(duration).map_or(year, |delta| delta.min(year))
}

fn replay(answer: StoredResponse) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    for (name, value) in answer.headers {
        if name == KIND.as_str() {
            response.extensions_mut().insert(AnswerKind(value));
        } else if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value))
        {
            response.headers_mut().insert(name, value);
        }
    }
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

fn broken() -> ApiProblem {
    let detail = "something broke on our side; the log has the cause";
    ApiProblem::new(ProblemCode::Internal, detail)
}

fn in_progress() -> ApiProblem {
    let detail = "the first request with this `Idempotency-Key` is still running";
    ApiProblem::new(ProblemCode::IdempotencyInProgress, detail).retry_after(1)
}

fn reused() -> ApiProblem {
    let detail = "this `Idempotency-Key` was used with another body; use a new one";
    ApiProblem::new(ProblemCode::IdempotencyKeyReused, detail)
}
