//! `/graphs/{graph}/predictors/{path}`: the instruction and the demos of a predictor, edited in place with the prompt
//! beside them, and saved as a new state version.

use std::sync::Arc;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use dsrs::graph::{Program, state_diff};
use dsrs::predict::DynPredictor;
use dsrs::problem::Problems;
use dsrs::value::{Map, Payload};
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::form::{Form, encoded, see};
use crate::graph::answers::last_answers;
use crate::graph::tabs::{GraphTab, graph_tabs};
use crate::parts::head::head;
use crate::parts::same_request::SameRequest;
use crate::parts::state_changes::{outline_of, predictor_change};
use crate::parts::values::folded;
use crate::shell::{PageSection, View};
use crate::state::draft::PredictorDraft;
use crate::state::draft_form::draft_fields;
use crate::state::heading::{crumbs_to_state, json_of};
use crate::state::rendered::{PromptFields, rendered};
use crate::visitor::Visitor;
use dsrs_app::{AppError, Precondition, StateDocument, StateRequest};
use dsrs_http::ApiProblem;
use dsrs_store::graph::{GraphRef, GraphRow, VersionSelection};
use dsrs_store::key_scope::KeyScope;

/// One predictor of the newest graph version with the active state.
struct Opened {
    row: GraphRow,
    program: Arc<Program>,
    path: String,
}

/// A draft, built if it fits.
struct Edited {
    draft: PredictorDraft,
    built: Result<Program, ApiProblem>,
    /// The changes of the active state by the draft.
    change: Value,
}

/// What another person saved meanwhile, and what the draft would do to it.
struct Conflict {
    seen: i32,
    theirs: Value,
}

impl Opened {
    async fn load(visitor: &Visitor, graph: &str, path: String) -> Result<Self, ApiProblem> {
        let Visitor { app, scope, .. } = visitor;
        let row = app.graph_get(scope, &GraphRef::parse(graph), None).await?;
        let program = app.program_of(scope, &row).await?;
        let opened = Self { row, program, path };
        match opened.predictor() {
            Some(_) => Ok(opened),
            None => {
                let detail =
                    format!("graph `{}` has no predictor `{}`", opened.row.name, opened.path);
                Err(ApiProblem::not_found(detail))
            }
        }
    }

    fn predictor(&self) -> Option<&dyn DynPredictor> {
        let all = self.program.predictors();
        all.into_iter().find(|(path, _)| *path == self.path).map(|(_, predictor)| predictor)
    }

    fn node(&self) -> &str {
        self.path.split('.').next().unwrap_or(&self.path)
    }

    fn address(&self) -> String {
        format!("/graphs/{}/predictors/{}", encoded(&self.row.name), encoded(&self.path))
    }

    async fn edited(&self, visitor: &Visitor, draft: PredictorDraft) -> Edited {
        let change = draft.change();
        let changes =
            Payload::map([(Arc::from(self.path.as_str()), change)].into_iter().collect::<Map>());
        let Visitor { app, scope, .. } = visitor;
        let (graph, pick) = (GraphRef::Id(self.row.id), VersionSelection::NEWEST);
        let built = Box::pin(app.state_draft(scope, &graph, pick, &changes)).await;
        let built = built.map_err(ApiProblem::from);
        let change = match &built {
            Ok(program) => {
                let found = json_of(&state_diff(&self.program, program).to_payload().to_json());
                found[&self.path].clone()
            }
            Err(_) => Value::Null,
        };
        Edited { draft, built, change }
    }
}

/// `GET /graphs/{graph}/predictors/{path}`.
pub(crate) async fn predictor(
    visitor: Visitor,
    Path((graph, path)): Path<(String, String)>,
) -> Result<Response, ApiProblem> {
    let opened = Opened::load(&visitor, &graph, path).await?;
    show(&visitor, &opened, &Form::default(), None, None).await
}

/// `POST /graphs/{graph}/predictors/{path}`: the same with an edit that is not saved.
pub(crate) async fn preview(
    visitor: Visitor,
    Path((graph, path)): Path<(String, String)>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let opened = Opened::load(&visitor, &graph, path).await?;
    show(&visitor, &opened, &form, None, None).await
}

/// `POST /graphs/{graph}/predictors/{path}/save`: a new state version, if `seen` is still active.
pub(crate) async fn save(
    visitor: Visitor,
    Path((graph, path)): Path<(String, String)>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let opened = Opened::load(&visitor, &graph, path).await?;
    let Some(predictor) = opened.predictor() else { return Ok(see("/")) };
    let change = PredictorDraft::of_form(predictor, &form).change();
    let document = StateDocument::Patch { path: &opened.path, change: &change };
    let request = StateRequest { document, faults: Problems::new() };
    let seen: i32 = form.text("seen").parse().unwrap_or(0);
    let expected = Precondition::OneOf(vec![(opened.row.id, seen)]);
    let graph = GraphRef::Id(opened.row.id);
    let Visitor { app, scope, .. } = &visitor;
    match Box::pin(app.state_put(scope, &graph, request, &expected)).await {
        Ok(put) => {
            let (name, version) = (encoded(&opened.row.name), put.view.row.version);
            Ok(see(&format!("/graphs/{name}/state?version={version}")))
        }
        Err(AppError::Stale) => {
            let conflict = conflict(&visitor, &opened, seen).await?;
            let answer = show(&visitor, &opened, &form, None, Some(&conflict)).await?;
            Ok(with_status(answer, StatusCode::PRECONDITION_FAILED))
        }
        Err(error) => {
            let problem = ApiProblem::from(error);
            let answer = show(&visitor, &opened, &form, Some(&problem), None).await?;
            Ok(with_status(answer, StatusCode::UNPROCESSABLE_ENTITY))
        }
    }
}

fn with_status(mut answer: Response, status: StatusCode) -> Response {
    *answer.status_mut() = status;
    answer
}

async fn conflict(visitor: &Visitor, opened: &Opened, seen: i32) -> Result<Conflict, ApiProblem> {
    let Visitor { app, scope, .. } = visitor;
    let graph = GraphRef::Id(opened.row.id);
    // A form that names no version, or one that is gone, conflicts with everything.
    let found = app.state_diff(scope, &graph, Some(seen), opened.row.state.version).await;
    let theirs = found.map(|found| json_of(&found.diff.to_payload().to_json()));
    Ok(Conflict { seen, theirs: theirs.unwrap_or_default() })
}

async fn show(
    visitor: &Visitor,
    opened: &Opened,
    form: &Form,
    problem: Option<&ApiProblem>,
    conflict: Option<&Conflict>,
) -> Result<Response, ApiProblem> {
    let Some(predictor) = opened.predictor() else { return Ok(see("/")) };
    let edited = opened.edited(visitor, PredictorDraft::of_form(predictor, form)).await;
    let last = match form.iter().next() {
        None => last_answers(visitor, opened.row.id, opened.node()).await?,
        Some(_) => Vec::new(),
    };
    let schema = opened.program.graph().node(opened.node()).map(|node| node.schema());
    let schema = schema.unwrap_or_else(|| predictor.schema());
    let inputs = PromptFields::of(schema, form, last.first().map(|answer| &answer.inputs));
    let title = html! { span.mono { (opened.path) } };
    let body = html! {
        (head(&crumbs_to_state(&opened.row), &title, &html! {}))
        (graph_tabs(visitor, &opened.row.name, GraphTab::State))
        @if let Some(conflict) = conflict { (both(opened, &edited, conflict)) }
        form.predictor-editor #predictor action=(opened.address()) method="post" {
            input type="hidden" name="seen" value=(opened.row.state.version);
            // The button that Enter presses.
            button.sr type="submit" name="act" value="preview" tabindex="-1" aria-hidden="true" { "Preview" }
            div.fields { (editor(visitor, opened, predictor, &edited, problem)) }
            (prompt(opened, &edited, &inputs))
        }
        (requests(visitor, opened, &edited, &inputs))
    };
    let view = View::new(format!("{} of {}", opened.path, opened.row.name), PageSection::Graphs)
        .styles(&["state.css"])
        .scripts(&["predictor.js"]);
    Ok(visitor.show(&view, body))
}

fn editor(
    visitor: &Visitor,
    opened: &Opened,
    predictor: &dyn DynPredictor,
    edited: &Edited,
    problem: Option<&ApiProblem>,
) -> Markup {
    html! {
        @if visitor.may(KeyScope::Write) {
            (draft_fields(predictor, &edited.draft))
            div #problems role="status" { (problems(opened, problem.or_else(|| edited.built.as_ref().err()))) }
            div.save-bar {
                button.primary type="submit" formaction={ (opened.address()) "/save" } { "Save" }
                noscript { button type="submit" name="act" value="preview" { "Preview" } }
                a.button href={ "/graphs/" (encoded(&opened.row.name)) "/state" } { "Cancel" }
                span.hint #outline { (outline(opened, edited)) }
            }
        } @else {
            section { h3 { "Instruction" } div.instruction { (folded(predictor.instruction())) } }
            p.muted { (predictor.state().demos.len()) " demos. This key may not change them." }
        }
    }
}

/// What saving does.
fn outline(opened: &Opened, edited: &Edited) -> Markup {
    html! {
        @if edited.built.is_err() { "Does not fit yet." }
        @else if edited.change.is_null() { "No changes to state " (opened.row.state.version) "." }
        @else { "Saves " (outline_of(&edited.change)) " as a new state version, active at once for callers of graph version " (opened.row.version) "." }
    }
}

/// The problems of a draft, each with its place for people.
fn problems(opened: &Opened, problem: Option<&ApiProblem>) -> Markup {
    let Some(problem) = problem else { return html! {} };
    let before = format!("/predictors/{}", opened.path.replace('~', "~0").replace('/', "~1"));
    let place = |pointer: &str| place(pointer.strip_prefix(before.as_str()).unwrap_or(pointer));
    html! {
        ul.problems {
            @if problem.items().is_empty() { li { (problem.detail()) } }
            @for item in problem.items() { li { b { (place(&item.pointer)) } ": " (item.detail) } }
        }
    }
}

/// `/demos/1/output/mood` as `demo 2, output mood`.
fn place(pointer: &str) -> String {
    let parts: Vec<&str> = pointer.trim_start_matches('/').split('/').collect();
    match parts.as_slice() {
        ["demos", number, rest @ ..] => match number.parse::<usize>() {
            Ok(number) => [&format!("demo {},", number + 1), &*rest.join(" ")].join(" "),
            Err(_) => parts.join(" "),
        },
        _ => parts.join(" "),
    }
}

fn prompt(opened: &Opened, edited: &Edited, inputs: &PromptFields<'_>) -> Markup {
    html! {
        section.panel.rendered aria-label="Prompt" {
            header { h2 { "Prompt" } span.small.muted { "as it would be sent; no model is called" } }
            div.body {
                (inputs.show())
                div #prompt aria-live="polite" {
                    @match &edited.built {
                        Ok(program) => (rendered(program, (opened.node(), &opened.path), inputs)),
                        Err(_) => p.muted { "The prompt follows when the edit fits." },
                    }
                }
            }
        }
    }
}

/// What the other person saved, and what this draft would do to it.
fn both(opened: &Opened, edited: &Edited, conflict: &Conflict) -> Markup {
    let active = opened.row.state.version;
    let theirs = &conflict.theirs[&opened.path];
    let others = conflict
        .theirs
        .as_object()
        .map_or(0, |all| all.keys().filter(|path| **path != opened.path).count());
    html! {
        div.refusal role="alert" {
            p { b { "Somebody was faster." } " State " (conflict.seen) " was active when you opened this view; now it is state " (active)
                ". Nothing of yours was saved. Saving again puts your edit on top of state " (active) "." }
        }
        div.sides {
            section.panel { header { h2 { "Theirs: state " (conflict.seen) " → " (active) } } div.body {
                @if theirs.is_null() { p.muted { "They did not change this predictor." } } @else { (predictor_change(theirs)) }
                @if others > 0 { p.small.muted { "and " (others) " other predictors" } }
            } }
            section.panel { header { h2 { "Yours: state " (active) " → your edit" } } div.body {
                @if edited.change.is_null() { p.muted { "The same as theirs." } } @else { (predictor_change(&edited.change)) }
            } }
        }
    }
}

fn requests(
    visitor: &Visitor,
    opened: &Opened,
    edited: &Edited,
    inputs: &PromptFields<'_>,
) -> Markup {
    let change = json_of(&edited.draft.change().to_json());
    let path = format!("/v1{}", opened.address());
    let render = format!("/v1/graphs/{}/render", encoded(&opened.row.name));
    let body = json!({"node": opened.node(), "inputs": json_of(&inputs.payload().to_json()),
        "predictors": {&*opened.path: &change}});
    html! {
        section #requests {
            @if visitor.may(KeyScope::Write) {
                p.small.muted { "Save" }
                (SameRequest { method: "PATCH", path: &path, body: Some(&change) }.show())
            }
            p.small.muted { "Prompt" }
            (SameRequest { method: "POST", path: &render, body: Some(&body) }.show())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_a_place_for_people() {
        assert_eq!(place("/demos/1/output/mood"), "demo 2, output mood");
        assert_eq!(place("/lm/temperature"), "lm temperature");
        assert_eq!(place("/demos"), "demos");
    }
}
