//! What a person does with a webhook: test, pause, resume and delete it, send a message again.

use axum::extract::Path;
use axum::response::Response;

use dsrs::value::Payload;

use crate::evaluation::id_of;
use crate::form::see;
use crate::visitor::Visitor;
use dsrs::document::Change;
use dsrs_app::Precondition;
use dsrs_http::ApiProblem;

/// `POST /webhooks/{id}/test`.
pub(crate) async fn test(visitor: Visitor, Path(id): Path<String>) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    visitor.app.webhook_test(&visitor.scope, id).await?;
    Ok(see(&format!("/webhooks/{id}#messages")))
}

/// `POST /webhooks/{id}/pause`.
pub(crate) async fn pause(
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, ApiProblem> {
    enable(&visitor, &id, false).await
}

/// `POST /webhooks/{id}/resume`.
pub(crate) async fn resume(
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, ApiProblem> {
    enable(&visitor, &id, true).await
}

async fn enable(visitor: &Visitor, id: &str, enabled: bool) -> Result<Response, ApiProblem> {
    let id = id_of(id)?;
    let change = Change::of("enabled", Payload::Bool(enabled));
    visitor.app.webhook_change(&visitor.scope, id, change, &Precondition::Any).await?;
    Ok(see(&format!("/webhooks/{id}")))
}

/// `POST /webhooks/{id}/delete`.
pub(crate) async fn delete(
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, ApiProblem> {
    visitor.app.webhook_delete(&visitor.scope, id_of(&id)?, &Precondition::Any).await?;
    Ok(see("/webhooks"))
}

/// `POST /webhooks/{id}/messages/{message}/replay`.
pub(crate) async fn replay(
    visitor: Visitor,
    Path((id, message)): Path<(String, String)>,
) -> Result<Response, ApiProblem> {
    let (id, message) = (id_of(&id)?, id_of(&message)?);
    visitor.app.delivery_replay(&visitor.scope, id, message).await?;
    Ok(see(&format!("/webhooks/{id}#messages")))
}
