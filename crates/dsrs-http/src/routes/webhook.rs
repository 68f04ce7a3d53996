//! Webhooks at `/v1/webhooks`. `webhook_delivery` has the log of their messages.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, boolean, count, list, number, text};
use dsrs::value::Payload;
use url::Url;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::caller::Caller;
use crate::protocol::etag::{ETag, IfMatch};
use crate::protocol::idempotency::IdempotencyKey;
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::path;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::protocol::resource::{ById, ResourceRequest};
use crate::protocol::status::ProblemCode;
use crate::routes::key::read_name;
use crate::views::{
    RotateSecretBody, WebhookBody, WebhookPage, WebhookPatch, WebhookSecretView, WebhookView,
};
use dsrs_app::{App, ScoreThreshold, WebhookChange, WebhookEvent, WebhookSecret};
use dsrs_store::graph::GraphRef;
use dsrs_store::webhook::WebhookRow;

/// The kind of the tags of webhooks.
const WEBHOOK_TAG: char = 'w';

fn tag_of(row: &WebhookRow) -> ETag {
    ETag::of(WEBHOOK_TAG, row.id, row.revision)
}

/// The longest URL, description and name of a metric.
const LONGEST_URL: usize = 2048;
const LONGEST_DESCRIPTION: usize = 500;
const LONGEST_METRIC: usize = 128;

/// The overlap of a rotation: the default, and the longest.
const OVERLAP_S: u64 = 86_400;
const LONGEST_OVERLAP_S: u64 = 7 * 86_400;

/// The refusal of an `Idempotency-Key`.
const NO_IDEMPOTENCY_KEY: &str = "`POST /v1/webhooks` takes no `Idempotency-Key`: the answer shows a secret and is \
     not stored; a repeat with the same name is answered `409 already_exists`";

/// Create a webhook
///
/// The server sends a signed message (Standard Webhooks) for each event, at least once. The answer is the only place
/// where the secret is shown. An `Idempotency-Key` is refused, because answers to keyed requests are stored; names
/// are unique, so that a repeat creates no second webhook.
#[utoipa::path(
    post, path = "/v1/webhooks", tag = "webhooks",
    request_body(content = WebhookBody, example = json!(crate::routes::examples::webhook())),
    responses((status = 201, description = "The webhook", body = WebhookSecretView, headers(
        ("Location" = String, description = "The address of the webhook"),
        ("ETag" = String, description = "The revision")))),
    extensions(("x-scope" = json!("admin")), ("x-problems" = json!(["already_exists"])))
)]
pub(crate) async fn webhook_create(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    if key.is_given() {
        return Err(ApiProblem::parameter(NO_IDEMPOTENCY_KEY));
    }
    let created = app.webhook_create(&caller.scope(), read_new(&document)?).await?;
    let mut response = shown_once(StatusCode::CREATED, &created);
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/webhooks/{}", created.row.id)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

fn shown_once(status: StatusCode, webhook: &WebhookSecret) -> Response {
    let mut response = answer::json(status, &WebhookSecretView::from(webhook));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::ETAG, tag_of(&webhook.row).header());
    response
}

/// Reads a new webhook.
pub fn read_new(document: &Document) -> Result<WebhookChange, ApiProblem> {
    read_body(document, |object| {
        let name = object.required("name", read_name);
        let url = object.required("url", read_url);
        let events = object.required("events", read_events);
        let rest = read_rest(object);
        Some(WebhookChange { name: Some(name?), url: Some(url?), events: Some(events?), ..rest? })
    })
}

/// Reads a change.
pub fn read_patch(document: &Document) -> Result<WebhookChange, ApiProblem> {
    read_body(document, |object| {
        let name = object.optional("name", read_name);
        let url = object.optional("url", read_url);
        let events = object.optional("events", read_events);
        Some(WebhookChange { name, url, events, ..read_rest(object)? })
    })
}

fn read_body<'d>(
    document: &'d Document,
    read: impl FnOnce(&mut Object<'d, '_, '_>) -> Option<WebhookChange>,
) -> Result<WebhookChange, ApiProblem> {
    let (mut change, faults) = document.read(read)?;
    change.faults = faults;
    Ok(change)
}

/// The members that both bodies have as optional ones.
fn read_rest(object: &mut Object<'_, '_, '_>) -> Option<WebhookChange> {
    let description = object.optional("description", |payload, at, problems| {
        read_text(payload, at, problems, 0, LONGEST_DESCRIPTION)
    });
    let graph = nullable(object, "graph", |payload, at, problems| {
        text(payload, at, problems).map(GraphRef::parse)
    });
    let score = nullable(object, "score", read_score);
    let enabled = object.optional("enabled", boolean);
    Some(WebhookChange { description, graph, score, enabled, ..WebhookChange::default() })
}

/// A member whose `null` is a value.
fn nullable<'v, T>(
    object: &mut Object<'v, '_, '_>,
    name: &'static str,
    read: impl FnOnce(&'v Payload, &At<'_>, &mut Problems) -> Option<T>,
) -> Option<Option<T>> {
    match object.raw(name) {
        None => None,
        Some(Payload::Null) => Some(None),
        Some(_) => object.optional(name, read).map(Some),
    }
}

/// Reads a text of a length, in characters.
pub(crate) fn read_text(
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
    shortest: usize,
    longest: usize,
) -> Option<String> {
    let found = text(payload, at, problems)?;
    let fits = (shortest..=longest).contains(&found.chars().count()) && !found.contains('\0');
    if !fits {
        let detail = format!("expected {shortest} to {longest} characters without U+0000");
        problems.add(at, Code::InvalidValue, detail);
    }
    fits.then(|| found.to_owned())
}

fn read_url(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Url> {
    let found = text(payload, at, problems)?;
    let url = Url::parse(found)
        .ok()
        .filter(|url| found.len() <= LONGEST_URL && matches!(url.scheme(), "http" | "https"));
    if url.is_none() {
        let detail = format!("expected an http or https URL of at most {LONGEST_URL} bytes");
        problems.add(at, Code::InvalidValue, detail);
    }
    url
}

fn read_events(
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Vec<WebhookEvent>> {
    let mut events: Vec<WebhookEvent> = Vec::new();
    let before = problems.len();
    list(payload, at, problems, |item, at, problems| {
        let word = text(item, at, problems)?;
        let Some(event) = WebhookEvent::ALL.into_iter().find(|known| known.as_str() == word) else {
            let known = WebhookEvent::ALL.map(WebhookEvent::as_str).join("`, `");
            problems.add(at, Code::InvalidValue, format!("expected one of `{known}`"));
            return None;
        };
        match events.contains(&event) {
            true => problems.add(at, Code::DuplicateName, format!("`{word}` is listed twice")),
            false => events.push(event),
        }
        Some(())
    })?;
    if events.is_empty() && problems.len() == before {
        problems.add(at, Code::InvalidValue, "expected at least one event");
    }
    Some(events)
}

fn read_score(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<ScoreThreshold> {
    let mut object = Object::open(payload, at, problems)?;
    let metric = object.required("metric", |payload, at, problems| {
        read_text(payload, at, problems, 1, LONGEST_METRIC)
    });
    let below = object.required("below", |payload, at, problems| {
        let found = number(payload, at, problems)?;
        if !found.is_finite() {
            problems.add(at, Code::InvalidValue, "expected a finite number");
        }
        Some(found)
    });
    object.close();
    Some(ScoreThreshold { metric: metric?, below: below? })
}

/// List webhooks
///
/// Newest first, without their secrets.
#[utoipa::path(
    get, path = "/v1/webhooks", tag = "webhooks", params(PageParams),
    responses((status = 200, description = "A page", body = WebhookPage)),
    extensions(("x-scope" = json!("admin")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn webhook_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Response, ApiProblem> {
    let page = PageRequest::of("webhooks", query)?;
    let found = app.webhook_list(&caller.scope(), page.newest()?).await?;
    Ok(page.respond(&found, WebhookView::from))
}

/// Read a webhook
///
/// Without its secret.
#[utoipa::path(
    get, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(("id" = String, Path, description = "The id of the webhook")),
    responses((status = 200, description = "The webhook", body = WebhookView, headers(
        ("ETag" = String, description = "The revision: changes of clients count, messages do not")))),
    extensions(("x-scope" = json!("admin")), ("x-runs-on" = json!("service")),
        ("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn webhook_get(_: NoQuery, request: ById) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource } = request;
    let row = app.webhook_get(&scope, resource).await?;
    Ok(answer::tagged(&tag_of(&row), &WebhookView::from(&row)))
}

/// Change a webhook
///
/// Members that the body does not name stay as they are. Messages that wait are sent to the new URL.
#[utoipa::path(
    patch, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(
        ("id" = String, Path, description = "The id of the webhook"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that must be current")),
    request_body(content = WebhookPatch, example = json!(crate::routes::examples::webhook_patch())),
    responses((status = 200, description = "The webhook", body = WebhookView, headers(
        ("ETag" = String, description = "The revision")))),
    extensions(("x-scope" = json!("admin")),
        ("x-problems" = json!(["not_found", "already_exists", "precondition_failed"])))
)]
pub(crate) async fn webhook_patch(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    if_match: IfMatch,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let id = path::id(&id)?;
    let precondition = if_match.precondition(&[WEBHOOK_TAG]);
    let change = read_patch(&document)?;
    let row = app.webhook_change(&caller.scope(), id, change, &precondition).await?;
    Ok(answer::tagged(&tag_of(&row), &WebhookView::from(&row)))
}

/// Delete a webhook
///
/// The messages of the webhook are not sent any more.
#[utoipa::path(
    delete, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(
        ("id" = String, Path, description = "The id of the webhook"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that must be current")),
    responses((status = 204, description = "The webhook is deleted")),
    extensions(("x-scope" = json!("admin")),
        ("x-problems" = json!(["not_found", "precondition_failed"])))
)]
pub(crate) async fn webhook_delete(
    if_match: IfMatch,
    _: NoQuery,
    request: ById,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource } = request;
    app.webhook_delete(&scope, resource, &if_match.precondition(&[WEBHOOK_TAG])).await?;
    Ok(answer::no_content())
}

/// Rotate the secret of a webhook
///
/// The answer is the only place where the new secret is shown. The secret before signs messages, too, until
/// `overlap_s` have passed, so that the receiver can change its secret without losing a message.
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/rotate-secret", tag = "webhooks",
    params(
        ("id" = String, Path, description = "The id of the webhook"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that must be current")),
    request_body(content = RotateSecretBody, example = json!({"overlap_s": 3600})),
    responses((status = 200, description = "The webhook", body = WebhookSecretView, headers(
        ("ETag" = String, description = "The revision")))),
    extensions(("x-scope" = json!("admin")),
        ("x-problems" = json!(["not_found", "precondition_failed"])))
)]
pub(crate) async fn webhook_rotate(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    if_match: IfMatch,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let id = path::id(&id)?;
    let (overlap, problems) =
        document.read(|object| Some(object.optional("overlap_s", read_overlap)))?;
    if !problems.is_empty() {
        return Err(ApiProblem::of(ProblemCode::InvalidRequest, problems));
    }
    let overlap = Duration::from_secs(overlap.unwrap_or(OVERLAP_S));
    let precondition = if_match.precondition(&[WEBHOOK_TAG]);
    let rotated = app.webhook_rotate(&caller.scope(), id, overlap, &precondition).await?;
    Ok(shown_once(StatusCode::OK, &rotated))
}

fn read_overlap(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<u64> {
    let found = count(payload, at, problems)?;
    if found > LONGEST_OVERLAP_S {
        problems.add(at, Code::InvalidValue, format!("expected at most {LONGEST_OVERLAP_S}"));
    }
    Some(found)
}
