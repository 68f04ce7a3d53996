//! `/optimizations/new`: the form that starts an optimization, made from the schema of its optimizer, with a forecast.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;

use crate::dataset::change::refused;
use crate::dataset::upload::refusal;
use crate::dataset::view::graph_names;
use crate::evaluation::forecast::{Forecast, forecast};
use crate::evaluation::request::metric_panel;
use crate::evaluation::start::{aside, dataset_names};
use crate::form::{Form, encoded, see};
use crate::optimization::request::{body, limits, optimizer_panel, sets};
use crate::parts::choice::{Names, choice};
use crate::parts::figure::{cost, count};
use crate::parts::head::head;
use crate::parts::same_request::SameRequest;
use crate::parts::schema_form::SchemaForm;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::{AnswerBuilder, Commit, OptimizationRequest};
use dsrs_http::{ApiProblem, Query, read_document};
use dsrs_store::graph::GraphRef;
use dsrs_store::key_scope::KeyScope;
use dsrs_store::optimization::OptimizationRow;

/// `GET /optimizations/new`, with what the address names filled in.
pub(crate) async fn form(visitor: Visitor, query: Query) -> Result<Response, ApiProblem> {
    let named = query.into_fields()?.into_iter().map(|(name, value)| match name.as_str() {
        "trainset" | "valset" | "testset" => (format!("/{name}/dataset"), value),
        name if name.starts_with('/') => (name.to_owned(), value),
        name => (format!("/{name}"), value),
    });
    // A budget is a limit that a person should see before the start.
    let mut fields: Vec<_> = named.collect();
    fields.push(("/budget/lm_calls".to_owned(), "500".to_owned()));
    show(&visitor, &Form::of(fields), None).await
}

/// `POST /optimizations/new`: the same form with what was entered, and the forecast for it. Starts nothing.
pub(crate) async fn preview(visitor: Visitor, form: Form) -> Result<Response, ApiProblem> {
    show(&visitor, &form, None).await
}

/// `POST /optimizations`: starts the optimization.
pub(crate) async fn start(visitor: Visitor, form: Form) -> Result<Response, ApiProblem> {
    match Box::pin(started(&visitor, &form)).await {
        Ok(row) => Ok(see(&format!("/optimizations/{}", row.id))),
        Err(problem) => Ok(refused(show(&visitor, &form, Some(&problem)).await?)),
    }
}

async fn started(visitor: &Visitor, form: &Form) -> Result<OptimizationRow, ApiProblem> {
    let Visitor { app, identity, .. } = visitor;
    let document = read_document(body(form, "").to_string().as_bytes())?;
    let most = app.worker.batch_concurrency;
    let request = OptimizationRequest::read(&document.parsed, most, visitor.request_id.clone())?;
    let graph = form.given("/graph").ok_or_else(|| ApiProblem::parameter("choose a graph"))?;
    let graph = GraphRef::parse(graph);
    Ok(app
        .optimization_start(identity, &graph, request, Commit::Now(AnswerBuilder::none()))
        .await?)
}

async fn show(
    visitor: &Visitor,
    form: &Form,
    problem: Option<&ApiProblem>,
) -> Result<Response, ApiProblem> {
    visitor.require(KeyScope::Execute)?;
    let (graphs, datasets) = (graph_names(visitor).await?, dataset_names(visitor).await?);
    let body = body(form, "");
    let foreseen = forecast(visitor, form.text("/graph"), &body["trainset"], &body["metric"]).await;
    let foreseen = foreseen.map(|found| found.map(|found| figures(&found, &body)));
    let fields = SchemaForm::new(form, problem);
    let path =
        format!("/v1/graphs/{}/optimizations", encoded(form.given("/graph").unwrap_or("GRAPH")));
    let same = SameRequest { method: "POST", path: &path, body: Some(&body) }.show();
    let up = [("/optimizations".to_owned(), "Optimizations")];
    let shown = html! {
        (head(&up, &html! { "New optimization" }, &html! {}))
        @if let Some(problem) = problem { (refusal(problem)) }
        form.start action="/optimizations" method="post" data-preview="/optimizations/new" {
            div.fields {
                (what(&fields, &graphs, &datasets))
                (optimizer_panel(&fields, ""))
                (metric_panel(&fields, ""))
                (limits(&fields, "", visitor.may(KeyScope::Write)))
            }
            (aside(foreseen, "optimization", &same))
        }
    };
    let view = View::new("New optimization", PageSection::Optimizations)
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
                (sets(fields, "", datasets))
            }
        }
    }
}

/// The sizes of the sets that are drawn from a trainset, and what is certain about calls and cost.
fn figures(forecast: &Forecast, body: &Value) -> Markup {
    let has = |set: &str| body.get(set).is_some();
    let all = forecast.examples;
    let (val, held_out) = match (has("valset"), has("testset")) {
        (false, false) => (all / 4, all / 4),
        (false, true) => (all / 3, 0),
        _ => (0, 0),
    };
    let least = val + 2 * held_out;
    let limit = body["budget"]["lm_calls"].as_f64();
    let each = forecast.estimate.cost;
    html! {
        @if least > 0 {
            p { "To measure the original program and the result alone:" }
            (forecast.figures(least))
            p.small.muted { "Of " (all) " examples about " (val) " choose candidates and " (held_out) " are held out. Each further candidate that is tried on all " (val)
                " takes about " (count((forecast.calls(val)).round() as i64)) " calls." }
        } @else { p.muted { "With sets of your own the split of the trainset does not foretell the calls." } }
        @match limit {
            Some(limit) => p { "At most " b { (count(limit as i64)) } " calls"
                @match (each, forecast.estimate.lm_calls) {
                    (Some(each), calls) if calls > 0.0 => { ", about " b { (cost(each / calls * limit)) } " at the price of a call of this graph" },
                    _ => ", at a cost that is unknown",
                } "." },
            None => p.warning { "No limit of calls: how many an optimizer makes depends on its settings." },
        }
    }
}
