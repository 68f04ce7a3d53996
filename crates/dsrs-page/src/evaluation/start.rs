//! `/evaluations/new`: the form that starts an evaluation, made from the schema of metrics, with a forecast.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;

use crate::dataset::change::refused;
use crate::dataset::upload::refusal;
use crate::dataset::view::graph_names;
use crate::evaluation::forecast::forecast;
use crate::evaluation::request::{body, limits, metric_panel, subject};
use crate::form::{Form, encoded, see};
use crate::parts::choice::{Names, choice};
use crate::parts::form_aside::FormAside;
use crate::parts::head::head;
use crate::parts::same_request::SameRequest;
use crate::parts::schema_form::SchemaForm;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::{AnswerBuilder, Commit, EvaluationRequest};
use dsrs_http::{ApiProblem, Query, read_document};
use dsrs_store::ListQuery;
use dsrs_store::evaluation::EvaluationRow;
use dsrs_store::graph::GraphRef;
use dsrs_store::key_scope::KeyScope;

/// `GET /evaluations/new`, with what the address names filled in.
pub(crate) async fn form(visitor: Visitor, query: Query) -> Result<Response, ApiProblem> {
    let named = query.into_fields()?.into_iter().map(|(name, value)| match name.as_str() {
        "dataset" => ("/dataset/dataset".to_owned(), value),
        "split" => ("/dataset/split".to_owned(), value),
        name if name.starts_with('/') => (name.to_owned(), value),
        name => (format!("/{name}"), value),
    });
    show(&visitor, &Form::of(named.collect()), None).await
}

/// `POST /evaluations/new`: the same form with what was entered, and the forecast for it. Starts nothing.
pub(crate) async fn preview(visitor: Visitor, form: Form) -> Result<Response, ApiProblem> {
    show(&visitor, &form, None).await
}

/// `POST /evaluations`: starts the evaluation.
pub(crate) async fn start(visitor: Visitor, form: Form) -> Result<Response, ApiProblem> {
    match Box::pin(started(&visitor, &form)).await {
        Ok(row) => Ok(see(&format!("/evaluations/{}", row.id))),
        Err(problem) => Ok(refused(show(&visitor, &form, Some(&problem)).await?)),
    }
}

async fn started(visitor: &Visitor, form: &Form) -> Result<EvaluationRow, ApiProblem> {
    let Visitor { app, scope, .. } = visitor;
    let document = read_document(body(form, "").to_string().as_bytes())?;
    let most = app.worker.evaluation_concurrency;
    let request = EvaluationRequest::read(&document.parsed, most, visitor.request_id.clone())?;
    let graph = form.given("/graph").ok_or_else(|| ApiProblem::parameter("choose a graph"))?;
    let graph = GraphRef::parse(graph);
    Ok(app.evaluation_start(scope, &graph, request, Commit::Now(AnswerBuilder::none())).await?)
}

/// The datasets to choose from, newest first.
pub(crate) async fn dataset_names(visitor: &Visitor) -> Result<Names, ApiProblem> {
    let found = visitor.app.dataset_list(&visitor.scope, ListQuery::new(None, 200)).await?;
    let names = found.items.into_iter().map(|dataset| dataset.name).collect();
    Ok(Names { names, has_more: found.next.is_some() })
}

async fn show(
    visitor: &Visitor,
    form: &Form,
    problem: Option<&ApiProblem>,
) -> Result<Response, ApiProblem> {
    visitor.require(KeyScope::Execute)?;
    let (graphs, datasets) = (graph_names(visitor).await?, dataset_names(visitor).await?);
    let body = body(form, "");
    let foreseen = forecast(visitor, form.text("/graph"), &body["dataset"], &body["metric"]).await;
    let fields = SchemaForm::new(form, problem);
    let up = [("/evaluations".to_owned(), "Evaluations")];
    let shown = html! {
        (head(&up, &html! { "New evaluation" }, &html! {}))
        @if let Some(problem) = problem { (refusal(problem)) }
        form.start action="/evaluations" method="post" data-preview="/evaluations/new" {
            div.fields {
                (what(&fields, &graphs, &datasets))
                (metric_panel(&fields, ""))
                (limits(&fields, ""))
            }
            (aside(foreseen.map(|found| found.map(|found| found.figures(found.examples))), "evaluation", &same(form, &body)))
        }
    };
    let view = View::new("New evaluation", PageSection::Evaluations)
        .styles(&["quality.css"])
        .scripts(&["start_form.js"]);
    Ok(visitor.show(&view, shown))
}

fn what(fields: &SchemaForm<'_>, graphs: &Names, datasets: &Names) -> Markup {
    html! {
        section.panel {
            header { h2 { "What" } }
            div.body.fields {
                label { "Graph" (choice("/graph", fields.form.text("/graph"), graphs, "choose a graph")) }
                (subject(fields, "", datasets))
            }
        }
    }
}

/// The forecast and the button beside a form that starts a job of this kind.
pub(crate) fn aside(
    foreseen: Option<Result<Markup, ApiProblem>>,
    noun: &str,
    same: &Markup,
) -> Markup {
    let result = html! {
        @match foreseen {
            None => p.muted { "Choose a graph and a dataset: the number of calls and the cost follow." },
            Some(Err(problem)) => p.refusal { (problem.detail()) },
            Some(Ok(figures)) => (figures),
        }
    };
    let aside = FormAside {
        id: "forecast",
        title: "Forecast",
        result: &result,
        action: &format!("Start {noun}"),
        update: "Update forecast",
        preview: &format!("/{noun}s/new"),
        same,
    };
    aside.show()
}

fn same(form: &Form, body: &Value) -> Markup {
    let path =
        format!("/v1/graphs/{}/evaluations", encoded(form.given("/graph").unwrap_or("GRAPH")));
    SameRequest { method: "POST", path: &path, body: Some(body) }.show()
}
