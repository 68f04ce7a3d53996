//! `/runs/compare`: two runs side by side: inputs, outputs, and what each node did.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::evaluation::id_of;
use crate::form::encoded;
use crate::parts::badge::status;
use crate::parts::figure::{cost, count};
use crate::parts::head::head;
use crate::parts::same_request::SameRequest;
use crate::parts::time::{ago, duration};
use crate::parts::values::members;
use crate::run::list::{RunUsage, millis};
use crate::run::span::shown;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_http::{ApiProblem, ProblemCode, Query};
use dsrs_store::run::RunRow;

/// `GET /runs/compare?a=&b=`. The table of runs names both as `run`.
pub(crate) async fn compare(visitor: Visitor, mut query: Query) -> Result<Response, ApiProblem> {
    let marked = query.all("run");
    let mut named = [query.text("a"), query.text("b")].into_iter().flatten().chain(marked);
    let two = named.next().zip(named.next());
    let has_more = named.next().is_some();
    query.close()?;
    let (Some((a, b)), false) = (two, has_more) else {
        return Err(ApiProblem::new(
            ProblemCode::InvalidParameter,
            "mark exactly two runs to compare them",
        ));
    };
    let (a, _) = visitor.app.run_find(&visitor.scope, id_of(&a)?).await?;
    let (b, _) = visitor.app.run_find(&visitor.scope, id_of(&b)?).await?;
    let view = View::new("Compare runs", PageSection::Runs).styles(&["run.css"]);
    Ok(visitor.show(&view, page(&a, &b)))
}

fn page(a: &RunRow, b: &RunRow) -> Markup {
    let documents = |row: &RunRow| {
        [members(&row.inputs), row.outputs.as_deref().map(members).unwrap_or_default()]
    };
    let ([inputs_a, outputs_a], [inputs_b, outputs_b]) = (documents(a), documents(b));
    html! {
        (head(&[("/runs".to_owned(), "Runs")], &html! { "Compare two runs" }, &html! { a.button href={ "/runs/compare?a=" (b.id) "&b=" (a.id) } { "Swap" } }))
        div.beside { (summary(a)) (summary(b)) }
        (values("Inputs", &inputs_a, &inputs_b))
        (values("Outputs", &outputs_a, &outputs_b))
        (nodes(&members(&a.nodes), &members(&b.nodes)))
        @for row in [a, b] { (SameRequest::get(&format!("/v1/runs/{}", row.id)).show()) }
    }
}

fn summary(row: &RunRow) -> Markup {
    let usage = RunUsage::read(&row.usage);
    html! {
        section.panel {
            header { h2 { a.mono href={ "/runs/" (row.id) } { (row.id.to_string().get(24..).unwrap_or_default()) } } (status(row.status.as_str())) }
            div.body { dl.facts {
                dt { "Graph" } dd { a href={ "/graphs/" (encoded(&row.graph_name)) } { (row.graph_name) } " v" (row.graph_version) " · state " (row.state_version) }
                dt { "Started" } dd { (ago(row.created_at)) }
                dt { "Duration" } dd { (millis(row.duration_ms)) }
                dt { "Calls, tokens" } dd { (count(usage.lm_calls)) ", " (count(usage.input_tokens)) " in, " (count(usage.output_tokens)) " out" }
                dt { "Cost" } dd { (usage.cost.map_or_else(|| "unknown".to_owned(), cost)) }
            } }
        }
    }
}

/// The names of both, those of the first run first.
fn names<'m>(a: &'m Map<String, Value>, b: &'m Map<String, Value>) -> Vec<&'m str> {
    let more = b.keys().filter(|name| !a.contains_key(*name));
    a.keys().chain(more).map(String::as_str).collect()
}

fn values(title: &str, a: &Map<String, Value>, b: &Map<String, Value>) -> Markup {
    let side = |values: &Map<String, Value>, name: &str| html! { @match values.get(name) { Some(value) => (shown(value)), None => span.muted { "–" } } };
    html! {
        section { h2 { (title) }
            div.comparison {
                @for name in names(a, b) {
                    @let differs = a.get(name) != b.get(name);
                    h3.differs[differs] { (name) @if differs { " " span.badge.warn { "differs" } } }
                    div.beside { div.side { (side(a, name)) } div.side { (side(b, name)) } }
                }
            }
        }
    }
}

fn nodes(a: &Map<String, Value>, b: &Map<String, Value>) -> Markup {
    let text = |node: Option<&Value>, member: &str| {
        node.and_then(|node| node.get(member)).and_then(Value::as_str).unwrap_or("–").to_owned()
    };
    let took = |node: Option<&Value>| node.and_then(|node| node.get("duration_ms")?.as_f64());
    let time = |ms: Option<f64>| ms.map_or_else(|| "–".to_owned(), duration);
    let change = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) if a > 0.0 => format!("{:+.0} %", 100.0 * (b - a) / a),
        _ => String::new(),
    };
    html! {
        section { h2 { "Nodes" }
            table.stack {
                thead { tr { th { "Node" } th { "Status" } th { "Status" } th.number { "Duration" } th.number { "Duration" } th.number { "Change" } th { "Outputs" } } }
                tbody { @for name in names(a, b) {
                    @let (first, second) = (a.get(name), b.get(name));
                    tr {
                        td data-label="Node" { code { (name) } }
                        td data-label="Status" { (status(&text(first, "status"))) }
                        td data-label="Status" { (status(&text(second, "status"))) }
                        td.number data-label="Duration" { (time(took(first))) }
                        td.number data-label="Duration" { (time(took(second))) }
                        td.number data-label="Change" { (change(took(first), took(second))) }
                        td data-label="Outputs" { @if first.and_then(|node| node.get("outputs")) == second.and_then(|node| node.get("outputs")) { "equal" } @else { span.badge.warn { "differ" } } }
                    }
                } }
            }
        }
    }
}
