//! `/datasets/{dataset}`: the examples of a version, its splits, whether it fits a graph, and its versions.

use axum::extract::Path;
use axum::response::Response;
use dsrs::problem::Problems;
use maud::{Markup, html};
use serde_json::json;

use crate::dataset::Bytes;
use crate::dataset::examples::table;
use crate::dataset::list::{description, splits};
use crate::dataset::upload::{Pasted, upload};
use crate::form::encoded;
use crate::parts::badge::{Tone, badge};
use crate::parts::choice::{Names, choice};
use crate::parts::empty::empty;
use crate::parts::figure::count;
use crate::parts::head::head;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::time::ago;
use crate::parts::values::members;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_api::dataset::is_split;
use dsrs_app::{AppError, DatasetCheck, DatasetPart};
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::ListQuery;
use dsrs_store::dataset::{DatasetRow, DatasetVersionRow};
use dsrs_store::dataset_example::PageLimits;
use dsrs_store::graph::GraphRef;
use dsrs_store::key_scope::KeyScope;

/// The most bytes of one page: more examples follow on the next.
const PAGE_BYTES: i64 = 1 << 20;

/// The most examples that are checked at once when a view opens.
const MOST_CHECKED: i32 = 5_000;

/// The newest versions that are listed.
const VERSIONS: u32 = 50;

/// What the address of the view names.
struct Selection {
    version: Option<i32>,
    split: Option<String>,
    graph: String,
}

impl Selection {
    fn read(query: &mut Query) -> Self {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let version = given(query.text("version")).and_then(|text| text.parse().ok());
        let split = given(query.text("split")).filter(|split| is_split(split));
        Self { version, split, graph: query.text("graph").unwrap_or_default() }
    }

    /// The address of a view of the dataset.
    fn path(&self, name: &str) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if let Some(version) = self.version {
            query.append_pair("version", &version.to_string());
        }
        if let Some(split) = &self.split {
            query.append_pair("split", split);
        }
        if !self.graph.is_empty() {
            query.append_pair("graph", &self.graph);
        }
        let query = query.finish();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("/datasets/{}{mark}{query}", encoded(name))
    }
}

/// `GET /datasets/{dataset}`.
pub(crate) async fn dataset(
    visitor: Visitor,
    Path(name): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let Visitor { app, scope, .. } = &visitor;
    let selection = Selection::read(&mut query);
    let row = app.dataset_get(scope, &name, selection.version).await?;
    let version = (row.id, row.version.version);
    let split = selection.split.as_deref();
    let page = PageRequest::of(format!("page {version:?} {split:?}"), query)?;
    let after = page.numbered()?.after.unwrap_or(-1);
    let room = PageLimits { count: i64::from(page.limit), bytes: PAGE_BYTES };
    let rows = app.dataset_examples(scope, version, split, after, room).await?;
    let next =
        page.next(rows.last().map(|row| row.position).filter(|end| end + 1 < row.version.count));
    let fits = match selection.graph.as_str() {
        "" => None,
        graph => Some(app.dataset_rows_fit(scope, &GraphRef::parse(graph), rows.clone()).await?),
    };
    let body = html! {
        (title(&visitor, &row))
        (facts(&row))
        (filters(&visitor, &row, &selection).await?)
        (check(&visitor, &row, &selection).await?)
        @if rows.is_empty() { (empty("No examples here", &html! { p.muted { "This part of the dataset has none." } })) }
        @else { (table(&rows, fits.as_deref())) }
        (pager(&selection.path(&row.name), page.after.is_none(), next.as_deref()))
        @if visitor.may(KeyScope::Write) { (upload(Some(&row.name), &Pasted::default())) }
        (same_request(&row, &selection))
    };
    let view = View::new(row.name.as_str(), PageSection::Datasets)
        .styles(&["quality.css"])
        .scripts(&["upload.js"]);
    Ok(visitor.show(&view, body))
}

fn title(visitor: &Visitor, row: &DatasetRow) -> Markup {
    let path = encoded(&row.name);
    let download =
        format!("/v1/datasets/{path}/examples?format=jsonl&version={}", row.version.version);
    let actions = html! {
        @if visitor.may(KeyScope::Execute) {
            a.button.primary href={ "/evaluations/new?dataset=" (path) } { "Evaluate" }
            a.button href={ "/optimizations/new?trainset=" (path) } { "Optimize" }
        }
        a.button href=(download) download={ (row.name) ".jsonl" } { "Download" }
        @if visitor.may(KeyScope::Write) {
            form action={ "/datasets/" (path) "/delete" } method="post"
                data-confirm={ "Delete the dataset “" (row.name) "” with all its versions? Evaluations and optimizations that use it continue." } {
                button.danger type="submit" { "Delete" }
            }
        }
    };
    let name = html! { span.cut title=(row.name) { (row.name) } };
    head(&[("/datasets".to_owned(), "Datasets")], &name, &actions)
}

fn facts(row: &DatasetRow) -> Markup {
    let version = &row.version;
    html! {
        @if let Some(about) = description(version.description.as_deref()) { p { (about) } }
        p.figures {
            span { "version " b { (version.version) } }
            span { b { (count(version.count.into())) } " examples" }
            span { b { (Bytes(version.bytes)) } }
            span { "splits " (splits(&members(&version.splits))) }
            span { "stored " (ago(version.created_at)) " by " (version.created_by) }
            span { "hash " code title=(version.content_hash) { (version.content_hash.get(..12).unwrap_or_default()) } }
        }
    }
}

async fn filters(
    visitor: &Visitor,
    row: &DatasetRow,
    selection: &Selection,
) -> Result<Markup, ApiProblem> {
    let list = ListQuery::new(None, VERSIONS);
    let versions = visitor.app.dataset_versions(&visitor.scope, row.id, list).await?.items;
    let graphs = graph_names(visitor).await?;
    let named: Vec<String> = members(&row.version.splits).keys().cloned().collect();
    let known = Names { names: named, has_more: false };
    let split = selection.split.as_deref().unwrap_or_default();
    Ok(html! {
        form.filters action={ "/datasets/" (encoded(&row.name)) } method="get" {
            label { "Version" (version_choice(&versions, row.version.version)) }
            @if !known.names.is_empty() { label { "Split" (choice("split", split, &known, "all")) } }
            label { "Check against graph" (choice("graph", &selection.graph, &graphs, "none")) }
            button type="submit" { "Show" }
        }
    })
}

fn version_choice(versions: &[DatasetVersionRow], shown: i32) -> Markup {
    let newest = versions.first().map(|version| version.version);
    html! {
        select name="version" {
            @if !versions.iter().any(|version| version.version == shown) { option value=(shown) selected { (shown) } }
            @for version in versions {
                option value=[(newest != Some(version.version)).then_some(version.version)] selected[version.version == shown] {
                    (version.version) " · " (count(version.count.into())) " examples"
                    @if newest == Some(version.version) { " (newest)" }
                }
            }
        }
    }
}

/// The graphs to choose from, newest first.
pub(crate) async fn graph_names(visitor: &Visitor) -> Result<Names, ApiProblem> {
    let found = visitor.app.graph_list(&visitor.scope, ListQuery::new(None, 200)).await?;
    let names = found.items.into_iter().map(|graph| graph.name).collect();
    Ok(Names { names, has_more: found.next.is_some() })
}

/// Whether all examples of the selection fit the graph.
async fn check(
    visitor: &Visitor,
    row: &DatasetRow,
    selection: &Selection,
) -> Result<Markup, ApiProblem> {
    if selection.graph.is_empty() {
        return Ok(html! {});
    }
    if row.version.count > MOST_CHECKED {
        return Ok(
            html! { p.muted { "Examples of this page are checked against " b { (selection.graph) } "; POST "
            code { "/v1/datasets/" (row.name) "/check" } " checks all of them." } },
        );
    }
    let split = selection.split.as_deref().map(Into::into);
    let part = DatasetPart { split, ..DatasetPart::default() };
    let wanted = DatasetCheck {
        graph: GraphRef::parse(&selection.graph),
        graph_version: None,
        version: Some(row.version.version),
        part,
    };
    let checked = Box::pin(visitor.app.dataset_check(&visitor.scope, &row.name, wanted)).await;
    match checked {
        Ok((pick, fit)) => {
            let beside: Vec<&str> = fit.beside.iter().map(AsRef::as_ref).collect();
            Ok(html! {
                p { (badge(Tone::Good, "fits")) " All " (count(i64::try_from(pick.count).unwrap_or(i64::MAX))) " examples fit "
                    a href={ "/graphs/" (encoded(&selection.graph)) } { (selection.graph) } "."
                    @if !beside.is_empty() { " Expected values that are no outputs of the graph: " code { (beside.join(", ")) } " (metrics may use them)." }
                }
            })
        }
        Err(AppError::Invalid { problems, .. }) => Ok(unfit(&problems, selection, &row.name)),
        Err(other) => Err(other.into()),
    }
}

fn unfit(problems: &Problems, selection: &Selection, name: &str) -> Markup {
    let mut positions: Vec<&str> =
        problems.iter().filter_map(|problem| problem.pointer.split('/').nth(2)).collect();
    positions.dedup();
    html! {
        details.unfit-list open {
            summary { (badge(Tone::Bad, "does not fit")) " " (positions.len()) " examples do not fit " b { (selection.graph) } }
            ol.problems {
                @for problem in problems.iter() {
                    li { (place(&problem.pointer, selection, name)) " " (problem.detail) }
                }
            }
        }
    }
}

/// A place in an example, as a link to the example.
fn place(pointer: &str, selection: &Selection, name: &str) -> Markup {
    let position = pointer.split('/').nth(2).and_then(|text| text.parse::<i32>().ok());
    html! {
        @match position {
            Some(position) if position < 50 => a href={ (selection.path(name)) "#example-" (position) } { code { (pointer) } },
            _ => code { (pointer) },
        }
    }
}

fn same_request(row: &DatasetRow, selection: &Selection) -> Markup {
    let name = encoded(&row.name);
    let version = row.version.version;
    if selection.graph.is_empty() {
        return SameRequest::get(&format!("/v1/datasets/{name}/examples?version={version}")).show();
    }
    let mut body = json!({"graph": selection.graph, "version": version});
    if let Some(split) = &selection.split {
        body["split"] = json!(split);
    }
    let path = format!("/v1/datasets/{name}/check");
    SameRequest { method: "POST", path: &path, body: Some(&body) }.show()
}
