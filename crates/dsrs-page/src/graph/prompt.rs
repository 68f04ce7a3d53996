//! The prompt of a node as it would be sent: a form for its inputs, and the messages. No model is called.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::problem::{At, Problems};
use dsrs::signature::{FieldSchema, SignatureSchema};
use dsrs::types::TypeDefs;
use dsrs::value::{Map, Payload};
use maud::{Markup, html};
use serde_json::Value;

use crate::graph::selection::GraphSelection;
use crate::parts::messages::message_of;
use crate::parts::typed_field::{empty_text, typed_field, typed_value};
use crate::parts::values::plain;

/// The inputs of a node, as texts of the form.
pub(super) struct PromptInputs {
    fields: Vec<(FieldSchema, String)>,
    defs: Arc<TypeDefs>,
}

impl PromptInputs {
    /// What was typed; else what the node last received; else an empty value of the type.
    pub(super) fn of(
        schema: &SignatureSchema,
        selection: &GraphSelection,
        last: Option<&serde_json::Map<String, Value>>,
    ) -> Self {
        let text = |field: &FieldSchema| {
            let typed = selection.input(&field.name).map(str::to_owned);
            let last = || last.and_then(|last| last.get(field.name.as_ref())).map(plain);
            typed.or_else(last).unwrap_or_else(|| empty_text(&field.ty, &schema.defs))
        };
        let fields = schema.inputs.iter().map(|field| (field.clone(), text(field))).collect();
        Self { fields, defs: schema.defs.clone() }
    }

    /// The inputs as values.
    fn payload(&self) -> Payload {
        let members = self
            .fields
            .iter()
            .map(|(field, text)| (field.name.clone(), typed_value(text, &field.ty)));
        Payload::map(members.collect::<Map>())
    }

    /// The same as JSON, for the API.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.payload().to_json()).unwrap_or_default()
    }
}

/// The form, and the messages for what is in it.
pub(super) fn prompt(
    program: &Program,
    (node, path): (&str, &str),
    selection: &GraphSelection,
    inputs: &PromptInputs,
    action: &str,
) -> Markup {
    html! {
        form.fields.prompt-inputs action=(action) method="post" data-live="#prompt" {
            @if let Some(version) = selection.version { input type="hidden" name="version" value=(version); }
            @if !selection.open.is_empty() { input type="hidden" name="open" value=(selection.open_field()); }
            input type="hidden" name="node" value=(path);
            @for (field, text) in &inputs.fields { (typed_field(&GraphSelection::field_of(&field.name), field, text, &inputs.defs)) }
            noscript { button type="submit" { "Render" } }
        }
        div #prompt aria-live="polite" { (messages(program, node, inputs)) }
    }
}

fn messages(program: &Program, node: &str, inputs: &PromptInputs) -> Markup {
    let mut problems = Problems::new();
    let rendered = program.render(node, &inputs.payload(), &At::Root, &mut problems);
    let rendered = rendered.filter(|_| problems.is_empty());
    html! {
        @match rendered {
            None => ul.problems {
                @for problem in problems.iter() {
                    li { code { (problem.pointer.trim_start_matches("/inputs/")) } ": " (problem.detail) }
                }
            },
            Some(rendered) if rendered.is_empty() => p.muted {
                "Its predictors need values that only a run has."
            },
            Some(rendered) => {
                @for (path, messages) in &rendered {
                    @if rendered.len() > 1 { h4.mono { (path) } }
                    @for message in messages { (message_of(message)) }
                }
            },
        }
    }
}
