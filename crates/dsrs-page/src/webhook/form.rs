//! The form of a webhook: where messages are sent, and which events it reports. `members` reads it, `save` stores it.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;
use uuid::Uuid;

use crate::dataset::upload::refusal;
use crate::dataset::view::graph_names;
use crate::form::Form;
use crate::parts::choice::{Names, marked_choice};
use crate::parts::form_aside::FormAside;
use crate::parts::head::head;
use crate::parts::line_field::LineField;
use crate::parts::revision::revision_field;
use crate::parts::same_request::SameRequest;
use crate::parts::schema_form::{FieldMark, SchemaForm};
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use crate::webhook::members::{EVENTS, OPENED, changed_body, new_body};
use dsrs::document::{described_words, longest};
use dsrs_api::webhook::{ScoreThreshold, WebhookEvent, WebhookSettings};
use dsrs_http::{ApiProblem, PageRequest, ProblemCode, Query};
use dsrs_store::webhook::WebhookRow;

/// The form of a new webhook, or of one that is stored, with the problem of its last request.
pub(super) async fn show(
    visitor: &Visitor,
    form: &Form,
    id: Option<Uuid>,
    problem: Option<&ApiProblem>,
) -> Result<Response, ApiProblem> {
    let graphs = graph_names(visitor).await?;
    let fields = SchemaForm::new(form, problem);
    let (path, preview) = match id {
        None => ("/webhooks".to_owned(), "/webhooks/new".to_owned()),
        Some(id) => (format!("/webhooks/{id}"), format!("/webhooks/{id}/edit")),
    };
    let shown = html! {
        form.start.webhook action=(path) method="post" data-preview=(preview) {
            @if id.is_some() {
                input type="hidden" name=(OPENED) value=(form.text(OPENED));
                (revision_field(form))
            }
            div.fields {
                (destination(&fields))
                (events(&fields, &graphs))
            }
            (aside(form, id, &preview))
        }
    };
    let namesake = match problem.map(ApiProblem::code) {
        Some(ProblemCode::AlreadyExists) => namesake(visitor, form).await?,
        _ => None,
    };
    let title = if id.is_some() { "Change a webhook" } else { "New webhook" };
    let opened: Value = serde_json::from_str(form.text(OPENED)).unwrap_or_default();
    let name = opened["name"].as_str().unwrap_or("the webhook");
    let list = ("/webhooks".to_owned(), "Webhooks");
    let crumbs: Vec<_> = [list].into_iter().chain(id.map(|_| (path.clone(), name))).collect();
    let body = html! {
        (head(&crumbs, &html! { (title) }, &html! {}))
        @if let Some(problem) = problem { (refusal(problem)) }
        @if let Some(other) = namesake { p { a href={ "/webhooks/" (other.id) } { "Open the webhook " (other.settings.name) } } }
        (shown)
    };
    let view = View::new(title, PageSection::Webhooks)
        .styles(&["quality.css"])
        .scripts(&["start_form.js"]);
    Ok(visitor.show(&view, body))
}

/// The webhook that has the name already, if it is one of the newest: a form that was sent twice without scripts has
/// created it, and its secret was not shown.
async fn namesake(visitor: &Visitor, form: &Form) -> Result<Option<WebhookRow>, ApiProblem> {
    let newest = PageRequest::of("webhooks", Query::parse(""))?.newest()?;
    let found = visitor.app.webhook_list(&visitor.scope, newest).await?;
    let name = form.text("/name").trim();
    Ok(found.items.into_iter().find(|row| row.settings.name == name))
}

fn destination(fields: &SchemaForm<'_>) -> Markup {
    let name = LineField {
        name: "/name",
        label: "Name",
        hint: "letters, digits, - _ and .",
        longest: longest::<WebhookSettings>("name"),
        is_required: true,
        ..LineField::default()
    };
    let url = LineField {
        name: "/url",
        label: "URL",
        hint: "where messages are sent; its host must be one that the server allows",
        placeholder: "https://hooks.example.com/dsrs",
        kind: Some("url"),
        longest: longest::<WebhookSettings>("url"),
        is_required: true,
        ..LineField::default()
    };
    let about = LineField {
        name: "/description",
        label: "Description",
        hint: "for people; may be empty",
        longest: longest::<WebhookSettings>("description"),
        ..LineField::default()
    };
    html! {
        section.panel {
            header { h2 { "Webhook" } }
            div.body.fields {
                div.pair { (name.show(fields)) (about.show(fields)) }
                (url.show(fields))
            }
        }
    }
}

fn events(fields: &SchemaForm<'_>, graphs: &Names) -> Markup {
    let chosen = |event: &str| fields.form.all(EVENTS).any(|word| word == event);
    let FieldMark { is_first, .. } = fields.mark(EVENTS);
    html! {
        section.panel {
            header { h2 { "Reports" } }
            div.body.fields {
                fieldset.choices {
                    legend { "Events" }
                    @for (at, (event, meaning)) in described_words::<WebhookEvent>().into_iter().enumerate() {
                        label.inline {
                            input type="checkbox" name=(EVENTS) value=(event) checked[chosen(event)] autofocus[is_first && at == 0];
                            span { code { (event) } " " span.hint { (meaning) } }
                        }
                    }
                    (fields.problems_within(EVENTS))
                }
                (threshold(fields))
                (graph(fields, graphs))
            }
        }
    }
}

/// Shown by the stylesheet while the event is chosen that needs it.
fn threshold(fields: &SchemaForm<'_>) -> Markup {
    let metric = LineField {
        name: "/score/metric",
        label: "Score",
        hint: "the name of the score",
        placeholder: "quality",
        around: Some("/score"),
        longest: longest::<ScoreThreshold>("metric"),
        ..LineField::default()
    };
    let below = LineField {
        name: "/score/below",
        label: "Below",
        hint: "a lower score is reported",
        placeholder: "0.5",
        kind: Some("number"),
        ..LineField::default()
    };
    html! {
        fieldset.threshold {
            legend { "Threshold of " code { (WebhookEvent::ScoreBelow.as_str()) } }
            div.pair { (metric.show(fields)) (below.show(fields)) }
        }
    }
}

fn graph(fields: &SchemaForm<'_>, graphs: &Names) -> Markup {
    let mark = fields.mark("/graph");
    html! {
        label { "Graph" span.hint { "only events of this graph" }
            (marked_choice("/graph", fields.form.text("/graph"), graphs, "every graph", mark))
            (fields.problems("/graph"))
        }
    }
}

fn aside(form: &Form, id: Option<Uuid>, preview: &str) -> Markup {
    let (body, method, path) = match id {
        None => (new_body(form), "POST", "/v1/webhooks".to_owned()),
        Some(id) => (changed_body(form), "PATCH", format!("/v1/webhooks/{id}")),
    };
    let result = html! {
        @match id {
            None => p.small.muted { "Messages are signed. The secret is shown once, after the webhook is created." },
            Some(_) if body.is_empty() => p.muted { "Nothing is changed yet." },
            Some(_) => p.small.muted { "Messages that wait are sent to the new URL. The secret stays." },
        }
    };
    let body = Value::Object(body);
    let same = SameRequest { method, path: &path, body: Some(&body) }.show();
    let aside = FormAside {
        id: "webhook-request",
        title: if id.is_some() { "Change" } else { "Create" },
        result: &result,
        action: if id.is_some() { "Save" } else { "Create webhook" },
        update: "Update request",
        preview,
        same: &same,
    };
    aside.show()
}
