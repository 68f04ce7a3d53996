//! Webhooks at `/v1/webhooks`. `webhook_delivery` has the log of their messages.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

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
use crate::views::{
    RotateSecretBody, WebhookBody, WebhookPage, WebhookPatch, WebhookSecretView, WebhookView,
};
use dsrs::document::Change;
use dsrs_api::webhook::{SecretRotation, WebhookSettings};
use dsrs_app::{App, WebhookSecret};
use dsrs_store::webhook::WebhookRow;

/// The kind of the tags of webhooks.
const WEBHOOK_TAG: char = 'w';

fn tag_of(row: &WebhookRow) -> ETag {
    ETag::of(WEBHOOK_TAG, row.id, row.revision)
}

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
pub fn read_new(document: &Document) -> Result<Change<WebhookSettings>, ApiProblem> {
    document.new_document()
}

/// Reads a change.
pub fn read_patch(document: &Document) -> Result<Change<WebhookSettings>, ApiProblem> {
    document.patch()
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
    responses((status = 200, description = "The webhook", body = WebhookView, headers(
        ("ETag" = String, description = "The revision: changes of clients count, messages do not")))),
    extensions(("x-scope" = json!("admin")), ("x-runs-on" = json!("service")))
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
    params(("If-Match" = Option<String>, Header, description = "The `ETag` that must be current")),
    request_body(content = WebhookPatch, example = json!(crate::routes::examples::webhook_patch())),
    responses((status = 200, description = "The webhook", body = WebhookView, headers(
        ("ETag" = String, description = "The revision")))),
    extensions(("x-scope" = json!("admin")),
        ("x-problems" = json!(["already_exists", "precondition_failed"])))
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
    params(("If-Match" = Option<String>, Header, description = "The `ETag` that must be current")),
    responses((status = 204, description = "The webhook is deleted")),
    extensions(("x-scope" = json!("admin")),
        ("x-problems" = json!(["precondition_failed"])))
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
    params(("If-Match" = Option<String>, Header, description = "The `ETag` that must be current")),
    request_body(content = RotateSecretBody, example = json!({"overlap_s": 3600})),
    responses((status = 200, description = "The webhook", body = WebhookSecretView, headers(
        ("ETag" = String, description = "The revision")))),
    extensions(("x-scope" = json!("admin")),
        ("x-problems" = json!(["precondition_failed"])))
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
    let SecretRotation { overlap_s } = document.complete()?;
    let overlap = Duration::from_secs(overlap_s);
    let precondition = if_match.precondition(&[WEBHOOK_TAG]);
    let rotated = app.webhook_rotate(&caller.scope(), id, overlap, &precondition).await?;
    Ok(shown_once(StatusCode::OK, &rotated))
}
