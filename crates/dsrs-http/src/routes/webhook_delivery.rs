//! The messages of a webhook: the log of their delivery, replays, and a test message.

use axum::response::Response;
use uuid::Uuid;

use crate::protocol::answer;
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::path;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::protocol::resource::{ById, ResourceRef, ResourceRequest};
use crate::views::{DeliveryPage, DeliveryView};

/// A message of a webhook: the ids of both.
pub(crate) struct DeliveryRef {
    webhook: Uuid,
    delivery: Uuid,
}

/// `{id}` and `{delivery}`.
impl ResourceRef for DeliveryRef {
    type Segments = (String, String);

    fn read((webhook, delivery): (String, String)) -> Result<Self, ApiProblem> {
        Ok(Self { webhook: path::id(&webhook)?, delivery: path::id(&delivery)? })
    }
}

/// List the messages of a webhook
///
/// Newest first, each with its newest attempts. Messages are removed after `webhooks.retention`.
#[utoipa::path(
    get, path = "/v1/webhooks/{id}/deliveries", tag = "webhooks",
    params(
        ("status" = Option<String>, Query, pattern = "^(pending|succeeded|failed)$", description = "Only messages with this status"),
        PageParams),
    responses((status = 200, description = "A page", body = DeliveryPage)),
    extensions(("x-scope" = json!("admin")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn delivery_list(request: ById, mut query: Query) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: id } = request;
    let status = query.read("status", "`pending`, `succeeded` or `failed`", |text| {
        ["pending", "succeeded", "failed"].into_iter().find(|known| *known == text)
    });
    let list = format!("deliveries of {id} {}", status.unwrap_or_default());
    let page = PageRequest::read(&mut query, list);
    query.close()?;
    let found = app.delivery_list(&scope, id, status, page.newest()?).await?;
    Ok(page.respond(&found, DeliveryView::from))
}

/// Replay a message
///
/// Sends a message again with the same `webhook-id` and body, whatever became of it, with as many attempts as a new
/// one.
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/deliveries/{delivery}/replay", tag = "webhooks",
    responses((status = 202, description = "The message", body = DeliveryView)),
    extensions(("x-scope" = json!("admin")))
)]
pub(crate) async fn delivery_replay(
    _: NoQuery,
    request: ResourceRequest<DeliveryRef>,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource } = request;
    let row = app.delivery_replay(&scope, resource.webhook, resource.delivery).await?;
    Ok(answer::accepted(&log_of(resource.webhook), &DeliveryView::from(&row)))
}

/// Test a webhook
///
/// Sends the message `webhook.test`, which reports nothing. It appears in the log.
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/test", tag = "webhooks",
    responses((status = 202, description = "The message", body = DeliveryView)),
    extensions(("x-scope" = json!("admin")))
)]
pub(crate) async fn webhook_test(_: NoQuery, request: ById) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource } = request;
    let row = app.webhook_test(&scope, resource).await?;
    Ok(answer::accepted(&log_of(resource), &DeliveryView::from(&row)))
}

fn log_of(webhook: Uuid) -> String {
    format!("/v1/webhooks/{webhook}/deliveries")
}
