//! `POST /runs/{id}/feedback`: what a person thinks of a run.

use axum::extract::Path;
use axum::response::Response;

use crate::evaluation::id_of;
use crate::form::{Form, see};
use crate::run::feedback::{RefusedFeedback, read};
use crate::run::view::{RunFocus, show};
use crate::visitor::Visitor;
use dsrs_app::AnswerBuilder;
use dsrs_http::ApiProblem;

/// `POST /runs/{id}/feedback`.
pub(crate) async fn give(
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
        Err(problem) if problem.status().is_client_error() => {
            let status = problem.status();
            let refused_feedback = Some(RefusedFeedback { form, problem });
            let focus = RunFocus { refused_feedback, ..RunFocus::default() };
            let mut response = show(&visitor, id, &focus).await?;
            *response.status_mut() = status;
            Ok(response)
        }
        Err(problem) => Err(problem),
    }
}
