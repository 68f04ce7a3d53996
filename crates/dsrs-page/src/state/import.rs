//! Import of a state by a form: a document of this server, or a file of DSPy.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use dsrs::value::{ParsedJson, Payload, parse_json};
use maud::{Markup, html};

use crate::dataset::upload::refusal;
use crate::form::{Form, encoded, see};
use crate::graph::tabs::{GraphTab, graph_tabs};
use crate::parts::head::head;
use crate::shell::{PageSection, View};
use crate::state::heading::crumbs_to_state;
use crate::state::selected::import_field;
use crate::visitor::Visitor;
use dsrs_app::{AppError, Precondition, StateDocument, StateRequest, StateUpdate};
use dsrs_http::{ApiProblem, ProblemCode};
use dsrs_store::graph::{GraphRef, GraphRow};

/// `POST /graphs/{graph}/state/import`: replaces the whole state if `seen` is still active.
pub(crate) async fn import(
    visitor: Visitor,
    Path(graph): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let Visitor { app, scope, .. } = &visitor;
    let row = app.graph_get(scope, &GraphRef::parse(&graph), None).await?;
    let seen: i32 = form.text("seen").parse().unwrap_or(0);
    let text = form.text("state");
    let path = format!("/graphs/{}/state", encoded(&row.name));
    match Box::pin(store(&visitor, &row, text, seen)).await {
        Ok(put) if put.view.row.version == seen => Ok(see(&path)),
        Ok(put) => Ok(see(&format!("{path}/diff?from={seen}&to={}", put.view.row.version))),
        Err(problem) => Ok(refused(&visitor, &row, text, &problem)),
    }
}

async fn store(
    visitor: &Visitor,
    row: &GraphRow,
    text: &str,
    seen: i32,
) -> Result<StateUpdate, ApiProblem> {
    let parsed = parse_json(text.as_bytes())
        .map_err(|error| ApiProblem::new(ProblemCode::InvalidJson, error.to_string()))?;
    let request = StateRequest { document: document(&parsed), faults: parsed.duplicates.clone() };
    let expected = Precondition::OneOf(vec![(row.id, seen)]);
    let graph = GraphRef::Id(row.id);
    visitor.app.state_put(&visitor.scope, &graph, request, &expected).await.map_err(conflict)
}

/// A document with `predictors` is one of ours; anything else is a file of DSPy.
fn document(parsed: &ParsedJson) -> StateDocument<'_> {
    let own = parsed.payload.as_map().and_then(|members| members.get("predictors"));
    own.map_or(StateDocument::Dspy(&parsed.payload), |own: &Payload| StateDocument::Own(own))
}

fn conflict(error: AppError) -> ApiProblem {
    match error {
        AppError::Stale => ApiProblem::new(
            ProblemCode::PreconditionFailed,
            "another state was activated meanwhile; importing again replaces it",
        ),
        error => error.into(),
    }
}

fn refused(visitor: &Visitor, row: &GraphRow, text: &str, problem: &ApiProblem) -> Response {
    let view = View::new(format!("State of {}", row.name), PageSection::Graphs)
        .styles(&["state.css"])
        .scripts(&["state.js"]);
    let mut answer = visitor.show(&view, again(visitor, row, text, problem));
    *answer.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    answer
}

/// The form with the text that did not fit, and why.
fn again(visitor: &Visitor, row: &GraphRow, text: &str, problem: &ApiProblem) -> Markup {
    let path = format!("/graphs/{}/state", encoded(&row.name));
    html! {
        (head(&crumbs_to_state(row), &html! { "Import a state" }, &html! {}))
        (graph_tabs(visitor, &row.name, GraphTab::State))
        (refusal(problem))
        form.fields action={ (path) "/import" } method="post" {
            input type="hidden" name="seen" value=(row.state.version);
            (import_field(text))
            div.actions {
                button.primary type="submit" { "Import and activate" }
                a.button href=(path) { "Cancel" }
            }
        }
    }
}
