//! Problems, as the OpenAPI document tells them.

use utoipa::ToSchema;
use uuid::Uuid;

use super::parse::Leniency;

/// What went wrong (RFC 9457).
#[derive(ToSchema)]
pub struct Problem {
    /// A URI of the code.
    pub r#type: String,
    /// A short title, the same for every problem of the code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened, for a person.
    pub detail: String,
    /// Stable and machine-readable.
    pub code: String,
    /// All problems found in the body.
    pub errors: Vec<ProblemItem>,
    /// The request's id, as in `X-Request-Id`.
    pub request_id: String,
    /// The run that failed.
    pub run_id: Option<Uuid>,
    /// The node that failed.
    pub node: Option<String>,
    /// The predictor that failed.
    pub predictor: Option<String>,
    /// What the LM answered, to the letter.
    pub raw: Option<String>,
    /// The field that does not fit.
    pub field: Option<String>,
    /// Where in the field's value.
    pub path: Option<String>,
    /// What is wrong with it.
    pub reason: Option<String>,
    /// The label, or the expression, of the constraint that does not hold.
    pub constraint: Option<String>,
    /// The leniencies of the parser so far.
    pub report: Option<Vec<Leniency>>,
    /// Seconds to wait, as in `Retry-After`.
    pub retry_after: Option<u64>,
}

/// One thing that is wrong with a body.
#[derive(ToSchema)]
pub struct ProblemItem {
    /// JSON Pointer into the request body.
    pub pointer: String,
    /// Stable and machine-readable.
    pub code: String,
    /// Names the thing and the way out.
    pub detail: String,
}
