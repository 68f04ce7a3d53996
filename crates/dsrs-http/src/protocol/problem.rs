//! `ApiProblem`: an error that becomes an answer (RFC 9457). Handlers return it; the front renders
//! it with the id of the request. Knows no route.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use dsrs::problem::{Problem, Problems};

use crate::protocol::problem_view::{ProblemItemView, ProblemView};
use crate::protocol::status::{ProblemCode, status_of};
use dsrs_app::summary;

/// The media type of problems.
pub(crate) const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// An error that becomes an answer.
#[derive(Clone, Debug)]
pub struct ApiProblem(Box<ProblemData>);

#[derive(Clone, Debug)]
struct ProblemData {
    code: ProblemCode,
    /// The document, without the id of the request.
    view: ProblemView<'static>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiProblem {
    /// A problem with a code; `detail` names what is wrong and how to fix it.
    #[must_use]
    pub fn new(code: ProblemCode, detail: impl Into<Cow<'static, str>>) -> Self {
        let view = ProblemView::new(code, detail);
        Self(Box::new(ProblemData { code, view, headers: Vec::new() }))
    }

    /// A problem made of many, each with its place in the body.
    #[must_use]
    pub fn of(code: ProblemCode, errors: Problems) -> Self {
        let items = errors.iter().map(item_view).collect();
        Self::new(code, summary(&errors)).with(|view| view.errors = items)
    }

    /// A query parameter, path segment or header with an invalid value.
    #[must_use]
    pub fn parameter(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ProblemCode::InvalidParameter, detail)
    }

    /// A resource that does not exist.
    #[must_use]
    pub fn not_found(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ProblemCode::NotFound, detail)
    }

    /// The same with more members in its document.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut ProblemView<'static>)) -> Self {
        set(&mut self.0.view);
        self
    }

    /// The same, named as a problem of one member of the body if it names none.
    #[must_use]
    pub fn at_member(self, pointer: &'static str) -> Self {
        if !self.items().is_empty() {
            return self;
        }
        let code = self.code().as_str().into();
        let detail = self.detail().to_owned().into();
        self.with(|view| {
            view.errors = vec![ProblemItemView { pointer: pointer.into(), code, detail }]
        })
    }

    /// The same with a header on the answer.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// The same with `Retry-After`.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.header(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)))
    }

    #[must_use]
    pub fn code(&self) -> ProblemCode {
        self.0.code
    }

    /// The HTTP status of its answer.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        status_of(self.0.code)
    }

    /// What happened, for people.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.view.detail
    }

    /// The problems found in the body.
    pub fn items(&self) -> &[ProblemItemView<'static>] {
        &self.0.view.errors
    }

    /// The document that the client receives.
    #[must_use]
    pub fn to_json(&self, request_id: &str) -> String {
        let view = ProblemView { request_id: request_id.into(), ..self.0.view.clone() };
        // A view always has a JSON form.
        serde_json::to_string(&view).unwrap_or_default()
    }

    /// The complete answer to a request.
    #[must_use]
    pub fn render(&self, request_id: &str) -> Response {
        let mut response = Response::new(Body::from(self.to_json(request_id)));
        *response.status_mut() = self.status();
        response.headers_mut().insert(header::CONTENT_TYPE, PROBLEM_JSON);
        for (name, value) in &self.0.headers {
            response.headers_mut().insert(name, value.clone());
        }
        response
    }
}

fn item_view(problem: &Problem) -> ProblemItemView<'static> {
    ProblemItemView {
        pointer: problem.pointer.clone().into(),
        code: problem.code.as_str().into(),
        detail: problem.detail.clone().into(),
    }
}

/// A problem that the front has yet to render.
#[derive(Clone)]
pub(crate) struct PendingProblem(pub(crate) Arc<ApiProblem>);

/// Marks an error in the format of another protocol, which the front leaves as it is.
#[derive(Clone)]
pub(crate) struct ForeignError;

/// The problem that an answer renders, for the page, which shows it as HTML.
#[derive(Clone)]
pub struct AnsweredProblem(pub Arc<ApiProblem>);

impl AnsweredProblem {
    /// The answer to a request, which carries its problem.
    pub(crate) fn render(self, request_id: &str) -> Response {
        let mut response = self.0.render(request_id);
        response.extensions_mut().insert(self);
        response
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status();
        response.extensions_mut().insert(PendingProblem(Arc::new(self)));
        response
    }
}

#[cfg(test)]
mod tests {
    use dsrs::problem::{At, Code};

    use super::*;

    #[test]
    fn a_problem_is_one_document() {
        let mut errors = Problems::new();
        errors.add(&At::Root.key("a\"b"), Code::WrongType, "expected a string");
        let problem = ApiProblem::of(ProblemCode::InvalidRequest, errors).with(|view| {
            view.node = Some("triage".into());
        });
        assert_eq!(
            problem.to_json("r-1"),
            concat!(
                r#"{"type":"/problems/invalid_request","title":"The body does not fit","#,
                r#""status":422,"detail":"/a\"b: expected a string (wrong_type)","#,
                r#""code":"invalid_request","errors":[{"pointer":"/a\"b","code":"wrong_type","#,
                r#""detail":"expected a string"}],"request_id":"r-1","node":"triage"}"#
            )
        );
    }
}
