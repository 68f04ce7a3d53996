//! The form of a run, its answer, and the request that it stands for.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use dsrs::graph::Program;
use dsrs::problem::Problems;
use dsrs::value::Payload;
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use crate::drawing::{FigureOptions, Opened, drawing};
use crate::evaluation::start::dataset_names;
use crate::form::{Form, encoded};
use crate::graph::tabs::{GraphTab, graph_tabs};
use crate::parts::choice::{Names, choice};
use crate::parts::head::head;
use crate::parts::same_request::SameRequest;
use crate::parts::value_form::FieldProblems;
use crate::run_form::answer::answer;
use crate::run_form::prefill;
use crate::run_form::request::{ChosenVersions, body, fields, inputs, path};
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::ExecuteRequest;
use dsrs_http::{ApiProblem, Query};
use dsrs_store::graph::{GraphRef, GraphRow};
use dsrs_store::run_label::RunLabels;

/// A form with what a person filled in, and the answer or refusal.
struct FilledForm<'f> {
    row: &'f GraphRow,
    program: &'f Program,
    chosen: ChosenVersions,
    inputs: Map<String, Value>,
    refused: Option<ApiProblem>,
    answer: Option<Markup>,
    datasets: Names,
}

async fn program(
    visitor: &Visitor,
    graph: &str,
    chosen: &ChosenVersions,
) -> Result<(GraphRow, Arc<Program>), ApiProblem> {
    let row = visitor
        .app
        .graph_get(&visitor.scope, &GraphRef::parse(graph), chosen.pick().version)
        .await?;
    let program = visitor.app.program_of(&visitor.scope, &row).await?;
    Ok((row, program))
}

/// `GET /graphs/{graph}/run`.
pub(crate) async fn form(
    visitor: Visitor,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let mut text = |name: &str| query.text(name).filter(|text| !text.is_empty());
    let (run, dataset, example) = (text("run"), text("dataset"), text("example"));
    let chosen = ChosenVersions {
        version: text("version").unwrap_or_default(),
        state_version: text("state_version").unwrap_or_default(),
    };
    query.close()?;
    let (row, program) = program(&visitor, &graph, &chosen).await?;
    let inputs = match (run, dataset) {
        (Some(run), _) => prefill::of_run(&visitor, &run).await?,
        (None, Some(dataset)) => {
            let position = example.and_then(|text| text.parse().ok()).unwrap_or(0);
            prefill::of_example(&visitor, &dataset, position).await?
        }
        (None, None) => prefill::of_defaults(&program),
    };
    let datasets = dataset_names(&visitor).await?;
    Ok(show(
        &visitor,
        &FilledForm {
            row: &row,
            program: &program,
            chosen,
            inputs,
            refused: None,
            answer: None,
            datasets,
        },
    ))
}

/// `POST /graphs/{graph}/run`: runs the graph and shows the answer.
pub(crate) async fn execute(
    visitor: Visitor,
    Path(graph): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let chosen = ChosenVersions::read(&form);
    let (row, program) = program(&visitor, &graph, &chosen).await?;
    let inputs = inputs(&program, &form, "");
    let payload = Payload::from_json(&Value::Object(inputs.clone()).to_string())
        .map_err(|error| ApiProblem::parameter(error.to_string()))?;
    let request = ExecuteRequest {
        inputs: payload,
        pick: chosen.pick(),
        trace: false,
        timeout: None,
        labels: RunLabels::default(),
        request_id: visitor.request_id.clone(),
        faults: Problems::new(),
        place: visitor.place.clone(),
    };
    let run =
        Box::pin(visitor.app.run_execute(&visitor.scope, &GraphRef::Id(row.id), request)).await;
    let (refused, answer) = match run {
        Ok(run) => (None, Some(answer(&run))),
        Err(error) => (Some(ApiProblem::from(error)), None),
    };
    let datasets = dataset_names(&visitor).await?;
    let status = refused.as_ref().map(|problem| problem.status());
    let mut response = show(
        &visitor,
        &FilledForm { row: &row, program: &program, chosen, inputs, refused, answer, datasets },
    );
    *response.status_mut() = status.unwrap_or_default();
    Ok(response)
}

/// `POST /graphs/{graph}/run/request`: the request that the form stands for, for its script.
pub(crate) async fn request_json(
    visitor: Visitor,
    Path(graph): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let chosen = ChosenVersions::read(&form);
    let (row, program) = program(&visitor, &graph, &chosen).await?;
    let body = body(inputs(&program, &form, ""), &chosen);
    let path = path(&row.name);
    let same = SameRequest { method: "POST", path: &path, body: Some(&body) };
    Ok(Json(json!({"path": path, "body": body, "curl": same.curl(), "python": same.python()}))
        .into_response())
}

fn show(visitor: &Visitor, filled: &FilledForm<'_>) -> Response {
    let view = View::new(format!("Run {}", filled.row.name), PageSection::Graphs)
        .styles(&["drawing.css", "run.css", "run_form.css"])
        .scripts(&["drawing.js", "value_rows.js", "run_form.js"]);
    visitor.show(&view, page(visitor, filled))
}

fn page(visitor: &Visitor, filled: &FilledForm<'_>) -> Markup {
    let FilledForm { row, program, chosen, inputs, refused, answer, datasets } = filled;
    let graph = encoded(&row.name);
    let crumbs = [("/".to_owned(), "Graphs"), (format!("/graphs/{graph}"), row.name.as_str())];
    let body = body(inputs.clone(), chosen);
    let path = path(&row.name);
    html! {
        (head(&crumbs, &html! { "Run" }, &html! {}))
        (graph_tabs(visitor, &row.name, GraphTab::Run))
        div.run-form { div.fields {
            form.fields #run-form action={ "/graphs/" (graph) "/run" } method="post" data-graph=(row.name) {
                @if let Some(problem) = refused { (refusal(problem)) }
                (input_fields(program, inputs, refused.as_ref()))
                (versions(chosen))
                div.actions {
                    button.primary type="submit" title="Ctrl-Enter" { "Run" }
                    button type="button" #stop hidden { "Stop" }
                    span #totals .muted aria-live="polite" {}
                }
            }
            (example_choice(&graph, datasets)) }
            div.outcome {
                (drawing(program, &Opened::default()).figure(&FigureOptions::default()))
                section #progress aria-label="Nodes" aria-live="polite" hidden {}
                div #outcome { @if let Some(answer) = answer { (answer) } }
            }
        }
        (SameRequest { method: "POST", path: &path, body: Some(&body) }.show())
    }
}

fn refusal(problem: &ApiProblem) -> Markup {
    let is_elsewhere = |pointer: &str| !pointer.starts_with("/inputs/");
    html! {
        div.refusal role="alert" {
            p { (problem.code().title()) }
            @if problem.items().is_empty() { p { (problem.detail()) } }
            @for item in problem.items().iter().filter(|item| is_elsewhere(&item.pointer)) { p { code { (item.pointer) } " " (item.detail) } }
        }
    }
}

fn input_fields(
    program: &Program,
    inputs: &Map<String, Value>,
    refused: Option<&ApiProblem>,
) -> Markup {
    let fields = fields(program, "");
    let problems = FieldProblems::of(refused);
    html! {
        @if fields.is_empty() { p.muted { "The graph has no inputs." } }
        @for field in &fields { (field.show(inputs.get(field.name), &problems)) }
    }
}

fn versions(chosen: &ChosenVersions) -> Markup {
    html! {
        details open[!chosen.version.is_empty() || !chosen.state_version.is_empty()] {
            summary { "Versions" }
            div.filters {
                label { "Version" input name="version" value=(chosen.version) inputmode="numeric" pattern="[0-9]*" placeholder="the newest"; }
                label { "State version" input name="state_version" value=(chosen.state_version) inputmode="numeric" pattern="[0-9]*" placeholder="the active one"; }
            }
        }
    }
}

/// Begins with an example of a dataset. A form of its own, beside the other.
fn example_choice(graph: &str, datasets: &Names) -> Markup {
    html! {
        @if !datasets.names.is_empty() {
            form.filters.example-choice action={ "/graphs/" (graph) "/run" } method="get" {
                label { "Inputs of an example" (choice("dataset", "", datasets, "choose a dataset")) }
                label.short { "Position" input name="example" value="0" inputmode="numeric" pattern="[0-9]*"; }
                button type="submit" { "Fill in" }
            }
        }
    }
}
