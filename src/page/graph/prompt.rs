//! The prompt of a node as it would be sent: a form for its inputs, and the messages. No model is called.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::lm::{Message, Role};
use dsrs::problem::{At, Problems};
use dsrs::signature::{FieldSchema, SignatureSchema};
use dsrs::types::{Literal, TypeDef, TypeDefs, TypeIR};
use dsrs::value::{Map, Payload};
use maud::{Markup, html};
use serde_json::Value;

use crate::page::graph::selection::GraphSelection;
use crate::page::parts::values::plain;

/// The longest list of choices.
const MOST_CHOICES: usize = 200;

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
        let members =
            self.fields.iter().map(|(field, text)| (field.name.clone(), value(text, &field.ty)));
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
            @for (field, text) in &inputs.fields { (control(field, text, &inputs.defs)) }
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

fn message_of(message: &Message) -> Markup {
    let (class, role) = match message.role {
        Role::System => ("message system", "system"),
        Role::User => ("message user", "user"),
        Role::Assistant => ("message assistant", "assistant"),
        Role::Tool => ("message tool", "tool"),
    };
    html! {
        article class=(class) { h5 { (role) } pre.text tabindex="0" { (message.content) } }
    }
}

fn control(field: &FieldSchema, text: &str, defs: &TypeDefs) -> Markup {
    let name = GraphSelection::field_of(&field.name);
    let choices = choices(&field.ty, defs);
    html! {
        label {
            span { (field.name) " " code.small.muted { (field.ty) } }
            @if let Some(choices) = choices {
                select name=(name) {
                    @if !choices.iter().any(|choice| choice == text) { option value=(text) selected { (text) } }
                    @for choice in &choices { option value=(choice) selected[choice == text] { (choice) } }
                }
            } @else if matches!(field.ty, TypeIR::Int | TypeIR::Float) {
                input name=(name) value=(text) inputmode="decimal" autocomplete="off";
            } @else {
                textarea.mono[!matches!(field.ty, TypeIR::Str)] name=(name) rows="2" spellcheck="false" { (text) }
            }
        }
    }
}

/// The values of a type that has few.
fn choices(ty: &TypeIR, defs: &TypeDefs) -> Option<Vec<String>> {
    let found: Vec<String> = match ty {
        TypeIR::Bool => vec!["true".to_owned(), "false".to_owned()],
        TypeIR::Named(name) => match defs.get(name)? {
            TypeDef::Enum(known) => known.members.keys().map(ToString::to_string).collect(),
            TypeDef::Class(_) | TypeDef::Alias(_) => return None,
        },
        TypeIR::Union(members) => {
            let text = |member: &TypeIR| match member {
                TypeIR::Literal(Literal::Str(text)) => Some(text.to_string()),
                _ => None,
            };
            members.iter().map(text).collect::<Option<_>>()?
        }
        _ => return None,
    };
    (found.len() <= MOST_CHOICES).then_some(found)
}

/// What is typed into a field of this type: text as it is, everything else as JSON.
fn value(text: &str, ty: &TypeIR) -> Payload {
    let is_optional = matches!(ty, TypeIR::Union(members) if members.contains(&TypeIR::Null));
    match ty {
        TypeIR::Str => Payload::str(text),
        _ if is_optional && text.is_empty() => Payload::Null,
        _ => Payload::from_json(text).unwrap_or_else(|_| Payload::str(text)),
    }
}

/// An empty value of a type, as it is typed.
fn empty_text(ty: &TypeIR, defs: &TypeDefs) -> String {
    if let Some(first) = choices(ty, defs).and_then(|choices| choices.into_iter().next()) {
        return first;
    }
    match ty {
        TypeIR::Union(members) if members.contains(&TypeIR::Null) => String::new(),
        _ => plain(&empty_value(ty, defs, 0)),
    }
}

fn empty_value(ty: &TypeIR, defs: &TypeDefs, depth: usize) -> Value {
    if depth > 6 {
        return Value::Null;
    }
    let within = |ty: &TypeIR| empty_value(ty, defs, depth + 1);
    match ty {
        TypeIR::Str | TypeIR::Bytes => "".into(),
        TypeIR::Int => 0.into(),
        TypeIR::Float => 0.0.into(),
        TypeIR::Bool => false.into(),
        TypeIR::Null | TypeIR::Any | TypeIR::Error => Value::Null,
        TypeIR::Literal(literal) => serde_json::from_str(&literal.to_string()).unwrap_or_default(),
        TypeIR::List(_) => Value::Array(Vec::new()),
        TypeIR::Dict(_) => Value::Object(serde_json::Map::new()),
        TypeIR::Tuple(parts) => parts.iter().map(within).collect(),
        TypeIR::Union(members) => members.first().map_or(Value::Null, within),
        TypeIR::Class(class) => {
            class.fields.iter().map(|(name, field)| (name.to_string(), within(&field.ty))).collect()
        }
        TypeIR::Named(name) => match defs.get(name) {
            Some(TypeDef::Class(class)) => {
                let member = |(name, field): (&_, &dsrs::types::ClassField)| {
                    (std::string::ToString::to_string(name), within(&field.ty))
                };
                class.fields.iter().map(member).collect()
            }
            Some(TypeDef::Enum(known)) => {
                known.members.keys().next().map_or(Value::Null, |name| name.to_string().into())
            }
            Some(TypeDef::Alias(ty)) => within(ty),
            None => Value::Null,
        },
    }
}
