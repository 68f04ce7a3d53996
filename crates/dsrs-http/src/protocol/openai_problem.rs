//! Problems in the format of OpenAI's API, for its clients: the same problem that other routes answer as
//! `application/problem+json`. Knows no route but the prefix of theirs.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::protocol::caller::REQUEST_ID;
use crate::protocol::problem::{AnsweredProblem, ApiProblem};
use crate::protocol::problem_view::ProblemItemView;
use crate::protocol::status::ProblemCode;

/// Where the routes of this protocol begin.
pub(crate) const PREFIX: &str = "/openai/";

/// An error in the format of OpenAI.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OpenAiError {
    /// The error.
    pub error: OpenAiErrorBody,
}

/// A problem, as clients of OpenAI read it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OpenAiErrorBody {
    /// An explanation for people, with the places of all problems.
    pub message: String,
    /// `invalid_request_error`, `authentication_error`, `rate_limit_error` or `server_error`.
    pub r#type: &'static str,
    /// The place of the first problem in the body, such as `messages[0].content[1]`.
    pub param: Option<String>,
    /// The code of the problem ([`/problems`](/problems)).
    pub code: String,
}

/// Replaces a problem by an error of this protocol.
pub(crate) fn shown(answer: Response) -> Response {
    let Some(AnsweredProblem(problem)) = answer.extensions().get::<AnsweredProblem>() else {
        return answer;
    };
    let status = status_of(problem, answer.status());
    let mut error = (status, Json(error_of(problem))).into_response();
    for name in [REQUEST_ID, header::RETRY_AFTER, header::ALLOW] {
        if let Some(value) = answer.headers().get(&name) {
            error.headers_mut().insert(name, value.clone());
        }
    }
    error
}

/// The status as clients of this protocol expect it: what a request asks for is refused with 400.
fn status_of(problem: &ApiProblem, status: StatusCode) -> StatusCode {
    match problem.code() {
        ProblemCode::InvalidRequest | ProblemCode::InvalidInput => StatusCode::BAD_REQUEST,
        _ => status,
    }
}

/// A problem as an error of this protocol.
pub(crate) fn error_of(problem: &ApiProblem) -> OpenAiError {
    let places: Vec<String> = problem.items().iter().map(located).collect();
    let message = if places.is_empty() { problem.detail().to_owned() } else { places.join("; ") };
    let param = problem.items().first().map(|item| place_of(&item.pointer));
    OpenAiError {
        error: OpenAiErrorBody {
            message,
            r#type: kind_of(problem.status()),
            param: param.filter(|place| !place.is_empty()),
            code: problem.code().as_str().to_owned(),
        },
    }
}

/// What is wrong, after its place.
fn located(item: &ProblemItemView<'_>) -> String {
    match place_of(&item.pointer) {
        place if place.is_empty() => item.detail.to_string(),
        place => format!("`{place}`: {}", item.detail),
    }
}

/// A JSON Pointer as clients of this protocol write a place: `/messages/0/content` is `messages[0].content`.
fn place_of(pointer: &str) -> String {
    let mut place = String::new();
    for step in pointer.split('/').skip(1) {
        match step.parse::<u32>() {
            Ok(index) => place.push_str(&format!("[{index}]")),
            Err(_) => {
                let dot = if place.is_empty() { "" } else { "." };
                place.push_str(dot);
                place.push_str(&step.replace("~1", "/").replace("~0", "~"));
            }
        }
    }
    place
}

fn kind_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "authentication_error",
        StatusCode::TOO_MANY_REQUESTS | StatusCode::PAYMENT_REQUIRED => "rate_limit_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "server_error",
    }
}
