//! `/evaluations`: all evaluations, or those of a graph.

use axum::response::Response;
use maud::{Markup, html};

use crate::dataset::view::graph_names;
use crate::evaluation::metric_line;
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
use dsrs_app::DatasetPick;
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::batch::UsageTotals;
use dsrs_store::evaluation::EvaluationRow;
use dsrs_store::graph::GraphRef;
use dsrs_store::key_scope::KeyScope;

/// `GET /evaluations`.
pub(crate) async fn evaluations(
    visitor: Visitor,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let graph = query.text("graph").filter(|graph| !graph.is_empty()).unwrap_or_default();
    let page = PageRequest::of(format!("evaluations {graph}"), query)?;
    let named = (!graph.is_empty()).then(|| GraphRef::parse(&graph));
    let listed =
        visitor.app.evaluation_list(&visitor.scope, named.as_ref(), page.newest()?).await?;
    let path = if graph.is_empty() { String::new() } else { format!("?graph={}", encoded(&graph)) };
    let next = page.next_of(&listed);
    let graphs = graph_names(&visitor).await?;
    let is_first = page.after.is_none();
    let actions = html! { @if visitor.may(KeyScope::Execute) { a.button.primary href={ "/evaluations/new" (path) } { "New evaluation" } } };
    let body = html! {
        (head(&[], &html! { "Evaluations" }, &actions))
        @if listed.items.is_empty() && is_first && graph.is_empty() { (nothing()) }
        @else {
            form.filters action="/evaluations" method="get" {
                label { "Graph" (choice("graph", &graph, &graphs, "all")) }
                button type="submit" { "Show" }
            }
            (table(&listed.items))
            (pager(&format!("/evaluations{path}"), is_first, next.as_deref()))
        }
        (SameRequest::get(&format!("/v1/evaluations{path}")).show())
    };
    let view =
        View::new("Evaluations", PageSection::Evaluations).styles(&["quality.css", "chart.css"]);
    Ok(visitor.show(&view, body))
}

fn nothing() -> Markup {
    empty(
        "No evaluations yet",
        &html! {
            p.muted { "An evaluation runs a graph on each example of a dataset, and a metric scores the outputs from 0 to 1." }
            p { a href="/datasets" { "Datasets" } " · " a href="/" { "Graphs" } }
        },
    )
}

fn table(rows: &[EvaluationRow]) -> Markup {
    html! {
        @if rows.is_empty() { p.muted { "There are no evaluations of this graph." } }
        @else {
            table.stack {
                thead { tr { th { "Evaluation" } th { "Status" } th.number { "Score" } th { "Dataset" } th { "Metric" } th.number { "Done" } th.number { "Failed" } th.number { "Cost" } th { "Started" } } }
                tbody { @for row in rows { (line(row)) } }
            }
        }
    }
}

fn line(row: &EvaluationRow) -> Markup {
    let tally = row.tally;
    let metric = metric_line(&row.metric);
    html! {
        tr {
            td.name { a href={ "/evaluations/" (row.id) } { (row.graph_name) } " " span.small.muted { "v" (row.graph_version) " · state " (row.state_version) } }
            td data-label="Status" { (status(row.status.as_str())) }
            td.number data-label="Score" { @match tally.mean() { Some(mean) => b { (score(mean)) }, None => "–" } }
            td data-label="Dataset" { (dataset_name(&row.dataset)) }
            td data-label="Metric" { code.cut.metric title=(metric) { (metric) } }
            td.number data-label="Done" { (count(tally.done.into())) " / " (count(tally.total.into())) }
            td.number data-label="Failed" { (tally.failed) }
            td.number data-label="Cost" { (total_cost(row).map_or_else(|| "–".to_owned(), cost)) }
            td data-label="Started" { (ago(row.created_at)) }
        }
    }
}

/// The dataset of a job, with its version and split.
pub(crate) fn dataset_name(stored: &str) -> Markup {
    html! {
        @match DatasetPick::read(stored) {
            None => "–",
            Some(pick) => {
                span { a href={ "/datasets/" (encoded(&pick.name)) "?version=" (pick.version) } { (pick.name) }
                    " " span.small.muted { "v" (pick.version) @if let Some(split) = &pick.part.split { " · " (split) } } }
            }
        }
    }
}

/// The cost of the graph and of the metric, if the prices are known.
pub(super) fn total_cost(row: &EvaluationRow) -> Option<f64> {
    let judging = UsageTotals::from(row.judging);
    match (row.spent.cost, judging.cost) {
        (None, None) => None,
        (graph, metric) => Some(graph.unwrap_or(0.0) + metric.unwrap_or(0.0)),
    }
}
