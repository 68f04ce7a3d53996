//! `Idempotency-Key`: the first answer of a key, caller and route is kept and given again. ResponseFuture
//! under a key goes on when the caller leaves, so that the repeat finds its answer.

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
use crate::store::idempotency::{self, Answer, Begun, KeyRef, Lease, Times};

/// The header that carries the key.
pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header that marks an answer as given again.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The headers that are kept with an answer.
const KEPT: [HeaderName; 4] =
    [header::CONTENT_TYPE, header::LOCATION, header::ETAG, header::RETRY_AFTER];

/// Longest key.
const LONGEST: usize = 255;

/// How much longer than the longest run a key is held for a request that never comes back.
const MARGIN: TimeDelta = TimeDelta::minutes(1);

/// The caller's key, if it sent one.
#[derive(Clone, Debug)]
pub(crate) struct IdempotencyKey(Option<Arc<str>>);

impl IdempotencyKey {
    /// Whether the caller sent one.
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

/// What is to be done once. Boxed before it is handed around: moving a large future through the
/// layers of a request costs more than all the rest of the request.
pub(crate) type ResponseFuture = BoxFuture<'static, Result<Response, ApiProblem>>;

/// Does the work once for a key, however often it is asked for; without a key, each time. `route`
/// is method and path.
pub(crate) async fn once(
    app: &Arc<App>,
    caller: &Caller,
    key: IdempotencyKey,
    route: String,
    body: &Bytes,
    work: ResponseFuture,
) -> Response {
    let hash = || Sha256::digest(body).to_vec();
    once_for(app, caller, key, route, hash, work).await
}

/// The same for a body of which a hash is known.
pub(crate) async fn once_for(
    app: &Arc<App>,
    caller: &Caller,
    key: IdempotencyKey,
    route: String,
    body_hash: impl FnOnce() -> Vec<u8>,
    work: ResponseFuture,
) -> Response {
    let Some(key) = key.0 else { return work.await.into_response() };
    let once = IdempotentRequest {
        app: app.clone(),
        scope: caller.scope(),
        request_id: caller.request_id.clone(),
        route,
        key,
        body_hash: body_hash(),
    };
    // Boxed, because every request would carry the room for it, and few have a key.
    let done = Box::pin(spawn_named("idempotent work", once.run(work))).await;
    let broken = || ApiProblem::new(ProblemCode::Internal, "the work broke off").into_response();
    done.ok().flatten().unwrap_or_else(broken)
}

struct IdempotentRequest {
    app: Arc<App>,
    scope: Scope,
    request_id: Arc<str>,
    route: String,
    key: Arc<str>,
    body_hash: Vec<u8>,
}

impl IdempotentRequest {
    async fn run(self, work: ResponseFuture) -> Response {
        match self.begin().await {
            Ok(Begun::New(lease)) => self.first(lease, work).await,
            Ok(Begun::Replay(answer)) => replay(answer),
            Ok(Begun::InProgress) => in_progress().into_response(),
            Ok(Begun::Reused) => reused().into_response(),
            Err(problem) => problem.into_response(),
        }
    }

    async fn begin(&self) -> Result<Begun, ApiProblem> {
        let longest = delta(self.app.limits.run_timeout) + MARGIN;
        let keep = delta(self.app.idempotency_window);
        let now = now();
        let times = Times { now, lease_until: now + longest, expires_at: now + keep };
        let (key, holder) = (self.key(), Uuid::now_v7());
        let begun =
            idempotency::begin(&self.scope, &self.app.db, &key, &self.body_hash, holder, times);
        begun.await.map_err(|error| AppError::from(error).into())
    }

    async fn first(&self, lease: Lease, work: ResponseFuture) -> Response {
        let Ok(done) = AssertUnwindSafe(work).catch_unwind().await else {
            self.abandon(lease).await;
            tracing::error!(route = self.route, "a handler panicked");
            let detail = "something broke on our side; the log has it";
            return ApiProblem::new(ProblemCode::Internal, detail).into_response();
        };
        let (response, answer) = self.render(done.into_response()).await;
        if answer.status >= 500 {
            self.abandon(lease).await;
        } else if let Err(error) =
            idempotency::complete(&self.scope, &self.app.db, &self.key(), lease, &answer).await
        {
            tracing::warn!(cause = error.cause(), "could not keep an answer for its repeats");
        }
        response
    }

    async fn abandon(&self, lease: Lease) {
        let freed = idempotency::abandon(&self.scope, &self.app.db, &self.key(), lease).await;
        if let Err(error) = freed {
            tracing::warn!(cause = error.cause(), "could not free an idempotency key");
        }
    }

    fn key(&self) -> KeyRef<'_> {
        KeyRef { route: &self.route, key: &self.key }
    }

    /// The answer in both forms: to be given, and to be kept.
    async fn render(&self, mut response: Response) -> (Response, Answer) {
        if let Some(PendingProblem(problem)) = response.extensions_mut().remove::<PendingProblem>()
        {
            response = problem.render(&self.request_id);
        }
        let (parts, body) = response.into_parts();
        // Our bodies are whole texts: collecting them cannot fail.
        let body = body.collect().await.map(|found| found.to_bytes()).unwrap_or_default();
        let kept = |name: &HeaderName| {
            let value = parts.headers.get(name)?.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        };
        let answer = Answer {
            status: parts.status.as_u16(),
            headers: KEPT.iter().filter_map(kept).collect(),
            body: body.to_vec(),
        };
        (Response::from_parts(parts, Body::from(body)), answer)
    }
}

/// As a difference of dates, of a year at most.
fn delta(duration: Duration) -> TimeDelta {
    let year = TimeDelta::days(365);
    TimeDelta::from_std(duration).map_or(year, |delta| delta.min(year))
}

fn replay(answer: Answer) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    for (name, value) in &answer.headers {
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
        {
            response.headers_mut().insert(name, value);
        }
    }
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

fn in_progress() -> ApiProblem {
    let detail = "the first request with this `Idempotency-Key` is still running";
    ApiProblem::new(ProblemCode::IdempotencyInProgress, detail).retry_after(1)
}

fn reused() -> ApiProblem {
    let detail = "this `Idempotency-Key` was used with another body; take a new one";
    ApiProblem::new(ProblemCode::IdempotencyKeyReused, detail)
}
