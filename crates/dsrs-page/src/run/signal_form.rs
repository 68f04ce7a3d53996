//! The form for the value that a run waits for: by the types of the node, or a result for each call of an agent.

use dsrs::graph::{Node, Program};
use dsrs::types::TypeIR;
use maud::{Markup, html};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::parts::value_form::{FieldProblems, ValueField};
use crate::visitor::Visitor;
use dsrs_http::ApiProblem;
use dsrs_store::run::RunRow;

/// A value that does not fit the node that waits for it.
pub(super) struct RefusedSignal<'f> {
    pub(super) node: &'f str,
    pub(super) value: Map<String, Value>,
    pub(super) problem: ApiProblem,
}

/// A call of a tool that an agent waits for.
pub(super) struct AskedCall {
    pub(super) id: String,
    /// The tool with its arguments.
    text: String,
}

/// The calls that a node waits for, if it is an agent.
pub(super) fn asked_calls(run: &RunRow, node: &str) -> Vec<AskedCall> {
    let nodes: Map<String, Value> = serde_json::from_str(&run.nodes).unwrap_or_default();
    let calls = nodes.get(node).and_then(|node| node.get("calls")?.as_array());
    let call = |call: &Value| {
        let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
        let arguments = call.get("arguments").unwrap_or(&Value::Null);
        AskedCall { id: text("id").to_owned(), text: format!("{} {arguments}", text("tool")) }
    };
    calls.into_iter().flatten().map(call).collect()
}

/// The fields of the value that a node waits for.
pub(super) fn fields<'p>(
    program: &'p Program,
    node: &'p Node,
    calls: &'p [AskedCall],
) -> Vec<ValueField<'p>> {
    match calls {
        [] => outputs(program, node),
        calls => calls.iter().map(|call| result(program, call)).collect(),
    }
}

fn result<'p>(program: &'p Program, call: &'p AskedCall) -> ValueField<'p> {
    ValueField {
        pointer: format!("/value/{}/result", call.id),
        name: &call.text,
        ty: &TypeIR::Any,
        defs: program.graph().defs(),
        description: Some("the result for the agent: a text, or JSON"),
        has_default: false,
    }
}

fn outputs<'p>(program: &'p Program, node: &'p Node) -> Vec<ValueField<'p>> {
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
pub(super) async fn forms(
    visitor: &Visitor,
    run: &RunRow,
    refused: Option<&RefusedSignal<'_>>,
) -> Result<Markup, ApiProblem> {
    let waiting = waiting(run);
    if waiting.is_empty() {
        return Ok(html! {});
    }
    let program = visitor.app.recorded_program(&visitor.scope, run).await?;
    let nodes = waiting
        .iter()
        .filter_map(|name| Some((name, program.graph().node(name)?, asked_calls(run, name))));
    Ok(html! {
        @for (name, node, calls) in nodes {
            (form(run.id, name, &fields(&program, node, &calls), refused.filter(|refused| refused.node == name)))
        }
    })
}

fn form(
    run: Uuid,
    node: &str,
    fields: &[ValueField<'_>],
    refused: Option<&RefusedSignal<'_>>,
) -> Markup {
    let problems = FieldProblems::of(refused.map(|refused| &refused.problem));
    let value = |name: &str| refused.and_then(|refused| refused.value.get(name));
    html! {
        section.panel.signal {
            header { h2 { code { (node) } " waits for a value" } }
            form.body action={ "/runs/" (run) "/signal" } method="post" {
                @if let Some(refused) = refused { p.refusal role="alert" { (refused.problem.code().title()) } }
                input type="hidden" name="node" value=(node);
                @for field in fields { (field.show(value(field.name), &problems)) }
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
