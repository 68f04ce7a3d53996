//! The bodies of forms, and the answers to them. Knows no form.

use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};

use crate::app::App;
use crate::http::{ApiProblem, ProblemCode, form_fields};

/// The fields of a form, in their order.
#[derive(Debug, Default)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// The form with these fields.
    pub(super) const fn of(fields: Vec<(String, String)>) -> Self {
        Self(fields)
    }

    /// The value of a field; empty if it is missing.
    pub(super) fn text(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    /// The value of a field that has one.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(given, _)| given == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// The values of a field.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let own = self.0.iter().filter(move |(given, _)| given == name);
        own.map(|(_, value)| value.as_str())
    }

    /// Every field.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl FromRequest<Arc<App>> for Form {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiProblem> {
        let declared = request.headers().get(header::CONTENT_TYPE).map(|value| value.as_bytes());
        if !declared
            .is_some_and(|declared| declared.starts_with(b"application/x-www-form-urlencoded"))
        {
            let detail = "a form is sent as application/x-www-form-urlencoded";
            return Err(ApiProblem::new(ProblemCode::UnsupportedMediaType, detail));
        }
        form_fields(request, app).await.map(Self)
    }
}

/// The answer to a form that did its work: the next view. The path is one of ours.
pub(super) fn see(path: &str) -> Response {
    Redirect::to(path).into_response()
}

/// A text as one segment of a path or one value of a query.
pub(super) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}
