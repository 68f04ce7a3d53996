//! A field of a form for a value of a type of the engine, and the value of the text in it: texts as they are, choices
//! as lists, everything else as JSON. Knows no view.

use dsrs::signature::FieldSchema;
use dsrs::types::{Literal, TypeDef, TypeDefs, TypeIR};
use dsrs::value::Payload;
use maud::{Markup, html};
use serde_json::Value;

use crate::parts::values::plain;

/// The longest list of choices.
const MOST_CHOICES: usize = 200;

/// A field of a form for a value of a type, with its name and its type above it.
pub(crate) fn typed_field(name: &str, field: &FieldSchema, text: &str, defs: &TypeDefs) -> Markup {
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
                textarea.mono[!matches!(field.ty, TypeIR::Str)] name=(name) rows="2" spellcheck="false" { "\n" (text) }
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
pub(crate) fn typed_value(text: &str, ty: &TypeIR) -> Payload {
    let is_optional = matches!(ty, TypeIR::Union(members) if members.contains(&TypeIR::Null));
    match ty {
        TypeIR::Str => Payload::str(text),
        _ if is_optional && text.is_empty() => Payload::Null,
        _ => Payload::from_json(text).unwrap_or_else(|_| Payload::str(text)),
    }
}

/// An empty value of a type, as it is typed.
pub(crate) fn empty_text(ty: &TypeIR, defs: &TypeDefs) -> String {
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
