//! The caller of a route: the id of the request and the identity behind the key, as the front read them.
//! Handlers extract it as an argument.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

use dsrs_app::{Identity, RequestId, RunPlace};
use dsrs_store::Scope;

/// The header that carries the id of a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest request id that is accepted from a client.
const LONGEST_ID: usize = 128;

/// The caller of a route.
#[derive(Clone, Debug)]
pub struct Caller {
    pub request_id: RequestId,
    /// Whose request it is, and what the client may do.
    pub identity: Arc<Identity>,
    /// The place of the run that the request starts, if its key has limits.
    pub place: Option<Arc<RunPlace>>,
}

impl Caller {
    /// The scope in which the caller reads and writes.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.identity.scope.clone()
    }

    /// The workspace of the caller of a request.
    pub(crate) fn workspace_of(request: &Request) -> Uuid {
        let caller = request.extensions().get::<Self>();
        // Only a router without the front has no caller.
        caller.map_or(Uuid::nil(), |caller| caller.identity.scope.workspace)
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let found = parts.extensions.get::<Self>().cloned();
        // Only a router without the front has none.
        let nameless = || Self {
            request_id: RequestId::new(""),
            identity: Arc::new(Identity::without_rights()),
            place: None,
        };
        Ok(found.unwrap_or_else(nameless))
    }
}

/// The id of a request: that of the client if it is one plain word, otherwise a new one.
pub(crate) fn request_id(headers: &HeaderMap) -> (RequestId, HeaderValue) {
    let given = headers.get(REQUEST_ID).filter(|value| is_plain(value.as_bytes()));
    if let Some((value, text)) = given.and_then(|value| Some((value, value.to_str().ok()?))) {
        return (RequestId::new(text), value.clone());
    }
    let id = RequestId::unique();
    let value = HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("unknown"));
    (id, value)
}

fn is_plain(id: &[u8]) -> bool {
    (1..=LONGEST_ID).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}
