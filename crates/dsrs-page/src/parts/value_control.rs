//! How a person fills in a value of a type: a text area for texts, a choice for enums, rows for lists, a group for
//! classes, JSON for the rest. Knows types, but no form.

use dsrs::types::{Class, Literal, TypeDef, TypeDefs, TypeIR};
use serde_json::Value;

/// Classes and lists within each other that get fields of their own; deeper ones are JSON.
const DEEPEST: usize = 4;

/// How a person fills in a value.
pub(super) enum Control<'t> {
    Text,
    Number {
        is_whole: bool,
    },
    Bool,
    Choice(Vec<Value>),
    /// A list: a row for each item of this type.
    Rows(&'t TypeIR),
    Group(&'t Class),
    Json,
}

/// The control of a type, and whether it may be null.
pub(super) fn control<'t>(ty: &'t TypeIR, defs: &'t TypeDefs, depth: usize) -> (Control<'t>, bool) {
    match ty {
        TypeIR::Str => (Control::Text, false),
        TypeIR::Int => (Control::Number { is_whole: true }, false),
        TypeIR::Float => (Control::Number { is_whole: false }, false),
        TypeIR::Bool => (Control::Bool, false),
        TypeIR::Literal(literal) => (Control::Choice(vec![literal_value(literal)]), false),
        TypeIR::List(element) if depth < DEEPEST => match control(element, defs, depth + 1).0 {
            Control::Json => (Control::Json, false),
            _ => (Control::Rows(element), false),
        },
        TypeIR::Union(members) => union_control(members, defs, depth),
        TypeIR::Class(class) if depth < DEEPEST => (Control::Group(class), false),
        TypeIR::Named(name) if depth < DEEPEST => match defs.get(name) {
            Some(TypeDef::Class(class)) => (Control::Group(class), false),
            Some(TypeDef::Enum(found)) => (
                Control::Choice(
                    found.members.keys().map(|name| Value::from(name.as_ref())).collect(),
                ),
                false,
            ),
            Some(TypeDef::Alias(alias)) => control(alias, defs, depth + 1),
            None => (Control::Json, false),
        },
        _ => (Control::Json, false),
    }
}

fn union_control<'t>(
    members: &'t [TypeIR],
    defs: &'t TypeDefs,
    depth: usize,
) -> (Control<'t>, bool) {
    let is_optional = members.last() == Some(&TypeIR::Null);
    let others =
        if is_optional { members.split_last().map_or(members, |(_, rest)| rest) } else { members };
    let literals: Option<Vec<Value>> = others
        .iter()
        .map(|member| match member {
            TypeIR::Literal(literal) => Some(literal_value(literal)),
            _ => None,
        })
        .collect();
    match (literals, others) {
        (Some(values), _) => (Control::Choice(values), is_optional),
        (None, [one]) => (control(one, defs, depth).0, is_optional),
        _ => (Control::Json, is_optional),
    }
}

fn literal_value(literal: &Literal) -> Value {
    match literal {
        Literal::Str(text) => Value::from(text.as_ref()),
        Literal::Int(number) => Value::from(*number),
        Literal::Bool(truth) => Value::from(*truth),
    }
}
