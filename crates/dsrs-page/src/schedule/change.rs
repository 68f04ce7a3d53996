//! What a person does with a schedule: pause and resume it, fire it, delete it.

use axum::extract::Path;
use axum::response::Response;

use crate::evaluation::id_of;
use crate::form::see;
use crate::visitor::Visitor;
use dsrs::document::Change;
use dsrs::value::Payload;
use dsrs_app::Precondition;
use dsrs_http::ApiProblem;

/// `POST /schedules/{id}/pause`.
pub(crate) async fn pause(
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, ApiProblem> {
    enable(&visitor, &id, false).await
}

/// `POST /schedules/{id}/resume`: from now on its work is that of the key of the visitor.
pub(crate) async fn resume(
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, ApiProblem> {
    enable(&visitor, &id, true).await
}

async fn enable(visitor: &Visitor, id: &str, enabled: bool) -> Result<Response, ApiProblem> {
    let id = id_of(id)?;
    let change = Change::of("enabled", Payload::Bool(enabled));
    let (app, identity) = (&visitor.app, &visitor.identity);
    Box::pin(app.schedule_change(identity, id, &change, &Precondition::Any)).await?;
    Ok(see(&format!("/schedules/{id}")))
}

/// `POST /schedules/{id}/fire`.
pub(crate) async fn fire(visitor: Visitor, Path(id): Path<String>) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    visitor.app.schedule_fire(&visitor.scope, id).await?;
    Ok(see(&format!("/schedules/{id}#firings")))
}

/// `POST /schedules/{id}/delete`.
pub(crate) async fn delete(
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, ApiProblem> {
    visitor.app.schedule_delete(&visitor.scope, id_of(&id)?, &Precondition::Any).await?;
    Ok(see("/schedules"))
}
