//! A schedule is created and changed by its form, as by a client of the API.

use axum::extract::Path;
use axum::response::Response;
use uuid::Uuid;

use crate::evaluation::id_of;
use crate::form::{Form, see};
use crate::parts::revision::{self, SAVED_AGAIN, precondition, refused, renewed};
use crate::schedule::form::show;
use crate::schedule::members::{changed_body, document, explained, fields_of, new_body, new_form};
use crate::schedule::request::StartedWork;
use crate::visitor::Visitor;
use dsrs_http::{ApiProblem, ProblemCode, Query, read_new_schedule, read_schedule_patch};

/// `GET /schedules/new`, with what the address names filled in.
pub(crate) async fn new(visitor: Visitor, query: Query) -> Result<Response, ApiProblem> {
    let work = StartedWork::read(&visitor, new_form(query.into_fields()?)).await?;
    show(&visitor, &work, None, None).await
}

/// `POST /schedules/new`: the same form with what was entered. Stores nothing.
pub(crate) async fn preview_new(visitor: Visitor, form: Form) -> Result<Response, ApiProblem> {
    show(&visitor, &StartedWork::read(&visitor, form).await?, None, None).await
}

/// `POST /schedules`: creates the schedule.
pub(crate) async fn create(visitor: Visitor, form: Form) -> Result<Response, ApiProblem> {
    let work = StartedWork::read(&visitor, form).await?;
    match Box::pin(created(&visitor, &work)).await {
        Ok(id) => Ok(see(&format!("/schedules/{id}"))),
        Err(problem) => {
            let problem = explained(&work, problem);
            Ok(refused(show(&visitor, &work, None, Some(&problem)).await?, &problem))
        }
    }
}

async fn created(visitor: &Visitor, work: &StartedWork) -> Result<Uuid, ApiProblem> {
    let change = read_new_schedule(&document(work, new_body(work))?)?;
    Ok(visitor.app.schedule_create(&visitor.identity, &change).await?.row.id)
}

/// `GET /schedules/{id}/edit`.
pub(crate) async fn edit(visitor: Visitor, Path(id): Path<String>) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    let stored = visitor.app.schedule_get(&visitor.scope, id).await?;
    let form = Form::of(fields_of(&stored.row));
    show(&visitor, &StartedWork::read(&visitor, form).await?, Some(id), None).await
}

/// `POST /schedules/{id}/edit`: the same form with what was entered. Stores nothing.
pub(crate) async fn preview_edit(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    visitor.app.schedule_get(&visitor.scope, id).await?;
    show(&visitor, &StartedWork::read(&visitor, form).await?, Some(id), None).await
}

/// `POST /schedules/{id}`: changes the schedule. From now on its work is that of the key of the visitor.
pub(crate) async fn change(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    let work = StartedWork::read(&visitor, form).await?;
    match Box::pin(changed(&visitor, &work, id)).await {
        Ok(()) => Ok(see(&format!("/schedules/{id}"))),
        Err(problem) if problem.code() == ProblemCode::NotFound => Err(problem),
        Err(problem) => {
            // A form that is refused before it is stored has not looked for the schedule.
            let current = visitor.app.schedule_get(&visitor.scope, id).await?.row;
            let form = renewed(work.form, Some((id, current.revision)), &problem);
            let work = StartedWork { form, ..work };
            let problem = revision::explained(explained(&work, problem), SAVED_AGAIN);
            Ok(refused(show(&visitor, &work, Some(id), Some(&problem)).await?, &problem))
        }
    }
}

async fn changed(visitor: &Visitor, work: &StartedWork, id: Uuid) -> Result<(), ApiProblem> {
    let change = read_schedule_patch(&document(work, changed_body(work))?)?;
    let (app, identity) = (&visitor.app, &visitor.identity);
    let expected = precondition(&work.form);
    Box::pin(app.schedule_change(identity, id, &change, &expected)).await?;
    Ok(())
}
