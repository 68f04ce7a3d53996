//! `POST /runs/{id}/feedback`: what a person thinks of a run.

use axum::extract::Path;
use axum::response::Response;

use crate::app::AnswerBuilder;
use crate::http::ApiProblem;
use crate::page::evaluation::id_of;
use crate::page::form::{Form, see};
use crate::page::run::feedback::{RefusedFeedback, read};
use crate::page::run::view::{RunFocus, show};
use crate::page::visitor::Visitor;

/// `POST /runs/{id}/feedback`.
pub(in crate::page) async fn give(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    let run = visitor.app.run_get(&visitor.scope, id).await?;
    let given = match read(&visitor, &run, &form).await {
        Ok(request) => {
            let given =
                visitor.app.feedback_put(&visitor.scope, id, request, AnswerBuilder::none());
            Box::pin(given).await.map_err(ApiProblem::from)
        }
        Err(problem) => Err(problem),
    };
    match given {
        Ok(_) => Ok(see(&format!("/runs/{id}#feedback"))),
        Err(problem) if problem.code().status().is_client_error() => {
            let status = problem.code().status();
            let refused_feedback = Some(RefusedFeedback { form, problem });
            let focus = RunFocus { refused_feedback, ..RunFocus::default() };
            let mut response = show(&visitor, id, &focus).await?;
            *response.status_mut() = status;
            Ok(response)
        }
        Err(problem) => Err(problem),
    }
}
