//! `/graphs/{graph}/versions`: the versions of a graph, and what is different between two of them.

use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};

use crate::form::encoded;
use crate::parts::badge::{Tone, badge};
use crate::parts::empty::empty;
use crate::parts::head::head;
use crate::parts::json::json;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::time::ago;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::ListQuery;
use dsrs_store::graph::{GraphRef, GraphRow};
use dsrs_store::graph_version::GraphVersionRow;

/// Versions on the view of the graph.
const FEW: u32 = 5;

/// `GET /graphs/{graph}/versions`.
pub(crate) async fn versions(
    visitor: Visitor,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let (from, to) = (query.number("from"), query.number("to"));
    let Visitor { app, scope, .. } = &visitor;
    let row = app.graph_get(scope, &GraphRef::parse(&graph), None).await?;
    let page = PageRequest::of(format!("versions/{}", row.id), query)?;
    let listed = app.graph_versions(scope, row.id, page.numbered()?).await?;
    let path = format!("/graphs/{}/versions", encoded(&row.name));
    let difference = match to.or(from) {
        None => None,
        Some(end) => {
            let to = to.unwrap_or(row.version);
            let from = from.unwrap_or_else(|| end.saturating_sub(1).max(1));
            Some(difference(&visitor, &row, from, to).await?)
        }
    };
    let crumbs = [
        ("/".to_owned(), "Graphs"),
        (format!("/graphs/{}", encoded(&row.name)), row.name.as_str()),
    ];
    let body = html! {
        (head(&crumbs, &html! { "Versions" }, &html! {}))
        @if let Some(difference) = difference { (difference) }
        section.panel {
            header { h2 { "All versions" } (choice(&path, row.version, from, to)) }
            div.body { (table(&row, &listed.items)) }
        }
        (pager(&path, page.after.is_none(), page.next_of(&listed).as_deref()))
        (SameRequest::get(&format!("/v1{path}")).show())
    };
    let view =
        View::new(format!("Versions of {}", row.name), PageSection::Graphs).styles(&["graph.css"]);
    Ok(visitor.show(&view, body))
}

/// The newest versions, for the view of the graph.
pub(super) async fn newest_versions(
    visitor: &Visitor,
    row: &GraphRow,
) -> Result<Markup, ApiProblem> {
    let list = ListQuery::new(None, FEW);
    let found = visitor.app.graph_versions(&visitor.scope, row.id, list).await?;
    let path = format!("/graphs/{}/versions", encoded(&row.name));
    Ok(html! {
        section.panel {
            header { h2 { "Versions" } a href=(path) { "All versions and differences" } }
            div.body { (table(row, &found.items)) }
        }
    })
}

fn choice(path: &str, newest: i32, from: Option<i32>, to: Option<i32>) -> Markup {
    let to = to.unwrap_or(newest);
    let from = from.unwrap_or_else(|| to.saturating_sub(1).max(1));
    html! {
        form.compare action=(path) method="get" {
            label.inline { "Compare " input type="number" name="from" min="1" max=(newest) value=(from) required; }
            label.inline { "with " input type="number" name="to" min="1" max=(newest) value=(to) required; }
            button type="submit" { "Show" }
        }
    }
}

fn table(row: &GraphRow, versions: &[GraphVersionRow]) -> Markup {
    let path = format!("/graphs/{}", encoded(&row.name));
    html! {
        table.stack {
            thead { tr { th { "Version" } th { "Description" } th { "State" } th { "Stored" } th { "By" } th { "Difference" } } }
            tbody {
                @for version in versions {
                    tr aria-current=[(version.version == row.version).then_some("true")] {
                        td data-label="Version" { span {
                            a href={ (path) "?version=" (version.version) } { b { (version.version) } }
                            @if version.version == row.newest_version { " " (badge(Tone::Good, "newest")) }
                        } }
                        td data-label="Description" { span { (version.description.as_deref().filter(|text| !text.is_empty()).unwrap_or("–")) } }
                        td data-label="State" { a href={ (path) "/state?version=" (version.state_version) } { (version.state_version) } }
                        td data-label="Stored" { (ago(version.created_at)) }
                        td.by data-label="By" { span.cut title=(version.created_by) { (version.created_by) } }
                        td data-label="Difference" {
                            @if version.version > 1 {
                                a href={ (path) "/versions?from=" (version.version - 1) "&to=" (version.version) } { "to version " (version.version - 1) }
                            } @else { span.muted { "–" } }
                        }
                    }
                }
            }
        }
    }
}

async fn difference(
    visitor: &Visitor,
    row: &GraphRow,
    from: i32,
    to: i32,
) -> Result<Markup, ApiProblem> {
    let diff = visitor.app.graph_diff(&visitor.scope, &GraphRef::Id(row.id), from, to).await?;
    let edits = diff.edits.to_payload().to_json();
    let request = format!("/v1/graphs/{}/versions/{to}/diff?against={from}", encoded(&row.name));
    Ok(html! {
        section.panel {
            header { h2 { "From version " (from) " to " (to) }
                a href={ "?from=" (to) "&to=" (from) } { "the other way" } }
            div.body {
                @if diff.text.trim().is_empty() {
                    (empty("No difference", &html! { p.muted { "Both versions are the same graph." } }))
                } @else {
                    ul.difference { @for line in diff.text.lines() { (changed(line)) } }
                    details { summary { "As edits of " code { "PATCH" } } pre.json { (json(&edits)) } }
                }
                (SameRequest::get(&request).show())
            }
        }
    })
}

/// A line of the difference: added, removed or changed.
fn changed(line: &str) -> Markup {
    let (class, word) = match line.trim_start().chars().next() {
        Some('+') => ("added", "added: "),
        Some('-') => ("removed", "removed: "),
        Some('~') => ("changed", "changed: "),
        _ => ("same", ""),
    };
    html! { li class={ "mono " (class) } { span.sr { (word) } (line) } }
}
