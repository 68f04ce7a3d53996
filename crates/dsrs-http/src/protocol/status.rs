//! HTTP statuses of problem codes. Knows nothing of the code that raises them.

use axum::http::StatusCode;
pub use dsrs_api::problem_code::ProblemCode;

/// The HTTP status of the answer with a problem.
pub(crate) fn status_of(code: ProblemCode) -> StatusCode {
    StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The code that best says what a bare status means, for answers of the framework itself.
pub(crate) fn code_of(status: StatusCode) -> ProblemCode {
    match status {
        StatusCode::UNPROCESSABLE_ENTITY => ProblemCode::InvalidRequest,
        StatusCode::BAD_REQUEST => ProblemCode::InvalidParameter,
        StatusCode::CONFLICT => ProblemCode::AlreadyExists,
        _ => {
            let fits = |code: &ProblemCode| code.status() == status.as_u16();
            ProblemCode::ALL.iter().copied().find(fits).unwrap_or(ProblemCode::Internal)
        }
    }
}
