//! `/optimizations`: all optimizations, or those of a graph.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;

use crate::dataset::view::graph_names;
use crate::evaluation::list::dataset_name;
use crate::form::encoded;
use crate::parts::badge::status;
use crate::parts::choice::choice;
use crate::parts::empty::empty;
use crate::parts::figure::{cost, count, score};
use crate::parts::head::head;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::time::ago;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::graph::GraphRef;
use dsrs_store::key_scope::KeyScope;
use dsrs_store::optimization::OptimizationRow;

/// `GET /optimizations`.
pub(crate) async fn optimizations(
    visitor: Visitor,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let Visitor { app, scope, .. } = &visitor;
    let graph = query.text("graph").filter(|graph| !graph.is_empty()).unwrap_or_default();
    let page = PageRequest::of(format!("optimizations {graph}"), query)?;
    let id = match graph.as_str() {
        "" => None,
        name => Some(app.graph_id(scope, &GraphRef::parse(name)).await?),
    };
    let listed = app.optimization_list(scope, id, page.newest()?).await?;
    let path = if graph.is_empty() { String::new() } else { format!("?graph={}", encoded(&graph)) };
    let (next, is_first) = (page.next_of(&listed), page.after.is_none());
    let graphs = graph_names(&visitor).await?;
    let actions = html! { @if visitor.may(KeyScope::Execute) { a.button.primary href={ "/optimizations/new" (path) } { "New optimization" } } };
    let body = html! {
        (head(&[], &html! { "Optimizations" }, &actions))
        @if listed.items.is_empty() && is_first && graph.is_empty() {
            (empty("No optimizations yet", &html! {
                p.muted { "An optimization searches, within a budget, for instructions, demos or a graph that score better on "
                    "your examples. Its result becomes active only if you want that." }
            }))
        } @else {
            form.filters action="/optimizations" method="get" {
                label { "Graph" (choice("graph", &graph, &graphs, "all")) }
                button type="submit" { "Show" }
            }
            (table(&listed.items))
            (pager(&format!("/optimizations{path}"), is_first, next.as_deref()))
        }
        (SameRequest::get(&format!("/v1/optimizations{path}")).show())
    };
    let view = View::new("Optimizations", PageSection::Optimizations)
        .styles(&["quality.css", "chart.css"]);
    Ok(visitor.show(&view, body))
}

fn table(rows: &[OptimizationRow]) -> Markup {
    html! {
        @if rows.is_empty() { p.muted { "There are no optimizations of this graph." } }
        @else {
            table.stack {
                thead { tr { th { "Optimization" } th { "Status" } th { "Optimizer" } th { "Score, before and after" } th { "Trainset" } th.number { "Candidates" } th.number { "Calls" } th.number { "Cost" } th { "Started" } } }
                tbody { @for row in rows { (line(row)) } }
            }
        }
    }
}

fn line(row: &OptimizationRow) -> Markup {
    let request: Value = serde_json::from_str(&row.request).unwrap_or_default();
    html! {
        tr {
            td.name { a href={ "/optimizations/" (row.id) } { (row.graph_name) } " " span.small.muted { "v" (row.graph_version) " · state " (row.state_version) } }
            td data-label="Status" { (status(row.status.as_str())) }
            td data-label="Optimizer" { (row.optimizer) }
            td data-label="Score" { (scores(row)) }
            td data-label="Trainset" { (dataset_name(&request["trainset"].to_string())) }
            td.number data-label="Candidates" { (count(row.candidates)) }
            td.number data-label="Calls" { (count(row.spent.lm_calls)) }
            td.number data-label="Cost" { (row.spent.cost.map_or_else(|| "–".to_owned(), cost)) }
            td data-label="Started" { (ago(row.created_at)) }
        }
    }
}

/// The scores of the original program and of the result on the held-out examples.
fn scores(row: &OptimizationRow) -> Markup {
    let result: Value =
        row.result.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let shown = |score_of: &Value| score_of.as_f64().map_or_else(|| "–".to_owned(), score);
    html! {
        @if result.is_null() { "–" }
        @else { span { (shown(&result["baseline"]["score"])) " → " b { (shown(&result["best"]["score"])) } } }
    }
}
