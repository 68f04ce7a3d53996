//! `/graphs/{graph}/edit` and `/new`: the definition as a text. Without a script a form that checks and saves; the
//! script makes an editor of it.

use axum::extract::Path;
use axum::response::Response;
use dsrs::strategy::registry;
use dsrs::value::{ParsedJson, parse_json};
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::form::{Form, encoded, see};
use crate::graph::tabs::{GraphTab, graph_tabs};
use crate::parts::head::head;
use crate::parts::json::pretty;
use crate::parts::same_request::SameRequest;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::{AppError, Precondition};
use dsrs_http::{ApiProblem, ProblemCode, Query};
use dsrs_store::graph::{GraphRef, GraphRow};

const STYLES: &[&str] = &["drawing.css", "editor.css"];
const SCRIPTS: &[&str] = &["editor.js"];

/// What an empty editor begins with.
const NEW_GRAPH: &str = r#"{
  "name": "my-graph",
  "nodes": {
    "answer": {"strategy": "predict", "signature": "question -> answer"}
  }
}"#;

/// A definition in the editor, and what the server answered to it.
struct Draft<'d> {
    /// The stored graph that it changes; nothing for a new one.
    stored: Option<&'d GraphRow>,
    text: &'d str,
    verdict: Verdict,
}

/// What the server says of a definition.
enum Verdict {
    /// It was not asked.
    None,
    Valid,
    Refused(ApiProblem),
    /// Another version was stored since.
    Conflict,
}

/// `GET /new`.
pub(crate) async fn new(visitor: Visitor, query: Query) -> Result<Response, ApiProblem> {
    query.close()?;
    Ok(show(&visitor, &Draft { stored: None, text: NEW_GRAPH, verdict: Verdict::None }))
}

/// `POST /new`: checks a definition, or creates its graph.
pub(crate) async fn create(visitor: Visitor, form: Form) -> Result<Response, ApiProblem> {
    let text = form.text("definition");
    let verdict = match document(text) {
        Err(problem) => Verdict::Refused(problem),
        Ok(document) if form.text("act") == "save" => {
            match visitor.app.graph_create(&visitor.scope, &document).await {
                Ok(row) => return Ok(see(&format!("/graphs/{}", encoded(&row.name)))),
                Err(error) => Verdict::Refused(error.into()),
            }
        }
        Ok(document) => checked(&visitor, &document).await,
    };
    Ok(show(&visitor, &Draft { stored: None, text, verdict }))
}

/// `GET /graphs/{graph}/edit`: the newest version, or `version`.
pub(crate) async fn edit(
    visitor: Visitor,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let version = query.number("version");
    query.close()?;
    let graph = GraphRef::parse(&graph);
    let newest = match visitor.app.graph_get(&visitor.scope, &graph, None).await {
        Ok(newest) => newest,
        // What people guess as the address of an empty editor; a graph of this name comes first.
        Err(AppError::NotFound(_)) if graph == GraphRef::Name("new".into()) => {
            return Ok(see("/new"));
        }
        Err(error) => return Err(error.into()),
    };
    let shown = match version {
        Some(version) => visitor.app.graph_get(&visitor.scope, &graph, Some(version)).await?,
        None => newest.clone(),
    };
    let text = pretty(&shown.definition);
    Ok(show(&visitor, &Draft { stored: Some(&newest), text: &text, verdict: Verdict::None }))
}

/// `POST /graphs/{graph}/edit`: checks a definition, or stores it if `version` is still the newest.
pub(crate) async fn save(
    visitor: Visitor,
    Path(graph): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let newest = visitor.app.graph_get(&visitor.scope, &GraphRef::parse(&graph), None).await?;
    let text = form.text("definition");
    let verdict = match document(text) {
        Err(problem) => Verdict::Refused(problem),
        Ok(document) if form.text("act") == "save" => {
            match store(&visitor, &newest, &document, form.text("version")).await {
                Ok(row) => return Ok(see(&format!("/graphs/{}", encoded(&row.name)))),
                Err(AppError::Stale) => Verdict::Conflict,
                Err(error) => Verdict::Refused(error.into()),
            }
        }
        Ok(document) => checked(&visitor, &document).await,
    };
    Ok(show(&visitor, &Draft { stored: Some(&newest), text, verdict }))
}

/// Stores a definition on the version that its writer has seen.
async fn store(
    visitor: &Visitor,
    newest: &GraphRow,
    document: &ParsedJson,
    seen: &str,
) -> Result<GraphRow, AppError> {
    let seen = seen.parse().unwrap_or(0);
    let precondition = Precondition::OneOf(vec![(newest.id, seen)]);
    let graph = GraphRef::Id(newest.id);
    Ok(visitor.app.graph_put(&visitor.scope, &graph, document, &precondition).await?.row)
}

fn document(text: &str) -> Result<ParsedJson, ApiProblem> {
    let parsed = parse_json(text.as_bytes());
    parsed.map_err(|error| ApiProblem::new(ProblemCode::InvalidJson, error.to_string()))
}

async fn checked(visitor: &Visitor, document: &ParsedJson) -> Verdict {
    match visitor.app.graph_check(&visitor.scope, document).await {
        Ok(_) => Verdict::Valid,
        Err(error) => Verdict::Refused(error.into()),
    }
}

fn show(visitor: &Visitor, draft: &Draft<'_>) -> Response {
    let title =
        draft.stored.map_or_else(|| "New graph".to_owned(), |row| format!("Edit {}", row.name));
    let view = View::new(title, PageSection::Graphs).styles(STYLES).scripts(SCRIPTS);
    visitor.show(&view, page(visitor, draft))
}

fn page(visitor: &Visitor, draft: &Draft<'_>) -> Markup {
    let name = draft.stored.map(|row| row.name.as_str());
    let address = name.map(|name| format!("/graphs/{}", encoded(name)));
    let crumbs: Vec<_> = match (name, &address) {
        (Some(name), Some(address)) => vec![("/".to_owned(), "Graphs"), (address.clone(), name)],
        _ => vec![("/".to_owned(), "Graphs")],
    };
    let action =
        address.as_ref().map_or_else(|| "/new".to_owned(), |address| format!("{address}/edit"));
    html! {
        (head(&crumbs, &title(draft), &actions(draft, address.as_deref())))
        @if let Some(name) = name { (graph_tabs(visitor, name, GraphTab::Edit)) }
        (verdict(draft))
        form #editor.editor action=(action) method="post" data-graph=[name] data-version=[draft.stored.map(|row| row.version)]
            data-id=[draft.stored.map(|row| row.id)] data-unsigned=(unsigned()) {
            @if let Some(row) = draft.stored { input type="hidden" name="version" value=(row.version); }
            section.definition aria-label="Definition" {
                textarea.mono name="definition" rows="30" aria-label="Definition as JSON" spellcheck="false" { "\n" (draft.text) }
            }
        }
        @if matches!(draft.verdict, Verdict::Conflict) { (newest(draft)) }
        (same_request(draft, address.as_deref()))
    }
}

fn title(draft: &Draft<'_>) -> Markup {
    html! {
        @if let Some(row) = draft.stored { "Edit " span.muted { "v" (row.version) } } @else { "New graph" }
    }
}

fn actions(draft: &Draft<'_>, address: Option<&str>) -> Markup {
    let save = if draft.stored.is_some() { "Save" } else { "Create" };
    html! {
        a.button href=(address.unwrap_or("/")) { "Cancel" }
        button type="submit" form="editor" name="act" value="check" { "Check" }
        button.primary type="submit" form="editor" name="act" value="save" { (save) }
    }
}

fn verdict(draft: &Draft<'_>) -> Markup {
    html! {
        @match &draft.verdict {
            Verdict::None => {}
            Verdict::Valid => p.verdict.good role="status" { "The definition is valid." },
            Verdict::Conflict => div.refusal role="alert" {
                p { b { "Another version was stored since you opened the graph." } " It is below your text. "
                    "Saving again replaces it by your text." }
            },
            Verdict::Refused(problem) => div.verdict.bad role="alert" {
                p { b { (problem.code().title()) } @if problem.items().is_empty() { ": " (problem.detail()) } }
                ul.problems { @for item in problem.items() { li { code { (item.pointer) } " " (item.detail) } } }
            },
        }
    }
}

/// The newest version, beside a text that conflicts with it.
fn newest(draft: &Draft<'_>) -> Markup {
    html! {
        @if let Some(row) = draft.stored {
            section.panel {
                header { h2 { "Version " (row.version) ", stored by another" } }
                div.body { pre.json tabindex="0" { (crate::parts::json::json(&row.definition)) } }
            }
        }
    }
}

fn same_request(draft: &Draft<'_>, address: Option<&str>) -> Markup {
    let body = serde_json::from_str::<Value>(draft.text).unwrap_or_else(|_| json!({}));
    let path = address.map(|address| format!("/v1{address}"));
    let (method, path) = path.as_deref().map_or(("POST", "/v1/graphs"), |path| ("PUT", path));
    SameRequest { method, path, body: Some(&body) }.show()
}

/// The strategies whose nodes have no signature: ops, and those with their own.
fn unsigned() -> String {
    let unsigned =
        registry::list().filter(|strategy| strategy.op().is_some() || strategy.name() == "graph");
    unsigned.map(|strategy| strategy.name()).collect::<Vec<_>>().join(" ")
}
