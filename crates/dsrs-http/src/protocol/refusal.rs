//! Errors of the app as problems of the status table.

use std::sync::Arc;

use dsrs::problem::Problems;

use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;
use dsrs_app::{AppError, Invalid, ParseFailure, RunFailure, whole_seconds};

impl From<AppError> for ApiProblem {
    fn from(error: AppError) -> Self {
        let detail = error.to_string();
        match error {
            AppError::NotFound(_) => Self::new(ProblemCode::NotFound, detail),
            AppError::Forbidden(_) => Self::new(ProblemCode::Forbidden, detail),
            AppError::AlreadyExists(_) => Self::new(ProblemCode::AlreadyExists, detail),
            AppError::Stale => Self::new(ProblemCode::PreconditionFailed, detail),
            AppError::Invalid { what, problems } => invalid(what, problems),
            AppError::Parse(misread) => misread_problem(*misread),
            AppError::StateMismatch(_) => Self::new(ProblemCode::StateMismatch, detail),
            AppError::RunFinished(_) => Self::new(ProblemCode::RunFinished, detail),
            AppError::RunArchived(_) => Self::new(ProblemCode::RunArchived, detail),
            AppError::NotWaiting(_) => Self::new(ProblemCode::NodeNotWaiting, detail),
            AppError::RunUnfinished(_) => Self::new(ProblemCode::RunUnfinished, detail),
            AppError::NotComparable(_) => Self::new(ProblemCode::NotComparable, detail),
            AppError::NothingFound(_) => Self::new(ProblemCode::NothingFound, detail),
            AppError::Superseded(_) => Self::new(ProblemCode::PreconditionFailed, detail),
            AppError::KeyTaken => {
                Self::new(ProblemCode::IdempotencyInProgress, detail).retry_after(1)
            }
            AppError::TooBusy(_) => Self::new(ProblemCode::RateLimited, detail).retry_after(1),
            AppError::Unavailable(_) => Self::new(ProblemCode::Unavailable, detail).retry_after(1),
            AppError::Internal(cause) => {
                tracing::error!(cause, "a fault of ours");
                let detail = "an internal error occurred; the log has details";
                Self::new(ProblemCode::Internal, detail)
            }
        }
    }
}

fn invalid(what: Invalid, problems: Problems) -> ApiProblem {
    let code = match what {
        Invalid::Request => ProblemCode::InvalidRequest,
        Invalid::Graph => ProblemCode::InvalidGraph,
        Invalid::Input => ProblemCode::InvalidInput,
        Invalid::State => ProblemCode::InvalidState,
        Invalid::Name => ProblemCode::NameMismatch,
    };
    ApiProblem::of(code, problems)
}

/// The problem of a text that cannot be parsed.
fn misread_problem(misread: ParseFailure) -> ApiProblem {
    let code = match misread.constraint {
        Some(_) => ProblemCode::ConstraintFailed,
        None => ProblemCode::ParseError,
    };
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
