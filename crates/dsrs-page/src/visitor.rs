//! Who looks at the page: the service in the scope of the key, and what the key may do. Knows no view.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use maud::Markup;

use crate::shell::{self, PageUser, View};
use dsrs_app::{App, Identity, RequestId, RunPlace};
use dsrs_http::{ApiProblem, Caller, ProblemCode, session_key};
use dsrs_store::Scope;
use dsrs_store::key_scope::KeyScope;

/// A person who looks at the page.
pub(super) struct Visitor {
    pub(super) app: Arc<App>,
    /// The scope of the key.
    pub(super) scope: Scope,
    /// Whose key it is.
    pub(super) identity: Arc<Identity>,
    has_session: bool,
    pub(super) request_id: RequestId,
    /// The place of the run that the request starts, if its key has limits.
    pub(super) place: Option<Arc<RunPlace>>,
}

impl Visitor {
    /// Whether the key may do this.
    pub(super) fn may(&self, scope: KeyScope) -> bool {
        self.identity.scopes.allow(scope)
    }

    /// Refuses a view that the key may not use.
    pub(super) fn require(&self, scope: KeyScope) -> Result<(), ApiProblem> {
        let detail = || format!("this needs a key with the scope `{scope}`");
        self.may(scope)
            .then_some(())
            .ok_or_else(|| ApiProblem::new(ProblemCode::Forbidden, detail()))
    }

    /// A whole view, in the frame of the page.
    pub(super) fn show(&self, view: &View, body: Markup) -> Response {
        let user = PageUser {
            actor: &self.scope.actor,
            has_session: self.has_session,
            is_admin: self.may(KeyScope::Admin),
        };
        shell::page(view, Some(user), body).into_response()
    }
}

impl FromRequestParts<Arc<App>> for Visitor {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &Arc<App>,
    ) -> Result<Self, Self::Rejection> {
        let caller = Caller::from_request_parts(parts, app).await?;
        Ok(Self {
            app: app.clone(),
            scope: caller.scope(),
            has_session: session_key(&parts.headers).is_some(),
            request_id: caller.request_id.clone(),
            place: caller.place,
            identity: caller.identity,
        })
    }
}
