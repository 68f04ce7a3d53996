//! The reader of a document: reports every problem with its place, and returns the members that could be read. Numbers
//! without a fraction become integers, and members that are null although null is no value are left out, so that what
//! it returns fits the type.

use crate::problem::{At, Code, Problems};
use crate::read::{Object, boolean, integer, list, number, text};
use crate::value::{Map, Payload};
use facet::{Def, ScalarType, Shape, Type, UserType};

use super::members::{DocumentMember, members};
use super::rule::Rule;
use super::word::words_of;

/// The members of a document that could be read.
pub(super) struct ReadMembers {
    pub members: Map,
    /// Whether every member is there that a complete document has.
    pub is_complete: bool,
}

/// Reads the members of an object. Members that a complete document has are missed if `is_whole`.
pub(super) fn read_members(
    shape: &'static Shape,
    payload: &Payload,
    is_whole: bool,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<ReadMembers> {
    let mut object = Object::open(payload, at, problems)?;
    let mut read = ReadMembers { members: Map::new(), is_complete: true };
    for member in members(shape) {
        match read_member(&member, is_whole, &mut object) {
            Some(value) => drop(read.members.insert(member.name.into(), value)),
            None => read.is_complete &= member.is_optional,
        }
    }
    object.close();
    Some(read)
}

fn read_member(
    member: &DocumentMember,
    is_whole: bool,
    object: &mut Object<'_, '_, '_>,
) -> Option<Payload> {
    let rules: Vec<Rule> = member.rules().collect();
    if member.is_nullable() && matches!(object.raw(member.name), Some(Payload::Null)) {
        return Some(Payload::Null);
    }
    let read = |payload: &Payload, at: &At<'_>, problems: &mut Problems| {
        let value = read_value(member.shape, payload, at, problems)?;
        rules.iter().try_fold(value, |value, rule| rule.check(value, at, problems))
    };
    match is_whole && !member.is_optional {
        true => object.required(member.name, read),
        false => object.optional(member.name, read),
    }
}

fn read_value(
    shape: &'static Shape,
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Payload> {
    if let Some(scalar) = shape.scalar_type() {
        return read_scalar(scalar, payload, at, problems);
    }
    match (shape.def, shape.ty) {
        (Def::Option(option), _) => read_value(option.t(), payload, at, problems),
        (Def::List(elements), _) => {
            let read = |element: &Payload, at: &At<'_>, problems: &mut Problems| {
                read_value(elements.t(), element, at, problems)
            };
            list(payload, at, problems, read).map(Payload::list)
        }
        (_, Type::User(UserType::Enum(_))) if !words_of(shape).is_empty() => {
            read_word(shape, payload, at, problems)
        }
        (_, Type::User(UserType::Struct(_))) => {
            let read = read_members(shape, payload, true, at, problems)?;
            read.is_complete.then(|| Payload::map(read.members))
        }
        _ => Some(payload.clone()),
    }
}

fn read_scalar(
    scalar: ScalarType,
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Payload> {
    match scalar {
        ScalarType::Bool => boolean(payload, at, problems).map(Payload::Bool),
        ScalarType::String => text(payload, at, problems).map(Payload::from),
        ScalarType::F32 | ScalarType::F64 => read_float(payload, at, problems),
        _ => integer(payload, at, problems).map(Payload::Int),
    }
}

/// JSON has numbers that no float can hold.
fn read_float(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Payload> {
    let found = number(payload, at, problems)?;
    if !found.is_finite() {
        problems.add(at, Code::InvalidValue, "expected a finite number");
        return None;
    }
    Some(Payload::Float(found))
}

fn read_word(
    shape: &'static Shape,
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Payload> {
    let known = words_of(shape);
    let word = text(payload, at, problems)?;
    if !known.contains(&word) {
        let detail = format!("expected one of `{}`", known.join("`, `"));
        problems.add(at, Code::InvalidValue, detail);
        return None;
    }
    Some(payload.clone())
}
