//! The reasons "expected …, found …", in words that an LM understands.

use std::sync::Arc;

use super::notes::FitError;
use crate::coerce::loose::{Loose, LooseShape as Data};
use crate::coerce::shorten;
use crate::types::{Enum, Literal, ResolvedType, TypeShape};

/// How many names a reason lists.
const NAMED: usize = 20;

/// The error for data of another type.
pub(super) fn expected_type(node: &ResolvedType<'_>, found: &Loose<'_>) -> FitError {
    expected(&wanted(node), found)
}

pub(super) fn expected(wanted: &str, found: &Loose<'_>) -> FitError {
    FitError::new(format!("expected {wanted}, found {}", describe(found)))
}

fn describe(found: &Loose<'_>) -> String {
    match &found.shape {
        Data::Map(_) => "an object".to_owned(),
        Data::List(items) if items.len() > 1 => format!("a list of {}", items.len()),
        Data::List(items) if items.is_empty() => "an empty list".to_owned(),
        Data::List(_) => "a list".to_owned(),
        Data::Missing => "nothing".to_owned(),
        Data::TooDeep => "something nested too deeply".to_owned(),
        Data::Quoted(text) if text.trim().is_empty() => "an empty text".to_owned(),
        Data::Bare("") => "nothing".to_owned(),
        Data::Quoted(text) => format!("`{}`", shorten(text)),
        Data::Bare(text) => format!("`{}`", shorten(text)),
    }
}

/// Describes a type.
fn wanted(node: &ResolvedType<'_>) -> String {
    let mut names: Vec<&Arc<str>> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    let alone = std::slice::from_ref(node);
    let members = if let TypeShape::Union(members) = &node.shape { members } else { alone };
    for member in members {
        match &member.shape {
            TypeShape::Enum(known) => names.extend(seen_names(known)),
            TypeShape::Literal(Literal::Str(name)) => names.push(name),
            other => others.push(word(other)),
        }
    }
    others.dedup();
    if !names.is_empty() {
        others.insert(0, one_of(&names));
    }
    others.join(" or ")
}

fn word(shape: &TypeShape<'_>) -> String {
    let fixed = match shape {
        TypeShape::Str => "a text",
        TypeShape::Int => "a whole number",
        TypeShape::Float => "a number",
        TypeShape::Bool => "true or false",
        TypeShape::Null => "null",
        TypeShape::Bytes => "base64",
        TypeShape::List(_) => "a list",
        TypeShape::Dict(_) | TypeShape::Class(_) => "an object",
        TypeShape::Tuple(parts) => return format!("a list of {} values", parts.len()),
        TypeShape::Literal(literal) => return literal.to_string(),
        _ => "anything",
    };
    fixed.to_owned()
}

/// The members of an enum, as shown to the LM.
fn seen_names(known: &Enum) -> impl Iterator<Item = &Arc<str>> {
    known.members.iter().map(|(name, member)| member.alias.as_ref().unwrap_or(name))
}

fn one_of(names: &[&Arc<str>]) -> String {
    let mut list: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    if names.len() > NAMED {
        list.push(format!("{} more", names.len() - NAMED));
    }
    let list = list.join(", ");
    if names.len() == 1 { list } else { format!("one of {list}") }
}
