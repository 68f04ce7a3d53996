//! `/datasets`: all datasets, and the upload of a new one.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::dataset::Bytes;
use crate::dataset::upload::{Pasted, upload};
use crate::form::encoded;
use crate::parts::empty::empty;
use crate::parts::figure::count;
use crate::parts::head::head;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::time::ago;
use crate::parts::values::members;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::dataset::DatasetRow;
use dsrs_store::key_scope::KeyScope;

/// `GET /datasets`.
pub(crate) async fn datasets(visitor: Visitor, query: Query) -> Result<Response, ApiProblem> {
    let page = PageRequest::of("datasets", query)?;
    let found = visitor.app.dataset_list(&visitor.scope, page.newest()?).await?;
    let next = page.next_of(&found);
    let list = list(&found.items, page.after.is_none(), next.as_deref());
    Ok(show(&visitor, &list, &Pasted::default()))
}

/// The list with the form for a new dataset.
pub(super) fn show(visitor: &Visitor, list: &Markup, pasted: &Pasted) -> Response {
    let view = View::new("Datasets", PageSection::Datasets)
        .styles(&["quality.css"])
        .scripts(&["upload.js"]);
    let may_write = visitor.may(KeyScope::Write);
    let actions = html! { @if may_write { a.button.primary href="#upload" { "New dataset" } } };
    let body = html! {
        (head(&[], &html! { "Datasets" }, &actions))
        (list)
        @if may_write { (upload(None, pasted)) }
        (SameRequest::get("/v1/datasets").show())
    };
    visitor.show(&view, body)
}

fn list(rows: &[DatasetRow], is_first: bool, next: Option<&str>) -> Markup {
    html! {
        @if rows.is_empty() && is_first {
            (empty("No datasets yet", &html! {
                p.muted { "A dataset is a list of examples: inputs, and the outputs that you expect. Evaluations score a "
                    "graph on them, optimizations improve a graph with them. Drop a CSV or JSON lines file below." }
            }))
        } @else {
            table.stack {
                thead { tr { th { "Name" } th.number { "Examples" } th.number { "Size" } th { "Splits" } th.number { "Version" } th { "Changed" } th { "By" } } }
                tbody { @for row in rows { (line(row)) } }
            }
            (pager("/datasets", is_first, next))
        }
    }
}

fn line(row: &DatasetRow) -> Markup {
    let version = &row.version;
    html! {
        tr {
            td.name {
                a href={ "/datasets/" (encoded(&row.name)) } { (row.name) }
                @if let Some(about) = description(version.description.as_deref()) { div.small.muted { (about) } }
            }
            td.number data-label="Examples" { (count(version.count.into())) }
            td.number data-label="Size" { (Bytes(version.bytes)) }
            td data-label="Splits" { (splits(&members(&version.splits))) }
            td.number data-label="Version" { (version.version) }
            td data-label="Changed" { (ago(version.created_at)) }
            td.muted data-label="By" { (version.created_by) }
        }
    }
}

/// The description of a version, which is stored as a JSON text.
pub(super) fn description(stored: Option<&str>) -> Option<String> {
    serde_json::from_str(stored?).ok()
}

/// The splits that examples name, with their counts.
pub(super) fn splits(splits: &Map<String, Value>) -> Markup {
    html! {
        @if splits.is_empty() { span.muted { "none" } }
        @else { span { @for (name, count) in splits { span.badge { (name) " " (count) } " " } } }
    }
}
