//! What the front needs to know of a route before it runs: the media types of its answers, on which
//! threads it runs, and which scope it requires. Read from the route's own declaration: of the API, `utoipa::path`
//! with its responses and the extensions `x-runs-on` and `x-scope`; of the page, [`HtmlRoute`]. Knows no route.

use std::collections::HashMap;

use axum::http::{HeaderMap, Method, header};
use serde_json::Value;

use crate::protocol::accept::{accepts_events, accepts_json, accepts_lines, names_html};
use crate::protocol::html_route::{HtmlAccess, HtmlRoute};
use crate::protocol::idempotency;
use dsrs_app::Start;
use dsrs_store::key_scope::KeyScope;

/// The extension in which a route declares which threads run it: `connection` or `service`. All other
/// routes may compute for long, and run on the threads for computations.
pub(crate) const RUNS_ON: &str = "x-runs-on";

/// The extension in which a route declares the scope that a key needs. A route without it requires `admin`.
pub(crate) const SCOPE: &str = "x-scope";

/// The extension in which a route declares that it starts a `run` or a `job`.
pub(crate) const STARTS: &str = "x-starts";

/// The largest body that the thread of a connection parses. It takes well under a millisecond.
const SMALL_BODY: u64 = 64 << 10;

/// The threads that run a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunsOn {
    /// The thread of its connection, between the requests of other connections: it mostly waits.
    Connection,
    /// Those of the service: it reads or writes a few rows, and answers while others compute.
    Service,
    /// Those for computations.
    Compute,
}

/// What a route declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RouteInfo {
    json: bool,
    events: bool,
    lines: bool,
    html: Option<HtmlAccess>,
    runs_on: RunsOn,
    scope: Option<KeyScope>,
    starts: Option<Start>,
}

impl RouteInfo {
    /// A route that declares nothing.
    const PLAIN: Self = Self {
        json: true,
        events: false,
        lines: false,
        html: None,
        runs_on: RunsOn::Compute,
        scope: None,
        starts: None,
    };

    fn read(operation: &Value) -> Self {
        let responses = operation.get("responses").and_then(Value::as_object);
        let contents = responses
            .into_iter()
            .flatten()
            .filter_map(|(_, response)| response.get("content").and_then(Value::as_object));
        let types: Vec<&str> =
            contents.flat_map(|content| content.keys()).map(String::as_str).collect();
        let has = |media_type: &str| types.contains(&media_type);
        let (events, lines) = (has("text/event-stream"), has("application/jsonl"));
        Self {
            json: has("application/json") || !(events || lines),
            events,
            lines,
            html: None,
            runs_on: match operation.get(RUNS_ON).and_then(Value::as_str) {
                Some("connection") => RunsOn::Connection,
                Some("service") => RunsOn::Service,
                _ => RunsOn::Compute,
            },
            scope: Some(declared_scope(operation).unwrap_or(KeyScope::Admin)),
            starts: match operation.get(STARTS).and_then(Value::as_str) {
                Some("run") => Some(Start::Run),
                Some(_) => Some(Start::Job),
                None => None,
            },
        }
    }

    /// A route of the page.
    fn of_html(access: HtmlAccess) -> Self {
        let scope = match access {
            HtmlAccess::Open => None,
            HtmlAccess::Index => Some(KeyScope::Read),
            HtmlAccess::Needs(scope) => Some(scope),
        };
        Self { html: Some(access), scope, ..Self::PLAIN }
    }

    /// Whether this is a route of the page that needs a key, if the server has any.
    pub(crate) fn is_guarded_html(self, headers: &HeaderMap) -> bool {
        match self.html {
            None | Some(HtmlAccess::Open) => false,
            Some(HtmlAccess::Index) => names_html(headers),
            Some(HtmlAccess::Needs(_)) => true,
        }
    }

    /// The scope that a key needs; `None` if there is no such route.
    pub(crate) const fn scope(self) -> Option<KeyScope> {
        self.scope
    }

    /// What a request starts.
    pub(crate) const fn starts(self) -> Option<Start> {
        self.starts
    }

    /// Whether the client accepts one of the media types of the answers.
    pub(crate) fn is_acceptable(self, headers: &HeaderMap) -> bool {
        (self.json && accepts_json(headers))
            || (self.events && accepts_events(headers))
            || (self.lines && accepts_lines(headers))
    }

    /// The media type that a client has to accept at least.
    pub(crate) const fn media_type(self) -> &'static str {
        if self.json { "application/json" } else { "text/event-stream" }
    }

    /// The threads that run this request. On the thread of its connection stays only a small one
    /// without a key.
    pub(crate) fn runs_on(self, headers: &HeaderMap) -> RunsOn {
        let stays = has_small_body(headers) && !headers.contains_key(idempotency::KEY);
        match self.runs_on {
            RunsOn::Connection if !stays => RunsOn::Compute,
            declared => declared,
        }
    }
}

/// The declarations of all routes.
#[derive(Debug, Default)]
pub(crate) struct RouteTable(HashMap<String, Vec<(Method, RouteInfo)>>);

impl RouteTable {
    /// Reads the declarations from the document that the routes make.
    pub(crate) fn read(document: &Value) -> Self {
        let paths = document.get("paths").and_then(Value::as_object);
        let routes = paths.into_iter().flatten().map(|(path, item)| {
            let operations = item.as_object().into_iter().flatten();
            let infos = operations.filter_map(|(method, operation)| {
                let method = Method::from_bytes(method.to_uppercase().as_bytes()).ok()?;
                Some((method, RouteInfo::read(operation)))
            });
            (path.clone(), infos.collect())
        });
        Self(routes.collect())
    }

    /// Adds the routes of the page.
    pub(crate) fn with_html(mut self, routes: Vec<HtmlRoute>) -> Self {
        for HtmlRoute { pattern, method, access, starts } in routes {
            let infos = self.0.entry(pattern.to_owned()).or_default();
            infos.push((method, RouteInfo { starts, ..RouteInfo::of_html(access) }));
        }
        self
    }

    /// What the route with this pattern declares.
    pub(crate) fn find(&self, pattern: &str, method: &Method) -> RouteInfo {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let infos = self.0.get(pattern).into_iter().flatten();
        let mut found = infos.filter(|(known, _)| known == method);
        found.next().map_or(RouteInfo::PLAIN, |(_, info)| *info)
    }
}

/// The scope that an operation declares.
pub(crate) fn declared_scope(operation: &Value) -> Option<KeyScope> {
    operation.get(SCOPE).and_then(Value::as_str).and_then(KeyScope::parse)
}

fn has_small_body(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    length.and_then(|text| text.parse().ok()).is_some_and(|length: u64| length <= SMALL_BODY)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const EXECUTE: &str = "/v1/graphs/{graph}/execute";

    fn table() -> RouteTable {
        RouteTable::read(&crate::declarations())
    }

    #[test]
    fn only_small_executions_without_a_key_run_on_the_thread_of_their_connection() {
        let table = table();
        let stays = |method: Method, pattern: &str, headers: &[(&'static str, &'static str)]| {
            let pair = |(name, value): &(&'static str, &'static str)| {
                ((*name).parse().unwrap(), HeaderValue::from_static(value))
            };
            let headers = headers.iter().map(pair).collect();
            table.find(pattern, &method).runs_on(&headers) == RunsOn::Connection
        };
        let small = ("content-length", "100");
        assert!(stays(Method::POST, EXECUTE, &[small]));
        assert!(!stays(Method::POST, "/v1/graphs", &[small]));
        assert!(!stays(Method::GET, EXECUTE, &[small]));
        assert!(!stays(Method::POST, EXECUTE, &[]));
        assert!(!stays(Method::POST, EXECUTE, &[("content-length", "65537")]));
        assert!(!stays(Method::POST, EXECUTE, &[small, ("idempotency-key", "k")]));
    }

    #[test]
    fn every_route_declares_a_scope() {
        let declarations = crate::declarations();
        for (path, item) in declarations["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let guarded = crate::protocol::openapi::is_guarded(path);
                assert_eq!(declared_scope(operation).is_some(), guarded, "{method} {path}");
            }
        }
    }

    #[test]
    fn a_route_declares_the_media_types_of_its_answers() {
        let table = table();
        let accepts = |pattern: &str, method: Method, accept: &'static str| {
            let headers =
                HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            table.find(pattern, &method).is_acceptable(&headers)
        };
        let (json, events, lines) = ("application/json", "text/event-stream", "application/jsonl");
        for (pattern, method, accepted) in [
            (EXECUTE, Method::POST, [true, true, false]),
            ("/v1/graphs", Method::GET, [true, false, false]),
            ("/v1/runs/{id}/events", Method::GET, [false, true, false]),
            ("/v1/evaluations/{id}/events", Method::GET, [false, true, false]),
            ("/v1/optimizations/{id}/events", Method::GET, [false, true, false]),
            ("/v1/batches/{id}/results", Method::GET, [true, false, true]),
            ("/v1/datasets/{dataset}/examples", Method::GET, [true, false, true]),
            ("/v1/nowhere", Method::GET, [true, false, false]),
        ] {
            let found =
                [json, events, lines].map(|accept| accepts(pattern, method.clone(), accept));
            assert_eq!(found, accepted, "{pattern}");
        }
    }
}
