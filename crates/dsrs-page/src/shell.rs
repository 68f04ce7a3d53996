//! The frame of every view: head, header with navigation, and the headers that protect the page. Knows the sections
//! of the page, but no view.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use crate::asset;

/// What a browser may load and do: only what the server itself sends.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);

/// A section of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageSection {
    Graphs,
    Runs,
    Datasets,
    Evaluations,
    Optimizations,
    Usage,
    Schedules,
    Webhooks,
    Parse,
    /// A view outside of the navigation.
    Other,
}

const NAVIGATION: [(PageSection, &str, &str); 9] = [
    (PageSection::Graphs, "/", "Graphs"),
    (PageSection::Runs, "/runs", "Runs"),
    (PageSection::Datasets, "/datasets", "Datasets"),
    (PageSection::Evaluations, "/evaluations", "Evaluations"),
    (PageSection::Optimizations, "/optimizations", "Optimizations"),
    (PageSection::Usage, "/usage", "Usage"),
    (PageSection::Schedules, "/schedules", "Schedules"),
    (PageSection::Webhooks, "/webhooks", "Webhooks"),
    (PageSection::Parse, "/parse", "Parse"),
];

/// The stylesheets of every view.
const STYLES: [&str; 2] = ["tokens.css", "page.css"];

/// What the frame shows of the person who looks at the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageUser<'a> {
    /// The name that is stored with what the user does.
    pub(super) actor: &'a str,
    /// Whether the browser has a session, which can end.
    pub(super) has_session: bool,
    /// Whether the key is one of an administrator, who alone sees webhooks.
    pub(super) is_admin: bool,
}

/// What the frame needs to know of a view.
#[derive(Clone, Debug)]
pub(super) struct View {
    title: String,
    section: PageSection,
    styles: &'static [&'static str],
    scripts: &'static [&'static str],
}

impl View {
    /// A view with this title, in a section.
    pub(super) fn new(title: impl Into<String>, section: PageSection) -> Self {
        Self { title: title.into(), section, styles: &[], scripts: &[] }
    }

    /// The same with stylesheets of its own.
    pub(super) fn styles(self, styles: &'static [&'static str]) -> Self {
        Self { styles, ..self }
    }

    /// The same with modules of its own.
    pub(super) fn scripts(self, scripts: &'static [&'static str]) -> Self {
        Self { scripts, ..self }
    }
}

pub(super) struct PageAnswer(Markup);

impl IntoResponse for PageAnswer {
    fn into_response(self) -> Response {
        html(self.0.into_string())
    }
}

/// HTML with the headers that protect it.
pub(super) fn html(text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
        (header::VARY, HeaderValue::from_static("Accept, Cookie")),
    ];
    let isolation = [
        ("cross-origin-opener-policy", HeaderValue::from_static("same-origin")),
        ("cross-origin-resource-policy", HeaderValue::from_static("same-origin")),
    ];
    (headers, isolation, text).into_response()
}

/// A whole page. Without a user (sign-in, problems) there is no navigation.
pub(super) fn page(view: &View, user: Option<PageUser<'_>>, body: Markup) -> PageAnswer {
    PageAnswer(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (view.title) " · dsrs" }
                link rel="icon" href=(asset::url("icon.svg")) type="image/svg+xml";
                @for style in STYLES.iter().chain(view.styles) {
                    link rel="stylesheet" href=(asset::url(style));
                }
                // Before the first paint, so that a chosen scheme does not flash.
                script src=(asset::url("scheme.js")) {}
                script type="module" src=(asset::url("page.js")) {}
                script type="module" src=(asset::url("palette.js")) {}
                @for script in view.scripts {
                    script type="module" src=(asset::url(script)) {}
                }
            }
            body {
                a.skip href="#main" { "Skip to content" }
                (top(view.section, user))
                main #main tabindex="-1" { (body) }
            }
        }
    })
}

fn top(section: PageSection, user: Option<PageUser<'_>>) -> Markup {
    html! {
        header.top {
            a.brand href="/" { (mark()) span { "dsrs" } }
            @if let Some(user) = user {
                nav.sections aria-label="Sections" {
                    @for (own, href, name) in NAVIGATION {
                        @if user.is_admin || own != PageSection::Webhooks {
                            a href=(href) aria-current=[(own == section).then_some("page")] { (name) }
                        }
                    }
                }
                form.search role="search" action="/search" method="get" {
                    input type="search" name="q" placeholder="Search" aria-label="Search"
                        aria-keyshortcuts="/ Control+K" autocomplete="off" maxlength="200";
                    kbd aria-hidden="true" { "/" }
                }
                div.tools {
                    a href="/docs/" { "API" }
                    (scheme_switch())
                    @if user.has_session { (sign_out(user)) }
                }
            } @else {
                div.tools { (scheme_switch()) }
            }
        }
    }
}

/// Filled and shown by `page.js`.
fn scheme_switch() -> Markup {
    html! { button.scheme type="button" hidden aria-label="Colour scheme" { "◐" } }
}

fn sign_out(user: PageUser<'_>) -> Markup {
    html! {
        form action="/sign-out" method="post" {
            button.quiet type="submit" title={ "Signed in as " (user.actor) } { "Sign out" }
        }
    }
}

/// The mark: two nodes and an edge.
fn mark() -> Markup {
    html! {
        svg.mark viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" {
            path d="M5 10 C10 10 9 4.5 15 4.5 M5 10 C10 10 9 15.5 15 15.5" fill="none" stroke="currentColor"
                stroke-width="1.6" {}
            circle cx="4.5" cy="10" r="2.8" fill="currentColor" {}
            circle cx="15.5" cy="4.5" r="2.3" fill="currentColor" {}
            circle cx="15.5" cy="15.5" r="2.3" fill="currentColor" {}
        }
    }
}
