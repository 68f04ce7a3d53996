//! `POST` requests with a JSON document whose answer is stored under their `Idempotency-Key`. Knows no
//! route.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use crate::protocol::body::{Document, PostedBody};
use crate::protocol::caller::Caller;
use crate::protocol::idempotency::{AnswerSlot, IdempotencyKey, KeyedRequest, hash_of, once};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::NoQuery;
use dsrs_app::{App, CapacityShare, Identity, RequestId};
use dsrs_store::Scope;

/// A `POST` request with a JSON document and perhaps a key.
pub(crate) struct KeyedPost {
    app: Arc<App>,
    caller: Caller,
    key: IdempotencyKey,
    query: Result<NoQuery, ApiProblem>,
    bytes: Bytes,
    document: Result<Document, ApiProblem>,
    permit: CapacityShare,
}

/// What a route needs to answer such a request.
pub(crate) struct PostedRequest {
    pub(crate) app: Arc<App>,
    pub(crate) scope: Scope,
    pub(crate) identity: Arc<Identity>,
    pub(crate) document: Result<Document, ApiProblem>,
    pub(crate) request_id: RequestId,
    /// Stores the answer together with the work.
    pub(crate) slot: AnswerSlot,
}

impl KeyedPost {
    /// Answers the request once per key; without a key, every time. `path` is that of the request.
    pub(crate) async fn answer<F>(
        self,
        path: String,
        answer: impl FnOnce(PostedRequest) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = Result<Response, ApiProblem>> + Send,
    {
        let Self { app, caller, key, query, bytes, document, permit } = self;
        let route = format!("POST {path}");
        let keyed = KeyedRequest::new(&app, &caller, key, route, || hash_of(&bytes));
        let slot = AnswerSlot::of(keyed.as_ref());
        let (scope, identity, request_id) = (caller.scope(), caller.identity, caller.request_id);
        let work = Box::pin(async move {
            let _permit = permit;
            query?;
            answer(PostedRequest { app, scope, identity, document, request_id, slot }).await
        });
        once(keyed, work).await
    }
}

impl FromRequest<Arc<App>> for KeyedPost {
    type Rejection = Response;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let Ok(caller) = Caller::from_request_parts(&mut parts, app).await;
        let key = IdempotencyKey::from_request_parts(&mut parts, app).await;
        let key = key.map_err(IntoResponse::into_response)?;
        let query = NoQuery::from_request_parts(&mut parts, app).await;
        let posted = PostedBody::from_request(Request::from_parts(parts, body), app).await;
        let PostedBody { bytes, document, permit } = posted.map_err(IntoResponse::into_response)?;
        Ok(Self { app: app.clone(), caller, key, query, bytes, document, permit })
    }
}
