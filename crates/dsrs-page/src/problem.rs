//! Problems as pages, for those who opened a page: the same problem that an API client reads as JSON. Knows no view.

use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;

use crate::shell::{self, PageSection, View};
use crate::sign_in;
use dsrs_http::{AnsweredProblem, ApiProblem, ProblemCode, names_html};

/// Replaces the answer to a browser by a page if it is a problem.
pub(super) async fn show(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_api = ["/v1", "/openai", "/docs", "/openapi.json", "/openapi-3.0.json", "/metrics"]
        .iter()
        .any(|api| path.starts_with(api));
    let wants_page = !is_api && names_html(request.headers());
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let address = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let answer = next.run(request).await;
    match answer.extensions().get::<AnsweredProblem>() {
        Some(AnsweredProblem(problem)) if wants_page => {
            let next = if is_read { address.as_str() } else { "/" };
            problem_page(problem, next, &answer)
        }
        _ => answer,
    }
}

fn problem_page(problem: &ApiProblem, next: &str, answer: &Response) -> Response {
    if problem.code() == ProblemCode::Unauthenticated {
        return Redirect::to(&sign_in::address(next)).into_response();
    }
    let status = answer.status();
    let view = View::new(problem.code().title(), PageSection::Other);
    let body = html! {
        section.notice.problem role="alert" {
            p.code { (status.as_u16()) " " code { (problem.code().as_str()) } }
            h1 { (problem.code().title()) }
            p { (problem.detail()) }
            @if !problem.items().is_empty() {
                ul.problems {
                    @for item in problem.items() { li { code { (item.pointer) } " " (item.detail) } }
                }
            }
            p { "Way out: " (problem.code().entry().way_out) }
            p { a href="/" { "All graphs" } " · " a href="/docs/" { "API" } }
        }
    };
    let mut page = shell::page(&view, None, body).into_response();
    *page.status_mut() =
        if status.is_success() { StatusCode::INTERNAL_SERVER_ERROR } else { status };
    for name in
        [header::RETRY_AFTER, header::ALLOW, header::HeaderName::from_static("x-request-id")]
    {
        if let Some(value) = answer.headers().get(&name) {
            page.headers_mut().insert(name, value.clone());
        }
    }
    page
}
