//! `ApiProblem`: an answer that says what went wrong (RFC 9457). Handlers return it; the front
//! renders it with the request's id. Knows no route.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use dsrs::problem::{Problem, Problems};
use dsrs::value::Payload;

use crate::app::json::JsonObject;
use crate::http::protocol::status::ProblemCode;

/// The media type of problems.
pub(crate) const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// An answer that says what went wrong.
#[derive(Clone, Debug)]
pub struct ApiProblem(Box<ProblemData>);

#[derive(Clone, Debug)]
struct ProblemData {
    code: ProblemCode,
    detail: String,
    errors: Problems,
    members: Vec<(&'static str, Payload)>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiProblem {
    /// A problem of a code; `detail` names the thing and the way out.
    #[must_use]
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self(Box::new(ProblemData {
            code,
            detail: detail.into(),
            errors: Problems::new(),
            members: Vec::new(),
            headers: Vec::new(),
        }))
    }

    /// A problem made of many, each with its place in the body.
    #[must_use]
    pub fn of(code: ProblemCode, errors: Problems) -> Self {
        let detail = match errors.len() {
            1 => errors.iter().next().map(ToString::to_string).unwrap_or_default(),
            many => format!("{many} problems, each named in `errors`"),
        };
        let mut problem = Self::new(code, detail);
        problem.0.errors = errors;
        problem
    }

    /// A query parameter, path segment or header that does not fit.
    #[must_use]
    pub fn parameter(detail: impl Into<String>) -> Self {
        Self::new(ProblemCode::InvalidParameter, detail)
    }

    /// Nothing of that name.
    #[must_use]
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ProblemCode::NotFound, detail)
    }

    /// The same with an extension member.
    #[must_use]
    pub fn with(mut self, name: &'static str, member: impl Into<Payload>) -> Self {
        self.0.members.push((name, member.into()));
        self
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

    /// Its code.
    #[must_use]
    pub fn code(&self) -> ProblemCode {
        self.0.code
    }

    /// What happened, for a person.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The document, as the client sees it.
    #[must_use]
    pub fn to_json(&self, request_id: &str) -> String {
        let mut object = JsonObject::new();
        write_head(&mut object, self.0.code, &self.0.detail);
        object.list("errors", self.0.errors.iter().map(error_json));
        object.text("request_id", request_id);
        for (name, member) in &self.0.members {
            object.raw(name, &member.to_json());
        }
        object.finish()
    }

    /// The whole answer, for this request.
    #[must_use]
    pub fn render(&self, request_id: &str) -> Response {
        let mut response = Response::new(Body::from(self.to_json(request_id)));
        *response.status_mut() = self.0.code.status();
        response.headers_mut().insert(header::CONTENT_TYPE, PROBLEM_JSON);
        for (name, value) in &self.0.headers {
            response.headers_mut().insert(name, value.clone());
        }
        response
    }
}

/// Writes the members that every problem of a code has: type, title, status, detail, code.
pub(crate) fn write_head(object: &mut JsonObject, code: ProblemCode, detail: &str) {
    object.text("type", &format!("urn:dsrs:problem:{}", code.as_str()));
    object.text("title", code.title());
    object.raw("status", code.status().as_str());
    object.text("detail", detail);
    object.text("code", code.as_str());
}

fn error_json(problem: &Problem) -> String {
    let mut object = JsonObject::new();
    object.text("pointer", &problem.pointer);
    object.text("code", problem.code.as_str());
    object.text("detail", &problem.detail);
    object.finish()
}

/// A problem on its way to the front, which renders it.
#[derive(Clone)]
pub(crate) struct PendingProblem(pub(crate) Arc<ApiProblem>);

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.0.code.status();
        response.extensions_mut().insert(PendingProblem(Arc::new(self)));
        response
    }
}

#[cfg(test)]
mod tests {
    use dsrs::problem::{At, Code};

    use super::*;

    #[test]
    fn a_problem_tells_all_it_knows_in_one_document() {
        let mut errors = Problems::new();
        errors.add(&At::Root.key("a\"b"), Code::WrongType, "expected a string");
        let problem = ApiProblem::of(ProblemCode::InvalidRequest, errors).with("node", "triage");
        assert_eq!(
            problem.to_json("r-1"),
            concat!(
                r#"{"type":"urn:dsrs:problem:invalid_request","title":"The body does not fit","#,
                r#""status":422,"detail":"/a\"b: expected a string (wrong_type)","#,
                r#""code":"invalid_request","errors":[{"pointer":"/a\"b","code":"wrong_type","#,
                r#""detail":"expected a string"}],"request_id":"r-1","node":"triage"}"#
            )
        );
    }
}
