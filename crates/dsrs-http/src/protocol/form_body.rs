//! The bodies of HTML forms: counted like all bodies, and read like queries. Knows no form.

use axum::extract::{FromRef, Request};

use crate::protocol::body::{BodyLimit, receive_within, too_large};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::Query;

/// The fields of a form, in their order.
///
/// # Errors
/// If the body is too large, too slow, or not percent-encoded UTF-8.
pub async fn form_fields<S>(
    request: Request,
    state: &S,
) -> Result<Vec<(String, String)>, ApiProblem>
where
    BodyLimit: FromRef<S>,
{
    let limit = BodyLimit::from_ref(state);
    let (bytes, _memory) = receive_within(request, &limit).await?;
    if bytes.len() > limit.bytes {
        return Err(too_large(limit.bytes, "limits.body_bytes"));
    }
    let text = String::from_utf8(bytes.to_vec());
    let text = text.map_err(|_| ApiProblem::parameter("the form is not percent-encoded UTF-8"))?;
    Query::parse(&text).into_fields()
}
