//! Errors of the app as problems of the status table.

use std::sync::Arc;

use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;
use dsrs_app::{AppError, ParseFailure, RunFailure, whole_seconds};

impl From<AppError> for ApiProblem {
    fn from(error: AppError) -> Self {
        let (code, detail, retry_after) = (error.code(), error.detail(), error.retry_after());
        let problem = match error {
            AppError::Invalid { problems, .. } => Self::of(code, problems),
            AppError::Parse(misread) => misread_problem(code, *misread),
            AppError::Internal(cause) => {
                tracing::error!(cause, "a fault of ours");
                Self::new(code, detail)
            }
            _ => Self::new(code, detail),
        };
        match retry_after {
            Some(seconds) => problem.retry_after(seconds),
            None => problem,
        }
    }
}

/// The problem of a text that cannot be parsed.
fn misread_problem(code: ProblemCode, misread: ParseFailure) -> ApiProblem {
    ApiProblem::new(code, misread.detail).with(|view| {
        view.field = misread.field.map(Into::into);
        view.path = misread.path.map(Into::into);
        view.reason = misread.reason.map(Into::into);
        view.constraint = misread.constraint.map(Into::into);
        view.report = Some(misread.report.to_json().into());
    })
}

/// The problem of a failed run.
pub(crate) fn run_problem(failure: &RunFailure) -> ApiProblem {
    let code = ProblemCode::named(failure.code).unwrap_or(ProblemCode::Internal);
    let seconds = failure.retry_after.map(whole_seconds);
    let text = |member: &Option<Arc<str>>| member.as_deref().map(|text| text.to_owned().into());
    let problem = ApiProblem::new(code, failure.detail.clone()).with(|view| {
        view.run_id = Some(failure.run_id);
        view.node = text(&failure.node);
        view.predictor = failure.predictor.clone().map(Into::into);
        view.field = text(&failure.field);
        view.reason = text(&failure.reason);
        view.raw = text(&failure.raw);
        view.report = failure.report.as_ref().map(|report| report.to_json().into());
        view.retry_after = seconds;
        view.unmeasured = failure.is_unmeasured.then_some(true);
    });
    match seconds {
        Some(seconds) => problem.retry_after(seconds),
        None => problem,
    }
}
