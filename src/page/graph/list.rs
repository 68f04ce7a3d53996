//! `/`: the graphs of the workspace, with what they did in the last day; if there is none, the examples.

use axum::Json;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use dsrs::value::parse_json;
use maud::{Markup, html};
use serde_json::json;

use crate::http::{ApiProblem, PageRequest, ProblemCode, Query, names_html};
use crate::page::form::{Form, encoded, see};
use crate::page::parts::empty::empty;
use crate::page::parts::figure::{cost, count, score, share};
use crate::page::parts::head::head;
use crate::page::parts::pager::pager;
use crate::page::parts::same_request::SameRequest;
use crate::page::parts::sparkline::sparkline;
use crate::page::parts::time::{ago, duration};
use crate::page::shell::{Section, View};
use crate::page::visitor::Visitor;
use crate::store::ListQuery;
use crate::store::graph::GraphSummaryRow;
use crate::store::graph_activity::{GraphActivity, MOST_RUNS};
use crate::store::key_scope::KeyScope;

/// Graphs on one page of the list.
const CARDS: u32 = 24;

/// A graph that an empty server offers: its name, what it shows, and its definition.
type ExampleGraph = (&'static str, &'static str, &'static str);

const EXAMPLES: [ExampleGraph; 3] = [
    (
        "capital",
        "One call: a question, and an answer with its reasoning.",
        include_str!("../../../examples/graphs/capital.json"),
    ),
    (
        "review-card",
        "Typed values: a review becomes a card that a program can use.",
        include_str!("../../../examples/graphs/review-card.json"),
    ),
    (
        "help-desk",
        "Several nodes: a ticket is sorted, answered and checked.",
        include_str!("../../../examples/graphs/help-desk.json"),
    ),
];

/// `GET /`: the list for browsers, a pointer to the API for its clients.
pub(in crate::page) async fn graphs(
    visitor: Visitor,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, ApiProblem> {
    if !names_html(&headers) {
        return Ok(Json(pointer()).into_response());
    }
    let page = PageRequest::of("graphs", query)?;
    let ListQuery { after, .. } = page.newest()?;
    let found = visitor.app.graph_list(&visitor.scope, ListQuery::new(after, CARDS)).await?;
    let activity = visitor.app.graph_activity(&visitor.scope, &found.items).await?;
    let next = page.next_of(&found);
    let rows: Vec<_> = found.items.iter().zip(&activity).collect();
    let view = View::new("Graphs", Section::Graphs).styles(&["drawing.css"]);
    Ok(visitor.show(&view, list(&visitor, &rows, page.after.is_none(), next.as_deref())))
}

/// `GET /graphs`.
pub(in crate::page) async fn moved() -> Response {
    see("/")
}

/// `POST /graphs/example`: creates one of the examples.
pub(in crate::page) async fn post_example(
    visitor: Visitor,
    form: Form,
) -> Result<Response, ApiProblem> {
    let name = form.text("name");
    let example = EXAMPLES.iter().find(|(known, _, _)| *known == name);
    let (_, _, definition) = example
        .ok_or_else(|| ApiProblem::new(ProblemCode::NotFound, "there is no such example"))?;
    let document = parse_json(definition.as_bytes())
        .map_err(|error| ApiProblem::new(ProblemCode::InvalidJson, error.to_string()))?;
    let row = visitor.app.graph_create(&visitor.scope, &document).await?;
    Ok(see(&format!("/graphs/{}", encoded(&row.name))))
}

fn pointer() -> serde_json::Value {
    json!({
        "name": "dsrs-server",
        "version": env!("CARGO_PKG_VERSION"),
        "docs": "/docs/",
        "openapi": "/openapi.json",
        "graphs": "/v1/graphs"
    })
}

fn list(
    visitor: &Visitor,
    rows: &[(&GraphSummaryRow, &GraphActivity)],
    is_first: bool,
    next: Option<&str>,
) -> Markup {
    let may_write = visitor.may(KeyScope::Write);
    let actions = html! {
        @if may_write { a.button.primary href="/new" { "New graph" } }
    };
    html! {
        (head(&[], &html! { "Graphs" }, &actions))
        @if rows.is_empty() && is_first {
            (empty("No graphs yet", &html! {
                p.muted { "A graph connects prompting strategies with typed edges. Start with an example, or "
                    "post your own to " code { "POST /v1/graphs" } "." }
            }))
            (examples(may_write))
        } @else {
            div.cards { @for (graph, activity) in rows { (card(graph, activity)) } }
            (pager("/", is_first, next))
        }
        (SameRequest::get("/v1/graphs").show())
    }
}

fn examples(may_write: bool) -> Markup {
    html! {
        div.cards {
            @for (name, purpose, definition) in EXAMPLES {
                article.card.example {
                    h2 { (name) }
                    p.muted { (purpose) }
                    details { summary { "Definition" } pre.json { (crate::page::parts::json::json(definition)) } }
                    @if may_write {
                        form action="/graphs/example" method="post" {
                            button type="submit" name="name" value=(name) { "Add " (name) }
                        }
                    }
                }
            }
        }
    }
}

fn card(graph: &GraphSummaryRow, activity: &GraphActivity) -> Markup {
    html! {
        article.card {
            h2 {
                a.cut href={ "/graphs/" (encoded(&graph.name)) } title=(graph.name) { (graph.name) }
                span.small.muted { "v" (graph.version) }
            }
            div.day {
                @if let Some(description) = &graph.description { p.description { (description) } }
                (sparkline(&activity.hours, &format!("{} runs in the last day", activity.runs)))
                p.figures { (figures(activity)) }
                p.figures {
                    span { "state " b { (graph.state_version) } }
                    @if let Some(found) = activity.score { span { "score " b { (score(found)) } } }
                    span { "changed " (ago(graph.updated_at)) }
                }
            }
        }
    }
}

fn figures(activity: &GraphActivity) -> Markup {
    let more = if activity.runs >= MOST_RUNS { "+" } else { "" };
    html! {
        span { b { (count(activity.runs)) (more) } " runs in 24 h" }
        @if activity.runs > 0 {
            span { b { (share(activity.succeeded, activity.runs)) } " succeeded" }
            @if let Some(ms) = activity.median_ms { span { "p50 " b { (duration(ms)) } } }
            @if let Some(ms) = activity.p95_ms { span { "p95 " b { (duration(ms)) } } }
            @if let Some(spent) = activity.cost { span { b { (cost(spent)) } } }
        }
    }
}
