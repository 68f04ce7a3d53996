//! The labels of a run that a client of OpenAI's API starts: `user` and `metadata` of its request. Knows no protocol.

use dsrs::problem::{At, Problems};
use dsrs::value::Payload;
use serde_json::Value;

use crate::protocol::label_headers::LabelHeaders;
use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;
use dsrs_app::run_labels::{label_id, metadata};
use dsrs_store::run_label::RunLabels;

/// Reads the labels of a request. Those of its headers fill in what it leaves out.
pub(super) fn chat_labels(
    user: &Value,
    members: &Value,
    headers: LabelHeaders,
) -> Result<RunLabels, ApiProblem> {
    let mut problems = Problems::new();
    let user_id = payload(user).and_then(|user| {
        // Clients send an empty text for no user.
        let is_empty = user.as_str().is_some_and(str::is_empty);
        if is_empty { None } else { label_id(&user, &At::Root.key("user"), &mut problems) }
    });
    let metadata = payload(members)
        .and_then(|found| metadata(&found, &At::Root.key("metadata"), &mut problems));
    if !problems.is_empty() {
        return Err(ApiProblem::of(ProblemCode::InvalidRequest, problems));
    }
    Ok(headers.or_body(RunLabels { user_id, metadata, ..RunLabels::default() }))
}

fn payload(value: &Value) -> Option<Payload> {
    let found = Payload::from_json(&value.to_string()).ok();
    found.filter(|found| !found.is_null())
}
