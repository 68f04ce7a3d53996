//! `/graphs/{graph}`: the picture of a version, and beside it the selected node or the definition.

use std::sync::Arc;

use axum::extract::Path;
use axum::response::Response;
use dsrs::graph::Program;
use maud::{Markup, html};

use crate::drawing::{FigureOptions, drawing};
use crate::form::{Form, encoded};
use crate::graph::answers::last_answers;
use crate::graph::definition::definition;
use crate::graph::judgement::judgement;
use crate::graph::nested::Nested;
use crate::graph::node::SelectedNode;
use crate::graph::selection::GraphSelection;
use crate::graph::tabs::{GraphTab, graph_tabs};
use crate::graph::versions::newest_versions;
use crate::parts::badge::{Tone, badge};
use crate::parts::figure::score;
use crate::parts::head::head;
use crate::parts::same_request::SameRequest;
use crate::parts::time::ago;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_http::{ApiProblem, Query};
use dsrs_store::graph::{GraphRef, GraphRow};

/// `GET /graphs/{graph}`.
pub(crate) async fn graph(
    visitor: Visitor,
    Path(graph): Path<String>,
    query: Query,
) -> Result<Response, ApiProblem> {
    let fields = query.into_fields()?;
    let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    show(&visitor, &graph, &GraphSelection::of(fields)).await
}

/// `POST /graphs/{graph}`: the same with inputs that are too long for an address. Changes nothing.
pub(crate) async fn with_inputs(
    visitor: Visitor,
    Path(graph): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    show(&visitor, &graph, &GraphSelection::of(form.iter())).await
}

async fn show(
    visitor: &Visitor,
    graph: &str,
    selection: &GraphSelection,
) -> Result<Response, ApiProblem> {
    let Visitor { app, scope, .. } = visitor;
    let row = app.graph_get(scope, &GraphRef::parse(graph), selection.version).await?;
    // A definition whose tools are gone from this server is shown without a picture.
    let program = app.program_of(scope, &row).await.ok();
    let body = html! {
        (title(&row))
        (graph_tabs(visitor, &row.name, GraphTab::Graph))
        (facts(&row, program.as_deref()))
        div.graph-view {
            @match program {
                Some(program) => (picture_and_node(visitor, &row, program, selection).await?),
                None => {
                    div.picture-column {
                        p.refusal { "This server cannot build this version: something that it uses is gone." }
                        (newest_versions(visitor, &row).await?)
                        @if let Some(judgement) = judgement(visitor, &row).await? { (judgement) }
                    }
                    aside.panel #node { (definition_panel(&row)) }
                },
            }
        }
        (SameRequest::get(&format!("/v1/graphs/{}", encoded(&row.name))).show())
    };
    let view = View::new(row.name.as_str(), PageSection::Graphs)
        .styles(&["drawing.css", "graph.css"])
        .scripts(&["drawing.js", "graph.js", "live_form.js"]);
    Ok(visitor.show(&view, body))
}

fn title(row: &GraphRow) -> Markup {
    let name = html! { span.cut title=(row.name) { (row.name) } };
    head(&[("/".to_owned(), "Graphs")], &name, &html! {})
}

fn facts(row: &GraphRow, program: Option<&Program>) -> Markup {
    let path = format!("/graphs/{}", encoded(&row.name));
    html! {
        @if let Some(description) = row.description.as_deref().filter(|text| !text.is_empty()) { p.text { (description) } }
        p.figures {
            span {
                "version " b { (row.version) } " "
                @if row.version == row.newest_version { (badge(Tone::Good, "newest")) }
                @else { (badge(Tone::Warn, "older")) " " a href=(path) { "newest is " (row.newest_version) } }
            }
            span {
                "state " a href={ (path) "/state?version=" (row.state.version) } { b { (row.state.version) } }
                @if let Some(found) = row.state.score { " score " b { (score(found)) } }
            }
            @if let Some(program) = program {
                span { b { (program.graph().nodes().count()) } " nodes" }
                span { b { (program.graph().edges().len()) } " edges" }
            }
            span { "stored " (ago(row.updated_at)) " by " (row.created_by) }
            span { "hash " code title=(row.content_hash) { (row.content_hash.get(..12).unwrap_or_default()) } }
        }
    }
}

async fn picture_and_node(
    visitor: &Visitor,
    row: &GraphRow,
    program: Arc<Program>,
    selection: &GraphSelection,
) -> Result<Markup, ApiProblem> {
    let nested = Nested::load(visitor, program.clone(), selection).await;
    let found = selection.node.as_deref().and_then(|path| nested.node(path));
    let version = selection.version.map(|version| version.to_string());
    let query: Vec<(&str, &str)> =
        version.iter().map(|version| ("version", version.as_str())).collect();
    let options = FigureOptions {
        selected: selection.node.as_deref(),
        opened: &selection.open,
        query: &query,
        target: "node",
    };
    let picture = drawing(&program, &nested.opened).figure(&options);
    let panel = match found {
        None => definition_panel(row),
        Some((program, name, path)) => {
            let answers = match path.contains('/') {
                true => Vec::new(),
                false => last_answers(visitor, row.id, name).await?,
            };
            let node = SelectedNode { graph: &row.name, program, name, path, answers: &answers };
            html! {
                (node.show(selection))
                footer { a href=(whole(selection)) data-no-node { "Whole definition" } }
            }
        }
    };
    Ok(html! {
        div.picture-column {
            (picture)
            (newest_versions(visitor, row).await?)
            @if let Some(judgement) = judgement(visitor, row).await? { (judgement) }
        }
        aside.panel #node aria-label="Selected" tabindex="-1" { (panel) }
    })
}

/// The address of the view without a selected node.
fn whole(selection: &GraphSelection) -> String {
    let mut parts = Vec::new();
    parts.extend(selection.version.map(|version| format!("version={version}")));
    if !selection.open.is_empty() {
        parts.push(format!("open={}", encoded(&selection.open_field())));
    }
    format!("?{}", parts.join("&"))
}

fn definition_panel(row: &GraphRow) -> Markup {
    html! {
        header { h2 { "Definition" } }
        div.body {
            p.small.muted { "Select a node in the picture to see its prompt, demos and last answers." }
            (definition(&row.definition))
        }
    }
}
