//! `/evaluations/new`: the form that starts an evaluation, made from the schema of metrics, with a forecast.

use axum::response::Response;
use dsrs::optimize::Metric;
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use crate::app::AnswerBuilder;
use crate::http::{ApiProblem, Query, read_document, read_evaluation_request};
use crate::page::dataset::change::refused;
use crate::page::dataset::upload::refusal;
use crate::page::dataset::view::graph_names;
use crate::page::evaluation::forecast::{forecast, json_of};
use crate::page::form::{Form, encoded, see};
use crate::page::parts::choice::{Names, choice};
use crate::page::parts::head::head;
use crate::page::parts::same_request::SameRequest;
use crate::page::parts::schema_entry::{entered, number_or_text};
use crate::page::parts::schema_form::SchemaForm;
use crate::page::shell::{PageSection, View};
use crate::page::visitor::Visitor;
use crate::store::ListQuery;
use crate::store::evaluation::EvaluationRow;
use crate::store::graph::GraphRef;
use crate::store::key_scope::KeyScope;

/// Options of the request besides graph, dataset and metric.
const OPTIONS: [&str; 5] = ["version", "state_version", "concurrency", "max_errors", "timeout_ms"];

/// `GET /evaluations/new`, with what the address names filled in.
pub(in crate::page) async fn form(visitor: Visitor, query: Query) -> Result<Response, ApiProblem> {
    let named = query.into_fields()?.into_iter().map(|(name, value)| match name.as_str() {
        "dataset" => ("/dataset/dataset".to_owned(), value),
        "split" => ("/dataset/split".to_owned(), value),
        name if name.starts_with('/') => (name.to_owned(), value),
        name => (format!("/{name}"), value),
    });
    show(&visitor, &Form::of(named.collect()), None).await
}

/// `POST /evaluations/new`: the same form with what was entered, and the forecast for it. Starts nothing.
pub(in crate::page) async fn preview(visitor: Visitor, form: Form) -> Result<Response, ApiProblem> {
    show(&visitor, &form, None).await
}

/// `POST /evaluations`: starts the evaluation.
pub(in crate::page) async fn start(visitor: Visitor, form: Form) -> Result<Response, ApiProblem> {
    match Box::pin(started(&visitor, &form)).await {
        Ok(row) => Ok(see(&format!("/evaluations/{}", row.id))),
        Err(problem) => Ok(refused(show(&visitor, &form, Some(&problem)).await?)),
    }
}

async fn started(visitor: &Visitor, form: &Form) -> Result<EvaluationRow, ApiProblem> {
    let Visitor { app, scope, .. } = visitor;
    let document = read_document(body(form).to_string().as_bytes())?;
    let most = app.worker.evaluation_concurrency;
    let request = read_evaluation_request(&document, most, visitor.request_id.clone())?;
    let graph = form.given("/graph").ok_or_else(|| ApiProblem::parameter("choose a graph"))?;
    let graph = GraphRef::parse(graph);
    Ok(app.evaluation_start(scope, &graph, request, AnswerBuilder::none()).await?)
}

/// The body of the request that a form stands for.
fn body(form: &Form) -> Value {
    let mut body = Map::new();
    body.insert("dataset".to_owned(), dataset(form, "/dataset"));
    let metric = entered(&json_of(&Metric::schema()), form, "/metric");
    body.insert("metric".to_owned(), metric.unwrap_or_default());
    options(form, &OPTIONS, &mut body);
    if form.given("/record").is_some() {
        body.insert("record".to_owned(), json!(true));
    }
    Value::Object(body)
}

/// Options that are numbers.
pub(in crate::page) fn options(form: &Form, names: &[&str], body: &mut Map<String, Value>) {
    for name in names {
        if let Some(text) = form.given(&format!("/{name}")) {
            body.insert((*name).to_owned(), number_or_text(text.trim()));
        }
    }
}

/// A reference to a dataset, at fields below a pointer: its name, or the name with version, split and limit.
pub(in crate::page) fn dataset(form: &Form, at: &str) -> Value {
    let Some(name) = form.given(&format!("{at}/dataset")) else { return Value::Null };
    let mut part = Map::from_iter([("dataset".to_owned(), json!(name))]);
    if let Some(split) = form.given(&format!("{at}/split")) {
        part.insert("split".to_owned(), json!(split));
    }
    for member in ["version", "limit"] {
        if let Some(text) = form.given(&format!("{at}/{member}")) {
            part.insert(member.to_owned(), number_or_text(text.trim()));
        }
    }
    if part.len() == 1 { json!(name) } else { Value::Object(part) }
}

/// The datasets to choose from, newest first.
pub(in crate::page) async fn dataset_names(visitor: &Visitor) -> Result<Names, ApiProblem> {
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
    let body = body(form);
    let foreseen = forecast(visitor, form.text("/graph"), &body["dataset"], &body["metric"]).await;
    let fields = SchemaForm { form, problem };
    let up = [("/evaluations".to_owned(), "Evaluations")];
    let shown = html! {
        (head(&up, &html! { "New evaluation" }, &html! {}))
        @if let Some(problem) = problem { (refusal(problem)) }
        form.start action="/evaluations" method="post" data-preview="/evaluations/new" {
            div.fields {
                (what(&fields, &graphs, &datasets))
                section.panel data-part="shape" id="metric" {
                    header { h2 { "Metric" } }
                    div.body.fields { (fields.fields(&json_of(&Metric::schema()), "/metric", "How outputs are scored")) }
                }
                (more(&fields))
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
                div.pair {
                    (number(fields, "/version", "Version", "the newest"))
                    (number(fields, "/state_version", "State version", "the active one"))
                }
                (dataset_fields(fields, "/dataset", "Dataset", datasets))
            }
        }
    }
}

/// The fields of a reference to a dataset.
pub(in crate::page) fn dataset_fields(
    fields: &SchemaForm<'_>,
    at: &str,
    label: &str,
    datasets: &Names,
) -> Markup {
    let field = |member: &str| format!("{at}/{member}");
    html! {
        label { (label) (choice(&field("dataset"), fields.form.text(&field("dataset")), datasets, "choose a dataset")) (fields.problems(at)) (fields.problems(&field("dataset"))) }
        div.pair {
            (number(fields, &field("version"), "Version", "the newest"))
            label { "Split" input name=(field("split")) value=(fields.form.text(&field("split"))) placeholder="all examples" autocomplete="off"; (fields.problems(&field("split"))) }
            (number(fields, &field("limit"), "At most", "all examples"))
        }
    }
}

/// A field with a whole number of 1 or more.
pub(in crate::page) fn number(
    fields: &SchemaForm<'_>,
    name: &str,
    label: &str,
    none: &str,
) -> Markup {
    html! {
        label { (label)
            input type="number" min="1" step="1" name=(name) value=(fields.form.text(name)) placeholder=(none);
            (fields.problems(name))
        }
    }
}

fn more(fields: &SchemaForm<'_>) -> Markup {
    html! {
        details.panel-like {
            summary { "Limits" }
            div.fields {
                div.pair {
                    (number(fields, "/concurrency", "Examples at a time", "the limit of the server"))
                    (number(fields, "/max_errors", "Most failures", "run all examples"))
                    (number(fields, "/timeout_ms", "Time for an example (ms)", "the limit of the server"))
                }
                label.inline { input type="checkbox" name="/record" value="true" checked[fields.form.given("/record").is_some()]; "record each example as a run with its trace" }
            }
        }
    }
}

/// The forecast and the button beside a form that starts a job of this kind.
pub(in crate::page) fn aside(
    foreseen: Option<Result<Markup, ApiProblem>>,
    noun: &str,
    same: &Markup,
) -> Markup {
    html! {
        aside.panel data-part="result" id="forecast" aria-live="polite" {
            header { h2 { "Forecast" } }
            div.body {
                @match foreseen {
                    None => p.muted { "Choose a graph and a dataset: the number of calls and the cost follow." },
                    Some(Err(problem)) => p.refusal { (problem.detail()) },
                    Some(Ok(figures)) => (figures),
                }
                div.actions {
                    button.primary type="submit" { "Start " (noun) }
                    button type="submit" formaction={ "/" (noun) "s/new" } data-preview-button { "Update forecast" }
                }
                (same)
            }
        }
    }
}

fn same(form: &Form, body: &Value) -> Markup {
    let path =
        format!("/v1/graphs/{}/evaluations", encoded(form.given("/graph").unwrap_or("GRAPH")));
    SameRequest { method: "POST", path: &path, body: Some(body) }.show()
}
