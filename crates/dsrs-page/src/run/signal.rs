//! `POST /runs/{id}/signal`: the value that a run waits for.

use axum::extract::Path;
use axum::response::Response;
use dsrs::problem::Problems;
use dsrs::value::Payload;
use serde_json::{Map, Value, json};

use crate::evaluation::id_of;
use crate::form::{Form, see};
use crate::parts::value_form::ValueField;
use crate::run::signal_form::{AskedCall, RefusedSignal, asked_calls, fields};
use crate::run::view::{RunFocus, show};
use crate::visitor::Visitor;
use dsrs_app::{AnswerBuilder, SignalRequest};
use dsrs_http::ApiProblem;

/// `POST /runs/{id}/signal`.
pub(crate) async fn signal(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    let run = visitor.app.run_get(&visitor.scope, id).await?;
    let program = visitor.app.recorded_program(&visitor.scope, &run).await?;
    let node = form.text("node");
    let calls = asked_calls(&run, node);
    let found = program.graph().node(node);
    let fields = found.map(|found| fields(&program, found, &calls)).unwrap_or_default();
    let value: Map<String, Value> = fields
        .iter()
        .filter_map(|field| Some((field.name.to_owned(), field.read(&form)?)))
        .collect();
    let sent = match calls.as_slice() {
        [] => value.clone(),
        calls => results(calls, &fields, &form),
    };
    let payload = Payload::from_json(&Value::Object(sent).to_string())
        .map_err(|error| ApiProblem::parameter(error.to_string()))?;
    let request = SignalRequest { node: node.into(), value: payload, faults: Problems::new() };
    let signalled = visitor.app.run_signal(&visitor.scope, id, request, AnswerBuilder::none());
    match Box::pin(signalled).await.map_err(ApiProblem::from) {
        Ok(_) => Ok(see(&format!("/runs/{id}"))),
        Err(problem) if problem.items().iter().any(|item| item.pointer.starts_with("/value")) => {
            let status = problem.status();
            let refused = Some(RefusedSignal { node, value, problem });
            let mut response =
                show(&visitor, id, &RunFocus { refused, ..RunFocus::default() }).await?;
            *response.status_mut() = status;
            Ok(response)
        }
        Err(problem) => Err(problem),
    }
}

/// The answers to the calls of an agent, by id.
fn results(calls: &[AskedCall], fields: &[ValueField<'_>], form: &Form) -> Map<String, Value> {
    let result = |(call, field): (&AskedCall, &ValueField<'_>)| {
        let result = field.read(form).unwrap_or_default();
        (call.id.clone(), json!({"result": result}))
    };
    calls.iter().zip(fields).map(result).collect()
}
