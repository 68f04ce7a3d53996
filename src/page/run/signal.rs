//! The form for the value that a run waits for, by the types of the node.

use axum::extract::Path;
use axum::response::Response;
use dsrs::graph::{Node, Program};
use dsrs::problem::Problems;
use dsrs::value::Payload;
use maud::{Markup, html};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::app::{AnswerBuilder, SignalRequest};
use crate::http::ApiProblem;
use crate::page::evaluation::id_of;
use crate::page::form::{Form, see};
use crate::page::parts::value_form::ValueField;
use crate::page::visitor::Visitor;
use crate::store::run::RunRow;

/// `POST /runs/{id}/signal`.
pub(in crate::page) async fn signal(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    let run = visitor.app.run_get(&visitor.scope, id).await?;
    let program = visitor.app.recorded_program(&visitor.scope, &run).await?;
    let node = form.text("node");
    let fields =
        program.graph().node(node).map(|found| fields(&program, found)).unwrap_or_default();
    let value: Map<String, Value> = fields
        .iter()
        .filter_map(|field| Some((field.name.to_owned(), field.read(&form)?)))
        .collect();
    let value = Payload::from_json(&Value::Object(value).to_string())
        .map_err(|error| ApiProblem::parameter(error.to_string()))?;
    let request = SignalRequest { node: node.into(), value, faults: Problems::new() };
    let signalled = visitor.app.run_signal(&visitor.scope, id, request, AnswerBuilder::none());
    Box::pin(signalled).await?;
    Ok(see(&format!("/runs/{id}")))
}

fn fields<'p>(program: &'p Program, node: &'p Node) -> Vec<ValueField<'p>> {
    let outputs = &node.schema().outputs;
    let field = |field: &'p dsrs::signature::FieldSchema| ValueField {
        pointer: format!("/value/{}", field.name),
        name: &field.name,
        ty: &field.ty,
        defs: program.graph().defs(),
        description: field.description.as_deref(),
        has_default: field.default.is_some(),
    };
    outputs.iter().map(field).collect()
}

/// A form for each node that waits.
pub(super) async fn forms(visitor: &Visitor, run: &RunRow) -> Result<Markup, ApiProblem> {
    let waiting = waiting(run);
    if waiting.is_empty() {
        return Ok(html! {});
    }
    let program = visitor.app.recorded_program(&visitor.scope, run).await?;
    let nodes = waiting.iter().filter_map(|name| Some((name, program.graph().node(name)?)));
    Ok(html! {
        @for (name, node) in nodes { (form(run.id, name, &fields(&program, node))) }
    })
}

fn form(run: Uuid, node: &str, fields: &[ValueField<'_>]) -> Markup {
    html! {
        section.panel.signal {
            header { h2 { code { (node) } " waits for a value" } }
            form.body action={ "/runs/" (run) "/signal" } method="post" {
                input type="hidden" name="node" value=(node);
                @for field in fields { (field.show(None, &|_| None)) }
                div.actions { button.primary type="submit" { "Send and continue" } }
            }
        }
    }
}

/// The nodes that wait.
fn waiting(run: &RunRow) -> Vec<String> {
    let nodes: Map<String, Value> = serde_json::from_str(&run.nodes).unwrap_or_default();
    let waits = |(name, node): (String, Value)| (node.get("status")? == "waiting").then_some(name);
    nodes.into_iter().filter_map(waits).collect()
}
