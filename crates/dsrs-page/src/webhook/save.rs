//! A webhook is created and changed by its form, as by a client of the API. The answer to its creation shows the secret,
//! which no other view has.

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use maud::html;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::evaluation::id_of;
use crate::form::{Form, see};
use crate::parts::head::head;
use crate::parts::revision::{SAVED_AGAIN, explained, precondition, refused, renewed};
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use crate::webhook::form::show;
use crate::webhook::members::{changed_body, fields_of, new_body};
use dsrs_app::WebhookSecret;
use dsrs_http::{
    ApiProblem, Document, ProblemCode, Query, read_document, read_new_webhook, read_webhook_patch,
};

/// `GET /webhooks/new`, with what the address names filled in.
pub(crate) async fn new(visitor: Visitor, query: Query) -> Result<Response, ApiProblem> {
    let named = query.into_fields()?.into_iter().map(|(name, value)| (format!("/{name}"), value));
    show(&visitor, &Form::of(named.collect()), None, None).await
}

/// `POST /webhooks/new`: the same form with what was entered. Stores nothing.
pub(crate) async fn preview_new(visitor: Visitor, form: Form) -> Result<Response, ApiProblem> {
    show(&visitor, &form, None, None).await
}

/// `POST /webhooks`: creates the webhook.
pub(crate) async fn create(visitor: Visitor, form: Form) -> Result<Response, ApiProblem> {
    match created(&visitor, &form).await {
        Ok(made) => Ok(shown_once(&visitor, &made)),
        Err(problem) => Ok(refused(show(&visitor, &form, None, Some(&problem)).await?, &problem)),
    }
}

async fn created(visitor: &Visitor, form: &Form) -> Result<WebhookSecret, ApiProblem> {
    let change = read_new_webhook(&document(new_body(form))?)?;
    let made = visitor.app.webhook_create(&visitor.scope, change).await;
    made.map_err(|error| of_name(error.into()))
}

fn document(body: Map<String, Value>) -> Result<Document, ApiProblem> {
    read_document(Value::Object(body).to_string().as_bytes())
}

/// The secret of a new webhook. No browser stores this view.
fn shown_once(visitor: &Visitor, made: &WebhookSecret) -> Response {
    let path = format!("/webhooks/{}", made.row.id);
    let name = made.row.settings.name.as_str();
    let body = html! {
        (head(&[("/webhooks".to_owned(), "Webhooks")], &html! { (name) }, &html! {}))
        section.panel.secret {
            header { h2 { "The secret of the webhook" } }
            div.body {
                p role="status" { "The webhook is created. Its secret signs every message, so that the receiver knows that it is from this server." }
                p.warning { "This is the only time that the secret is shown. Copy it now, and store it where the receiver reads it." }
                div.secret-row {
                    input.mono #secret readonly autofocus aria-label="Secret" value=(made.secret) spellcheck="false" autocomplete="off";
                    button.primary type="button" hidden data-script data-copy="secret" { "Copy" }
                }
                p.small.muted { "Lost secrets are replaced by " code { "POST /v1" (path) "/rotate-secret" } "." }
                div.actions { a.button href=(path) { "Go to the webhook" } }
            }
        }
    };
    let view = View::new(name, PageSection::Webhooks).styles(&["quality.css"]);
    let mut response = visitor.show(&view, body);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// `GET /webhooks/{id}/edit`.
pub(crate) async fn edit(visitor: Visitor, Path(id): Path<String>) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    let row = visitor.app.webhook_get(&visitor.scope, id).await?;
    show(&visitor, &Form::of(fields_of(&row)), Some(id), None).await
}

/// `POST /webhooks/{id}/edit`: the same form with what was entered. Stores nothing.
pub(crate) async fn preview_edit(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    visitor.app.webhook_get(&visitor.scope, id).await?;
    show(&visitor, &form, Some(id), None).await
}

/// `POST /webhooks/{id}`: changes the webhook.
pub(crate) async fn change(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    match changed(&visitor, &form, id).await {
        Ok(()) => Ok(see(&format!("/webhooks/{id}"))),
        Err(problem) if problem.code() == ProblemCode::NotFound => Err(problem),
        Err(problem) => {
            // A form that is refused before it is stored has not looked for the webhook.
            let current = visitor.app.webhook_get(&visitor.scope, id).await?;
            let form = renewed(form, Some((id, current.revision)), &problem);
            let problem = explained(problem, SAVED_AGAIN);
            Ok(refused(show(&visitor, &form, Some(id), Some(&problem)).await?, &problem))
        }
    }
}

async fn changed(visitor: &Visitor, form: &Form, id: Uuid) -> Result<(), ApiProblem> {
    let change = read_webhook_patch(&document(changed_body(form))?)?;
    let expected = precondition(form);
    let changed = visitor.app.webhook_change(&visitor.scope, id, change, &expected).await;
    changed.map(drop).map_err(|error| of_name(error.into()))
}

/// A name that another webhook has is a problem of the field.
fn of_name(problem: ApiProblem) -> ApiProblem {
    match problem.code() {
        ProblemCode::AlreadyExists => problem.at_member("/name"),
        _ => problem,
    }
}
