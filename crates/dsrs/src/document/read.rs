//! The reader of a document: reports every problem with its place, and returns the members that could be read. Numbers
//! without a fraction become integers, and members that are null although null is no value are left out, so that what
//! it returns fits the type.

use std::sync::Arc;

use crate::problem::{At, Code, Problems};
use crate::read::{self, Object, boolean, integer, list, number, text, wrong_type};
use crate::value::{Map, Payload};
use facet::{Def, Facet, ScalarType, Shape, Type, UserType};

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
        let value = read_value(member.shape, &rules, payload, at, problems)?;
        rules.iter().try_fold(value, |value, rule| rule.check(value, at, problems))
    };
    match is_whole && !member.is_optional {
        true => object.required(member.name, read),
        false => object.optional(member.name, read),
    }
}

/// Reads a value. `rules` are those of the field; here they count for the elements of its list.
fn read_value(
    shape: &'static Shape,
    rules: &[Rule],
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Payload> {
    if let Some(scalar) = shape.scalar_type() {
        return read_scalar(scalar, payload, at, problems);
    }
    match (shape.def, shape.ty) {
        _ if shape.id == Payload::SHAPE.id => Some(payload.clone()),
        (Def::Option(option), _) => read_value(option.t(), rules, payload, at, problems),
        (Def::List(elements), _) => {
            let read = |element: &Payload, at: &At<'_>, problems: &mut Problems| {
                let value = read_value(elements.t(), &[], element, at, problems)?;
                rules.iter().for_each(|rule| rule.check_element(&value, at, problems));
                Some(value)
            };
            list(payload, at, problems, read).map(Payload::list)
        }
        (Def::Map(map), _) => {
            let read = |_: &Arc<str>, value: &Payload, at: &At<'_>, problems: &mut Problems| {
                read_value(map.v(), &[], value, at, problems)
            };
            let read = read::members(payload, at, problems, read)?;
            Some(Payload::map(read.into_iter().collect()))
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
        _ => read_integer(scalar, payload, at, problems),
    }
}

fn read_integer(
    scalar: ScalarType,
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Payload> {
    let Some((least, most)) = range_of(scalar) else {
        wrong_type(at, problems, "plain data", payload);
        return None;
    };
    let found = integer(payload, at, problems)?;
    let detail = match found {
        _ if found < least => format!("expected at least {least}, found {found}"),
        _ if found > most => format!("expected at most {most}, found {found}"),
        _ => return Some(Payload::Int(found)),
    };
    problems.add(at, Code::InvalidValue, detail);
    None
}

/// The least and the greatest integer of a type, of those that a document can hold.
fn range_of(scalar: ScalarType) -> Option<(i64, i64)> {
    match scalar {
        ScalarType::I32 => Some((i32::MIN.into(), i32::MAX.into())),
        ScalarType::I64 | ScalarType::ISize => Some((i64::MIN, i64::MAX)),
        ScalarType::U8 => Some((0, u8::MAX.into())),
        ScalarType::U16 => Some((0, u16::MAX.into())),
        ScalarType::U32 => Some((0, u32::MAX.into())),
        ScalarType::U64 | ScalarType::USize => Some((0, i64::MAX)),
        _ => None,
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
