//! Converts payloads to Python values and back. Values that JSON lacks become text.

use std::fmt::Write;

use dsrs::value::{Map, Payload};
use monty_types::{DictPairs, MontyDate, MontyDateTime, MontyObject, MontyTime};

/// The deepest nesting of a value; the reader of the answer allows little more.
const DEPTH: usize = 100;

/// A payload as a Python value.
pub(crate) fn to_python(payload: &Payload) -> MontyObject {
    match payload {
        Payload::Null => MontyObject::None,
        Payload::Bool(flag) => MontyObject::Bool(*flag),
        Payload::Int(number) => MontyObject::Int(*number),
        Payload::Float(number) => MontyObject::Float(*number),
        Payload::Str(text) => MontyObject::String(text.as_ref().to_owned()),
        Payload::Bytes(bytes) => MontyObject::Bytes(bytes.to_vec()),
        Payload::List(elements) => MontyObject::List(elements.iter().map(to_python).collect()),
        Payload::Map(members) => {
            let pair = |(name, member): (&std::sync::Arc<str>, &Payload)| {
                (MontyObject::String(name.as_ref().to_owned()), to_python(member))
            };
            MontyObject::dict(members.iter().map(pair).collect::<Vec<_>>())
        }
        Payload::Error(failure) => to_python(&failure.to_payload()),
    }
}

/// A Python value as a payload; `None` if it nests too deeply.
pub(crate) fn to_payload(object: &MontyObject) -> Option<Payload> {
    nested(object, DEPTH)
}

fn nested(object: &MontyObject, depth: usize) -> Option<Payload> {
    let depth = depth.checked_sub(1)?;
    Some(match object {
        MontyObject::None => Payload::Null,
        MontyObject::Bool(flag) => Payload::Bool(*flag),
        MontyObject::Int(number) => Payload::Int(*number),
        MontyObject::Float(number) if number.is_finite() => Payload::Float(*number),
        MontyObject::String(text) | MontyObject::Path(text) | MontyObject::Repr(text) => {
            Payload::str(text.as_str())
        }
        MontyObject::Bytes(bytes) => Payload::Bytes(bytes.as_slice().into()),
        MontyObject::List(elements)
        | MontyObject::Tuple(elements)
        | MontyObject::Set(elements)
        | MontyObject::FrozenSet(elements) => {
            let elements = elements.iter().map(|element| nested(element, depth));
            Payload::list(elements.collect::<Option<_>>()?)
        }
        MontyObject::NamedTuple { field_names, values, .. } => {
            let members = field_names.iter().zip(values);
            let member =
                |(name, value): (&String, _)| Some((name.as_str().into(), nested(value, depth)?));
            Payload::map(members.map(member).collect::<Option<Map>>()?)
        }
        MontyObject::Dict(pairs) => members(pairs, depth)?,
        MontyObject::ClassInstance(instance) => members(&instance.attrs, depth)?,
        MontyObject::Date(date) => Payload::str(iso_date(date)),
        MontyObject::DateTime(moment) => Payload::str(iso_moment(moment)),
        MontyObject::Time(time) => Payload::str(iso_time(time)),
        other => Payload::str(other.to_string()),
    })
}

/// Keys that are not strings are converted with `str`.
fn members(pairs: &DictPairs, depth: usize) -> Option<Payload> {
    let member = |(key, value): &(MontyObject, MontyObject)| {
        Some((key.to_string().into(), nested(value, depth)?))
    };
    Some(Payload::map(pairs.iter().map(member).collect::<Option<Map>>()?))
}

fn iso_date(date: &MontyDate) -> String {
    format!("{:04}-{:02}-{:02}", date.year, date.month, date.day)
}

fn iso_moment(moment: &MontyDateTime) -> String {
    let MontyDateTime { year, month, day, hour, minute, second, microsecond, .. } = moment;
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    push_rest(&mut text, *microsecond, moment.offset_seconds);
    text
}

fn iso_time(time: &MontyTime) -> String {
    let mut text = format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second);
    push_rest(&mut text, time.microsecond, time.offset_seconds);
    text
}

fn push_rest(text: &mut String, microsecond: u32, offset: Option<i32>) {
    // Writing to a string does not fail.
    if microsecond > 0 {
        let _ = write!(text, ".{microsecond:06}");
    }
    if let Some(offset) = offset {
        let sign = if offset < 0 { '-' } else { '+' };
        let minutes = offset.unsigned_abs() / 60;
        let _ = write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
    }
}
