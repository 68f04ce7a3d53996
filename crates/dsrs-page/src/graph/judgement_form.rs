//! `/graphs/{graph}/online-evaluation`: the form that sets the online evaluation of a graph.

use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};

use crate::dataset::upload::refusal;
use crate::form::{Form, encoded, see};
use crate::graph::judgement_members::{
    ADD, METRIC, MOST_ROWS, MetricRow, PAUSED, REMOVE, WAS_PAUSED, at_rows, body, document,
    form_of, new_form, rows, with_stored_pause,
};
use crate::parts::form_aside::FormAside;
use crate::parts::head::head;
use crate::parts::line_field::LineField;
use crate::parts::revision::{
    REPLACED, REVISION, explained, precondition, refused, renewed, revision_field,
};
use crate::parts::same_request::SameRequest;
use crate::parts::schema_form::SchemaForm;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::Precondition;
use dsrs_http::{ApiProblem, ProblemCode};
use dsrs_store::graph::{GraphRef, GraphRow};

/// `GET /graphs/{graph}/online-evaluation`, with what is set.
pub(crate) async fn form(
    visitor: Visitor,
    Path(graph): Path<String>,
) -> Result<Response, ApiProblem> {
    let row = graph_of(&visitor, &graph).await?;
    let stored = visitor.app.online_evaluation_of(&visitor.scope, row.id).await?;
    let form = stored.as_ref().map_or_else(new_form, form_of);
    Ok(show(&visitor, &row, &form, None))
}

/// `POST /graphs/{graph}/online-evaluation`: the same form with what was entered, and a metric more or less. Stores
/// nothing.
pub(crate) async fn preview(
    visitor: Visitor,
    Path(graph): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let row = graph_of(&visitor, &graph).await?;
    let stored = visitor.app.online_evaluation_of(&visitor.scope, row.id).await?;
    Ok(show(&visitor, &row, &with_stored_pause(form, stored.as_ref()), None))
}

/// `POST /graphs/{graph}/online-evaluation/set`.
pub(crate) async fn set(
    visitor: Visitor,
    Path(graph): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let row = graph_of(&visitor, &graph).await?;
    let stored = visitor.app.online_evaluation_of(&visitor.scope, row.id).await?;
    let form = with_stored_pause(form, stored.as_ref());
    match Box::pin(put(&visitor, &row, &form, stored.is_some())).await {
        Ok(()) => Ok(see(&format!("/graphs/{}#online-evaluation", encoded(&row.name)))),
        Err(problem) if problem.code() == ProblemCode::NotFound => Err(problem),
        Err(problem) => {
            let current = stored.map(|stored| (stored.id, stored.revision));
            let form = renewed(form, current, &problem);
            let problem = explained(problem, REPLACED);
            Ok(refused(show(&visitor, &row, &form, Some(&problem)), &problem))
        }
    }
}

async fn graph_of(visitor: &Visitor, graph: &str) -> Result<GraphRow, ApiProblem> {
    Ok(visitor.app.graph_get(&visitor.scope, &GraphRef::parse(graph), None).await?)
}

async fn put(
    visitor: &Visitor,
    row: &GraphRow,
    form: &Form,
    is_set: bool,
) -> Result<(), ApiProblem> {
    let Visitor { app, scope, .. } = visitor;
    let request = document(form)?.request()?;
    let expected = match form.given(REVISION) {
        // Another person has set one since the form was opened.
        None if is_set => Precondition::OneOf(Vec::new()),
        _ => precondition(form),
    };
    Box::pin(app.online_evaluation_put(scope, &GraphRef::Id(row.id), request, &expected)).await?;
    Ok(())
}

fn show(visitor: &Visitor, row: &GraphRow, form: &Form, problem: Option<&ApiProblem>) -> Response {
    let path = format!("/graphs/{}", encoded(&row.name));
    let preview = format!("{path}/online-evaluation");
    let placed = problem.map(|problem| at_rows(problem, form));
    let fields = SchemaForm::new(form, placed.as_ref());
    let crumbs = [("/".to_owned(), "Graphs"), (path, row.name.as_str())];
    let shown = html! {
        (head(&crumbs, &html! { "Online evaluation" }, &html! {}))
        @if let Some(problem) = problem { (refusal(problem)) }
        form.start action={ (preview) "/set" } method="post" data-preview=(preview) {
            // Enter in a field is this button, not one that adds or removes a metric.
            button.sr type="submit" tabindex="-1" aria-hidden="true" { "Save" }
            input type="hidden" name=(WAS_PAUSED) value=(form.text(WAS_PAUSED));
            (revision_field(form))
            div.fields {
                div.fields data-part="shape" #metrics { (metrics(&fields, &preview)) }
                (limits(&fields))
            }
            (aside(row, form, &preview))
        }
    };
    let view = View::new(format!("Online evaluation of {}", row.name), PageSection::Graphs)
        .styles(&["quality.css"])
        .scripts(&["start_form.js"]);
    visitor.show(&view, shown)
}

fn metrics(fields: &SchemaForm<'_>, preview: &str) -> Markup {
    let rows = rows(fields.form);
    html! {
        @for row in &rows { (metric(fields, row, preview, rows.len() > 1)) }
        (fields.problems("/metrics"))
        @if rows.len() < MOST_ROWS {
            div.actions {
                button type="submit" formaction=(preview) formnovalidate name=(ADD) value="1" { "Add a metric" }
            }
        }
    }
}

fn metric(fields: &SchemaForm<'_>, row: &MetricRow, preview: &str, is_one_of_many: bool) -> Markup {
    let (name, metric) = (row.name_field(), row.metric_field());
    let name = LineField {
        name: &name,
        label: "Name of the score",
        hint: "letters, digits, - _ and .",
        placeholder: "short",
        longest: Some(64),
        is_required: true,
        ..LineField::default()
    };
    html! {
        section.panel.metric-row {
            header { h2 { "Metric" @if !row.name.is_empty() { " " code { (row.name) } } }
                @if is_one_of_many {
                    button.quiet type="submit" formaction=(preview) formnovalidate name=(REMOVE) value=(row.number())
                        aria-label={ "Remove the metric " (row.name) } { "Remove" }
                }
            }
            div.body.fields {
                (name.show(fields))
                (fields.fields(&METRIC, &metric, "How outputs are scored"))
            }
        }
    }
}

fn limits(fields: &SchemaForm<'_>) -> Markup {
    let number = |name, label, hint, placeholder| LineField {
        name,
        label,
        hint,
        placeholder,
        kind: Some("number"),
        ..LineField::default()
    };
    let share =
        number("/sample", "Share of the runs", "above 0, at most 1; 0.1 is one in ten", "0.1");
    let calls =
        number("/calls_per_day", "Calls of models a day", "of all metrics, by UTC", "no limit");
    let cost = number("/cost_per_day", "Cost a day", "in the currency of the prices", "no limit");
    html! {
        section.panel {
            header { h2 { "How many runs" } }
            div.body.fields {
                div.pair { (share.show(fields)) (calls.show(fields)) (cost.show(fields)) }
                label.inline { input type="checkbox" name=(PAUSED) value="true" checked[fields.form.given(PAUSED).is_some()]; "paused: no run is judged until a person resumes it" }
            }
        }
    }
}

fn aside(row: &GraphRow, form: &Form, preview: &str) -> Markup {
    let body = body(form);
    let path = format!("/v1/graphs/{}/online-evaluation", encoded(&row.name));
    let same = SameRequest { method: "PUT", path: &path, body: Some(&body) }.show();
    let result = html! {
        p { "A share of the runs of " b { (row.name) } " that succeed is judged in the background." }
        p.small.muted { "The scores are feedback with the source " code { "online" } ". Runs that the budget of a day does not cover stay without scores." }
    };
    let aside = FormAside {
        id: "judging",
        title: "Judging",
        result: &result,
        action: "Save",
        update: "Update",
        preview,
        same: &same,
    };
    aside.show()
}
