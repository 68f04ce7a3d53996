//! "expected …, found …", in words that an LM understands and can act on.

use std::sync::Arc;

use super::trail::Misfit;
use crate::coerce::loose::{Loose, Shape as Data};
use crate::coerce::shorten;
use crate::types::{Enum, Literal, ResolvedType, TypeShape};

/// How many names a refusal lists.
const NAMED: usize = 20;

/// That something else is wanted than what was found.
pub(super) fn mismatch(node: &ResolvedType<'_>, found: &Loose<'_>) -> Misfit {
    expected(&wanted(node), found)
}

pub(super) fn expected(wanted: &str, found: &Loose<'_>) -> Misfit {
    Misfit::new(format!("expected {wanted}, found {}", told(found)))
}

fn told(found: &Loose<'_>) -> String {
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

/// A type in words.
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

/// The members of an enum as an LM knows them.
fn seen_names(known: &Enum) -> impl Iterator<Item = &Arc<str>> {
    known.members.iter().map(|(name, member)| member.alias.as_ref().unwrap_or(name))
}

fn one_of(names: &[&Arc<str>]) -> String {
    let mut told: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    if names.len() > NAMED {
        told.push(format!("{} more", names.len() - NAMED));
    }
    let told = told.join(", ");
    if names.len() == 1 { told } else { format!("one of {told}") }
}
