//! Signing in with a key of the server, and out. The key is stored in a cookie that scripts cannot read.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use std::sync::Arc;

use crate::form::{Form, encoded, see};
use crate::shell::{self, PageSection, View};
use dsrs_app::App;
use dsrs_http::{ApiProblem, Query, admit_sign_in, ended_session, started_session};

/// The address of the form, which leads on to `next`.
pub(super) fn address(next: &str) -> String {
    if next == "/" { "/sign-in".to_owned() } else { format!("/sign-in?next={}", encoded(next)) }
}

/// `GET /sign-in`.
pub(super) async fn form(mut query: Query) -> Result<Response, ApiProblem> {
    let next = query.text("next").unwrap_or_default();
    query.close()?;
    Ok(page(own_path(&next), None))
}

/// `POST /sign-in`.
pub(super) async fn start(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, ApiProblem> {
    admit_sign_in(&headers)?;
    let next = own_path(form.text("next"));
    let key = form.text("key").trim();
    if app.access.requires_key().await? && app.access.identify(key).await?.is_none() {
        let mut answer =
            page(next, Some("This key is not one of this server's, was revoked, or has expired."));
        *answer.status_mut() = StatusCode::UNAUTHORIZED;
        return Ok(answer);
    }
    let mut answer = see(next);
    answer
        .headers_mut()
        .extend(started_session(key, &headers).map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(answer)
}

/// `POST /sign-out`.
pub(super) async fn end() -> Response {
    let mut answer = see("/sign-in");
    answer.headers_mut().extend(ended_session().map(|cookie| (header::SET_COOKIE, cookie)));
    answer
}

/// A path of this server: another would lead a user who just signed in to another site.
fn own_path(next: &str) -> &str {
    let is_own = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains(['\\', '\r', '\n', '\t']);
    if is_own { next } else { "/" }
}

fn page(next: &str, refusal: Option<&str>) -> Response {
    shell::page(&View::new("Sign in", PageSection::Other), None, sign_in(next, refusal))
        .into_response()
}

fn sign_in(next: &str, refusal: Option<&str>) -> Markup {
    html! {
        form.notice.sign-in action="/sign-in" method="post" {
            h1 { "Sign in" }
            p.muted { "This server answers only callers with a key. Create one with "
                code { "dsrs-server keys create NAME" } "." }
            @if let Some(refusal) = refusal { p.refusal role="alert" { (refusal) } }
            label { "API key"
                input type="password" name="key" required autocomplete="current-password" autofocus
                    spellcheck="false";
            }
            input type="hidden" name="next" value=(next);
            button.primary type="submit" { "Sign in" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_leads_to_paths_of_this_server_only() {
        assert_eq!(own_path("/runs?graph=a"), "/runs?graph=a");
        for foreign in [
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "",
            "javascript:1",
            "/\n/x",
        ] {
            assert_eq!(own_path(foreign), "/", "{foreign}");
        }
    }
}
