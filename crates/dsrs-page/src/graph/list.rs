//! `/`: the graphs of the workspace, with what they did in the last day; if there is none, the examples.

use axum::Json;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use dsrs::value::parse_json;
use maud::{Markup, html};
use serde_json::json;

use crate::drawing::{Opened, drawing};
use crate::form::{Form, encoded, see};
use crate::parts::empty::empty;
use crate::parts::figure::{cost, count, score, share};
use crate::parts::head::head;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::sparkline::sparkline;
use crate::parts::time::{ago, duration};
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_http::{ApiProblem, PageRequest, ProblemCode, Query, names_html};
use dsrs_store::ListQuery;
use dsrs_store::graph::{GraphRef, GraphSummaryRow, VersionSelection};
use dsrs_store::graph_activity::{GraphActivity, MOST_RUNS};
use dsrs_store::key_scope::KeyScope;

/// Graphs on one page of the list.
const CARDS: u32 = 24;

/// A graph that an empty server offers: its name and its definition.
type ExampleGraph = (&'static str, &'static str);

const EXAMPLES: [ExampleGraph; 3] = [
    ("capital", include_str!("../../../../examples/graphs/capital.json")),
    ("review-card", include_str!("../../../../examples/graphs/review-card.json")),
    ("help-desk", include_str!("../../../../examples/graphs/help-desk.json")),
];

/// `GET /`: the list for browsers, a pointer to the API for its clients.
pub(crate) async fn graphs(
    visitor: Visitor,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, ApiProblem> {
    if !names_html(&headers) {
        return Ok(Json(pointer()).into_response());
    }
    let page = PageRequest::of("graphs", query)?;
    let ListQuery { after, .. } = page.newest()?;
    let listed = visitor.app.graph_list(&visitor.scope, ListQuery::new(after, CARDS)).await?;
    let activity = visitor.app.graph_activity(&visitor.scope, &listed.items).await?;
    let next = page.next_of(&listed);
    let mut cards = Vec::with_capacity(listed.items.len());
    for (graph, activity) in listed.items.iter().zip(&activity) {
        let picture = picture(&visitor, graph).await;
        cards.push(card(graph, activity, picture.as_ref()));
    }
    let examples = match cards.is_empty() && page.after.is_none() {
        true => Some(examples(&visitor).await),
        false => None,
    };
    let view = View::new("Graphs", PageSection::Graphs);
    Ok(visitor.show(
        &view,
        list(&visitor, &cards, examples.as_ref(), page.after.is_none(), next.as_deref()),
    ))
}

/// `GET /graphs`.
pub(crate) async fn moved() -> Response {
    see("/")
}

/// `POST /graphs/example`: creates one of the examples.
pub(crate) async fn post_example(visitor: Visitor, form: Form) -> Result<Response, ApiProblem> {
    let name = form.text("name");
    let example = EXAMPLES.iter().find(|(known, _)| *known == name);
    let (_, definition) = example
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
    cards: &[Markup],
    examples: Option<&Markup>,
    is_first: bool,
    next: Option<&str>,
) -> Markup {
    let may_write = visitor.may(KeyScope::Write);
    let actions = html! {
        @if may_write { a.button.primary href="/new" { "New graph" } }
    };
    html! {
        (head(&[], &html! { "Graphs" }, &actions))
        @if let Some(examples) = examples {
            (empty("No graphs yet", &html! {
                p.muted { "A graph connects prompting strategies with typed edges. Start with an example, or "
                    "post your own to " code { "POST /v1/graphs" } "." }
            }))
            (examples)
        } @else {
            div.cards { @for card in cards { (card) } }
            (pager("/", is_first, next))
        }
        (SameRequest::get("/v1/graphs").show())
    }
}

fn description_of(definition: &str) -> String {
    let document: serde_json::Value = serde_json::from_str(definition).unwrap_or_default();
    document.get("description").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
}

/// The picture of the newest version; none if this server cannot build it, such as with a tool that is gone.
async fn picture(visitor: &Visitor, graph: &GraphSummaryRow) -> Option<Markup> {
    let id = GraphRef::Id(graph.id);
    let ready = visitor.app.ready(&visitor.scope, &id, VersionSelection::NEWEST).await;
    ready.ok().map(|(_, program)| drawing(&program, &Opened::default()).thumbnail())
}

async fn example_picture(visitor: &Visitor, definition: &str) -> Option<Markup> {
    let document = parse_json(definition.as_bytes()).ok()?;
    let program = visitor.app.graph_check(&visitor.scope, &document).await.ok()?;
    Some(drawing(&program, &Opened::default()).thumbnail())
}

async fn examples(visitor: &Visitor) -> Markup {
    let may_write = visitor.may(KeyScope::Write);
    let mut shown = Vec::with_capacity(EXAMPLES.len());
    for (name, definition) in EXAMPLES {
        shown.push((name, definition, example_picture(visitor, definition).await));
    }
    html! {
        div.cards {
            @for (name, definition, picture) in &shown {
                article.card.example {
                    h2 { (name) }
                    div.picture { @if let Some(picture) = picture { (picture) } }
                    p.muted { (description_of(definition)) }
                    details { summary { "Definition" } pre.json { (crate::parts::json::json(definition)) } }
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

fn card(graph: &GraphSummaryRow, activity: &GraphActivity, picture: Option<&Markup>) -> Markup {
    html! {
        article.card {
            h2 {
                a.cut href={ "/graphs/" (encoded(&graph.name)) } title=(graph.name) { (graph.name) }
                span.small.muted { "v" (graph.version) }
            }
            div.picture { @match picture { Some(picture) => (picture), None => span.small.muted { "cannot be built here" } } }
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
