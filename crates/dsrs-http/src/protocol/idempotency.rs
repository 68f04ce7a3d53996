//! `Idempotency-Key`: the first final answer to a key, caller and route is stored, and repeats receive
//! it. An answer that reports stored work is stored in the transaction of the work. If the client
//! disconnects, work with a key continues, so that a repeat finds its answer. Knows no route.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Collected};
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::protocol::caller::Caller;
use crate::protocol::label_headers::hash_of_labels;
use crate::protocol::problem::{ApiProblem, PendingProblem};
use crate::protocol::status::ProblemCode;
use dsrs_app::{AnswerBuilder, App, AppError, RequestId};
use dsrs_shutdown::WorkGuard;
use dsrs_store::Scope;
use dsrs_store::idempotency::{
    self, KeyLease, KeyLookup, KeyRef, KeyTimes, KeyedAnswer, StoredResponse,
};

/// The header that carries the key.
pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header that marks the answer to a repeat.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The headers that are stored with an answer.
const STORED: [HeaderName; 3] = [header::CONTENT_TYPE, header::LOCATION, header::ETAG];

/// The name under which an [`AnswerKind`] is stored among the headers.
const KIND: HeaderName = HeaderName::from_static("x-answer-kind");

/// The maximum length of a key.
const LONGEST: usize = 255;

/// How long beyond the longest run a key stays claimed by a request that never completes.
const MARGIN: Duration = Duration::from_secs(60);

/// The key of a request, if it has one.
#[derive(Clone, Debug)]
pub(crate) struct IdempotencyKey {
    key: Option<Arc<str>>,
    /// The hash of the labels in its headers.
    labels: Option<Vec<u8>>,
}

impl IdempotencyKey {
    /// Whether the request has one.
    pub(crate) const fn is_given(&self) -> bool {
        self.key.is_some()
    }
}

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiProblem> {
        let mut values = parts.headers.get_all(KEY).iter();
        let Some(value) = values.next() else { return Ok(Self { key: None, labels: None }) };
        let fits = |text: &&str| {
            (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        match value.to_str().ok().filter(fits).filter(|_| values.next().is_none()) {
            Some(key) => {
                let labels = hash_of_labels(&parts.headers);
                Ok(Self { key: Some(Arc::from(key)), labels })
            }
            None => Err(ApiProblem::parameter(
                "`Idempotency-Key` must be given once, as 1 to 255 visible ASCII characters",
            )),
        }
    }
}

/// The work of a request. Boxed once: moving a large future through the layers of a request costs
/// more than the rest of the request.
pub(crate) type ResponseFuture = BoxFuture<'static, Result<Response, ApiProblem>>;

/// The kind of an answer, known only to its route. Stored with the answer of a key, and not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerKind(pub(crate) String);

/// Marks the answer of work that the server ended for a reason of its own: a repeat may succeed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interrupted;

/// Does the work once per key; without a key, every time.
pub(crate) async fn once(request: Option<KeyedRequest>, work: ResponseFuture) -> Response {
    let Some(request) = request else { return work.await.into_response() };
    // Boxed, because few requests have a key, and every request would reserve space for it.
    let done = Box::pin(request.spawn(work)).await;
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
    body_hash: Vec<u8>,
    place: Arc<AnswerPlace>,
}

/// Where the answer of one request is stored.
struct AnswerPlace {
    request_id: RequestId,
    route: String,
    key: Arc<str>,
    /// The id with which the request claims its key.
    holder: Uuid,
}

/// Stores the answer of a request with a key in the transaction of its work. Empty without a key.
#[derive(Clone)]
pub(crate) struct AnswerSlot(Option<Arc<AnswerPlace>>);

impl AnswerSlot {
    pub(crate) fn of(request: Option<&KeyedRequest>) -> Self {
        Self(request.map(|request| request.place.clone()))
    }

    /// What makes the stored answer: `answer` is the answer to work that stores a row.
    pub(crate) fn answer<R>(
        self,
        answer: impl FnOnce(&R) -> Response + Send + 'static,
    ) -> AnswerBuilder<R> {
        let Some(place) = self.0 else { return AnswerBuilder::none() };
        AnswerBuilder::new(move |row| {
            let (_, response) = render(answer(row), &place.request_id);
            let AnswerPlace { route, key, holder, .. } = &*place;
            KeyedAnswer { route: route.clone(), key: key.clone(), holder: *holder, response }
        })
    }
}

/// Whether a request is the first with its key.
pub(crate) enum KeyState {
    /// It is: its answer is to be stored.
    First(KeyClaim),
    /// It is not: the stored answer, or a refusal.
    Repeated(Response),
}

/// The claim of a first request on its key. A shutdown waits until the answer is stored.
pub(crate) struct KeyClaim {
    request: KeyedRequest,
    lease: KeyLease,
    _work: Option<WorkGuard>,
}

impl KeyedRequest {
    /// `None` without a key. `route` is method, path and the part of the query that belongs to the
    /// request.
    pub(crate) fn new(
        app: &Arc<App>,
        caller: &Caller,
        key: IdempotencyKey,
        route: String,
        body_hash: impl FnOnce() -> Vec<u8>,
    ) -> Option<Self> {
        let IdempotencyKey { key, labels } = key;
        let (request_id, key) = (caller.request_id.clone(), key?);
        let place = AnswerPlace { request_id, route, key, holder: Uuid::now_v7() };
        let (app, scope) = (app.clone(), caller.scope());
        let body_hash = match labels {
            None => body_hash(),
            Some(labels) => hash_of(&Bytes::from([body_hash(), labels].concat())),
        };
        Some(Self { app, scope, body_hash, place: Arc::new(place) })
    }

    /// Claims the key, unless an earlier request has.
    pub(crate) async fn claim(self) -> KeyState {
        let work = self.app.shutdown.begin_work();
        KeyState::Repeated(match self.begin().await {
            Ok(KeyLookup::New(lease)) => {
                return KeyState::First(KeyClaim { request: self, lease, _work: work });
            }
            Ok(KeyLookup::Replay(answer)) => replay(answer),
            Ok(KeyLookup::InProgress) => in_progress().into_response(),
            Ok(KeyLookup::Reused) => reused().into_response(),
            Err(problem) => problem.into_response(),
        })
    }

    /// Does the work, also if the client disconnects.
    fn spawn(self, work: ResponseFuture) -> JoinHandle<Option<Response>> {
        let app = self.app.clone();
        let endless = CancellationToken::new();
        let time = app.limits.run_timeout;
        app.compute().spawn_within("a request with a key", time, &endless, self.run(work))
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
        // Keys are compared with this time on all servers.
        let now = self.app.db.now().await.map_err(AppError::from)?;
        let longest = self.app.limits.run_timeout.saturating_add(MARGIN);
        let times = KeyTimes::new(now, longest, self.app.idempotency_window);
        let (key, holder) = (self.key(), self.place.holder);
        let begun =
            idempotency::begin(&self.scope, &self.app.db, &key, &self.body_hash, holder, times);
        begun.await.map_err(|error| AppError::from(error).into())
    }

    fn key(&self) -> KeyRef<'_> {
        KeyRef { route: &self.place.route, key: &self.place.key }
    }

    /// The stored answer, if there is one.
    async fn stored(&self) -> Option<Response> {
        let (scope, db) = (&self.scope, &self.app.db);
        match idempotency::find(scope, db, &self.key(), &self.body_hash).await {
            Ok(Some(KeyLookup::Replay(answer))) => Some(replay(answer)),
            _ => None,
        }
    }
}

/// An answer in both forms: to be sent, and to be stored.
fn render(mut response: Response, request_id: &str) -> (Response, StoredResponse) {
    let kind = response.extensions_mut().remove::<AnswerKind>();
    if let Some(PendingProblem(problem)) = response.extensions_mut().remove::<PendingProblem>() {
        response = problem.render(request_id);
    }
    let (parts, body) = response.into_parts();
    // Our bodies are complete texts: collecting them neither waits nor fails.
    let body = body.collect().now_or_never().and_then(Result::ok);
    let body = body.map(Collected::to_bytes).unwrap_or_default();
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

/// Whether a repeat could not be answered otherwise: not an answer that asks for a later repeat, nor
/// a failure of the server or of a provider.
fn is_final(response: &Response) -> bool {
    let status = response.status();
    let asks_for_repeat =
        matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
            || response.headers().contains_key(header::RETRY_AFTER);
    !(status.is_server_error() || asks_for_repeat)
}

impl KeyClaim {
    /// Stores a final answer for repeats and returns it rendered. After any other answer the key is
    /// free again, so that a repeat is a new request.
    pub(crate) async fn complete(self, mut response: Response) -> Response {
        let KeyedRequest { app, scope, place, .. } = &self.request;
        let is_interrupted = response.extensions_mut().remove::<Interrupted>().is_some();
        let (response, answer) = render(response, &place.request_id);
        if is_interrupted || !is_final(&response) {
            return self.release(response).await;
        }
        let key = self.request.key();
        // Changes nothing if the answer was stored with the work.
        let stored = idempotency::complete(scope, &app.db, &key, self.lease, &answer).await;
        if let Err(error) = stored {
            tracing::warn!(cause = error.cause(), "could not store an answer for repeats");
        }
        response
    }

    /// Frees the key. If the work is stored although its transaction reported a failure, as after a
    /// connection that broke during the commit, its answer takes the place of the failure.
    async fn release(&self, response: Response) -> Response {
        let KeyedRequest { app, scope, .. } = &self.request;
        match idempotency::abandon(scope, &app.db, &self.request.key(), self.lease).await {
            Ok(true) => response,
            Ok(false) => self.request.stored().await.unwrap_or(response),
            Err(error) => {
                tracing::warn!(cause = error.cause(), "could not free an idempotency key");
                response
            }
        }
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
    let detail = "an internal error occurred; the log has details";
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
