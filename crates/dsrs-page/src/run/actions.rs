//! What a person does with a run: cancel it, resume it, make an example of it.

use axum::extract::Path;
use axum::response::Response;
use dsrs::problem::Problems;

use crate::evaluation::id_of;
use crate::form::{Form, encoded, see};
use crate::visitor::Visitor;
use dsrs_api::dataset::{ExpectedOutputs, FromRunsRequest};
use dsrs_app::{AnswerBuilder, ResumeRequest};
use dsrs_http::ApiProblem;
use dsrs_store::graph::VersionSelection;

pub(crate) use crate::run::signal::signal;

/// `POST /runs/{id}/cancel`.
pub(crate) async fn cancel(
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    visitor.app.job_cancel::<dsrs_app::BackgroundRuns>(&visitor.scope, id).await?;
    Ok(see(&format!("/runs/{id}")))
}

/// `POST /runs/{id}/resume`: with the versions of the run, or with the newest.
pub(crate) async fn resume(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    let number = |name: &str| form.given(name).and_then(|text| text.parse().ok());
    let request = ResumeRequest {
        pick: VersionSelection {
            version: number("version"),
            state_version: number("state_version"),
        },
        timeout: None,
        request_id: visitor.request_id.clone(),
        faults: Problems::new(),
    };
    let resumed = visitor.app.run_resume(&visitor.scope, id, request, AnswerBuilder::none());
    Box::pin(resumed).await?;
    Ok(see(&format!("/runs/{id}")))
}

/// `POST /runs/{id}/example`: appends the run to a dataset.
pub(crate) async fn make_example(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    let name = form.text("dataset").trim();
    let request = FromRunsRequest {
        runs: vec![id.to_string()],
        expected: match form.text("expected") {
            "none" => ExpectedOutputs::None,
            "corrected" => ExpectedOutputs::Corrected,
            _ => ExpectedOutputs::Outputs,
        },
        ..FromRunsRequest::default()
    };
    let request = (request, Problems::new());
    Box::pin(visitor.app.dataset_from_runs(&visitor.scope, name, request)).await?;
    Ok(see(&format!("/datasets/{}", encoded(name))))
}
