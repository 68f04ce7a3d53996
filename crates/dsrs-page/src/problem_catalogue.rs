//! `/problems` and `/problems/{code}`: what each code of a problem means, and the way out. The `type` of a problem leads
//! here. Open to everyone: it says nothing about this server.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use crate::parts::badge::{Tone, badge};
use crate::parts::head::head;
use crate::shell::{self, PageSection, View};
use dsrs_http::{ApiProblem, ProblemCode};

/// `GET /problems`.
pub(super) async fn problems() -> Response {
    let body = html! {
        (head(&[], &html! { "Problems" }, &html! {}))
        p { "Every error of the API is a problem (RFC 9457). Its " code { "code" } " never changes its meaning; its "
            code { "type" } " is the address of the code here." }
        table {
            thead { tr { th { "Status" } th { "Code" } th { "Cause" } th { "Way out" } } }
            tbody {
                @for code in ProblemCode::ALL {
                    tr {
                        td.number { (code.status()) }
                        td { a href=(code.path()) { code { (code.as_str()) } } }
                        td { (code.entry().cause) }
                        td { (code.entry().way_out) }
                    }
                }
            }
        }
    };
    shell::page(&View::new("Problems", PageSection::Other), None, body).into_response()
}

/// `GET /problems/{code}`.
pub(super) async fn problem(Path(name): Path<String>) -> Result<Response, ApiProblem> {
    let missing =
        || ApiProblem::new(ProblemCode::NotFound, format!("there is no problem `{name}`"));
    let code = ProblemCode::named(&name).ok_or_else(missing)?;
    let view = View::new(code.title(), PageSection::Other);
    Ok(shell::page(&view, None, entry(code)).into_response())
}

fn entry(code: ProblemCode) -> Markup {
    let entry = code.entry();
    let crumbs = [("/problems".to_owned(), "Problems")];
    let facts = html! {
        (badge(Tone::Plain, &code.status().to_string())) " "
        @if code.names_retry() { (badge(Tone::Info, "names Retry-After")) }
    };
    html! {
        (head(&crumbs, &html! { (code.title()) }, &facts))
        dl.values {
            dt { "Code" } dd { code { (code.as_str()) } }
            dt { "Cause" } dd { (entry.cause) }
            dt { "Way out" } dd { (entry.way_out) }
            dt { "Example of detail" } dd { (entry.example) }
        }
    }
}
