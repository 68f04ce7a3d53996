//! The prompt of a draft as it would be sent, beside its editor. No model is called.

use dsrs::graph::Program;
use dsrs::problem::{At, Problems};
use dsrs::signature::SignatureSchema;
use dsrs::value::{Map, Payload};
use maud::{Markup, html};

use crate::form::Form;
use crate::parts::messages::message_of;
use crate::parts::typed_field::{empty_text, typed_field, typed_value};
use crate::parts::values::plain;

/// The prefix of the fields of inputs.
const INPUT: &str = "in.";

/// The inputs of a node as texts of the form.
pub(super) struct PromptFields<'s> {
    schema: &'s SignatureSchema,
    texts: Vec<String>,
}

impl<'s> PromptFields<'s> {
    /// What was typed; else what the node last received; else an empty value of the type.
    pub(super) fn of(
        schema: &'s SignatureSchema,
        form: &Form,
        last: Option<&serde_json::Map<String, serde_json::Value>>,
    ) -> Self {
        let typed =
            |name: &str| form.iter().find(|(found, _)| *found == name).map(|(_, text)| text);
        let texts = schema.inputs.iter().map(|field| {
            let typed =
                typed(&format!("{INPUT}{}", field.name)).map(|text| text.replace("\r\n", "\n"));
            let last = || last.and_then(|last| last.get(field.name.as_ref())).map(plain);
            typed.or_else(last).unwrap_or_else(|| empty_text(&field.ty, &schema.defs))
        });
        Self { schema, texts: texts.collect() }
    }

    /// The inputs as values.
    pub(super) fn payload(&self) -> Payload {
        let fields = self.schema.inputs.iter().zip(&self.texts);
        let members =
            fields.map(|(field, text)| (field.name.clone(), typed_value(text, &field.ty)));
        Payload::map(members.collect::<Map>())
    }

    pub(super) fn show(&self) -> Markup {
        html! {
            div.fields.prompt-inputs {
                @for (field, text) in self.schema.inputs.iter().zip(&self.texts) {
                    (typed_field(&format!("{INPUT}{}", field.name), field, text, &self.schema.defs))
                }
            }
        }
    }
}

/// The messages of one predictor of a node.
pub(super) fn rendered(
    program: &Program,
    (node, path): (&str, &str),
    inputs: &PromptFields<'_>,
) -> Markup {
    let mut problems = Problems::new();
    let found = program.render(node, &inputs.payload(), &At::Root, &mut problems);
    let messages = found.filter(|_| problems.is_empty()).map(|mut found| found.swap_remove(path));
    html! {
        @match messages {
            None => ul.problems {
                @for problem in problems.iter() { li { code { (problem.pointer.trim_start_matches("/inputs/")) } ": " (problem.detail) } }
            },
            Some(None) => p.muted { "It needs values that only a run has, so that its prompt cannot be shown without one." },
            Some(Some(messages)) => @for message in &messages { (message_of(message)) },
        }
    }
}
