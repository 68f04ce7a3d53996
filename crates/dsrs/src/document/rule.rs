//! The rules of a field that its type does not say, as attributes: `#[facet(dsrs::length(1, 64))]`. A rule checks a
//! value; `keywords` describes it in JSON Schema. Knows no document.

use std::collections::HashSet;

use facet::{Facet, Field, Shape};

use super::text_format::TextFormat;
use crate::problem::{At, Code, Problems};
use crate::read::map;
use crate::value::Payload;

/// A rule of a field or a type, read from its shape.
#[derive(Clone, Copy, Debug, Facet)]
#[facet(opaque)]
#[repr(u8)]
pub enum Rule {
    /// The least and the most characters of a text, which has no U+0000.
    Length(usize, usize),
    /// The text has a format.
    Text(&'static TextFormat),
    /// The least number.
    Minimum(f64),
    /// The number is greater.
    Above(f64),
    /// The greatest number.
    Maximum(f64),
    /// Null is a value in a config, too: like an absent member, it counts as this word.
    Nullable(&'static str),
    /// The list has at least one element, of this noun, and none twice.
    Distinct(&'static str),
    /// The value, of a type that accepts any, is an object of at most this number of bytes as JSON.
    Object(usize),
    /// The least elements of a list.
    Items(usize),
    /// Each text of the list has a format.
    Each(&'static TextFormat),
    /// Of a type: its name in schemas, where it is not that of the Rust type. Of a field: the name of the schema of its
    /// values, where they are read by another reader and their Rust type is [`Payload`].
    Schema(&'static str),
    /// Further keywords of JSON Schema for a field or a type, as the text of an object. Only the schema checks them.
    Keywords(&'static str),
    /// The schema of a field whose type accepts any value. Only the schema checks it.
    ValueSchema(fn() -> Payload),
}

/// The rules of a field.
pub(super) fn of_field(field: &'static Field) -> impl Iterator<Item = Rule> {
    read(field.attributes)
}

/// The rules of a type.
pub(super) fn of_shape(shape: &'static Shape) -> impl Iterator<Item = Rule> {
    read(shape.attributes)
}

fn read(attributes: &'static [facet::Attr]) -> impl Iterator<Item = Rule> {
    let own = attributes.iter().filter(|attribute| attribute.ns == Some("dsrs"));
    own.filter_map(|attribute| attribute.get_as::<Rule>().copied())
}

impl Rule {
    /// Checks a value that has the type of the field. `None` if the value is of no use; its problems are reported.
    pub(super) fn check(
        self,
        value: Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Payload> {
        match (self, &value) {
            (Self::Distinct(noun), Payload::List(found)) => {
                return Some(distinct(noun, found, at, problems));
            }
            (Self::Items(least), Payload::List(found)) if found.len() < least => {
                report_short(&format!("{least} or more elements"), at, problems);
            }
            _ => {}
        }
        if let Self::Object(_) = self {
            map(&value, at, problems)?;
        }
        let Some((code, detail)) = self.breach(&value) else { return Some(value) };
        problems.add(at, code, detail);
        // A number out of bounds is a number: the rest of the document is checked with it.
        matches!(value, Payload::Int(_) | Payload::Float(_)).then_some(value)
    }

    /// Checks an element of the list of the field. It stays in the list, so that the others have their index.
    pub(super) fn check_element(self, element: &Payload, at: &At<'_>, problems: &mut Problems) {
        if let Self::Each(format) = self {
            Self::Text(format).check(element.clone(), at, problems);
        }
    }

    fn breach(self, value: &Payload) -> Option<(Code, String)> {
        if let Self::Object(most) = self {
            let is_large = most < usize::MAX && value.to_json().len() > most;
            return is_large
                .then(|| (Code::TooLarge, format!("expected an object of at most {most} bytes")));
        }
        let number = match value {
            Payload::Str(text) => return self.breach_of_text(text),
            Payload::Int(number) => *number as f64,
            Payload::Float(number) => *number,
            _ => return None,
        };
        let detail = match self {
            Self::Minimum(least) if number < least => format!("expected at least {least}"),
            Self::Above(bound) if number <= bound => format!("expected more than {bound}"),
            Self::Maximum(most) if number > most => format!("expected at most {most}"),
            _ => return None,
        };
        Some((Code::InvalidValue, detail))
    }

    fn breach_of_text(self, text: &str) -> Option<(Code, String)> {
        match self {
            Self::Length(least, most) if !has_length(text, least, most) => {
                let detail = format!("expected {least} to {most} characters without U+0000");
                Some((Code::InvalidValue, detail))
            }
            Self::Text(format) if !(format.accepts)(text) => {
                Some((format.code, format!("expected {}", format.expected)))
            }
            _ => None,
        }
    }

    /// The most characters of a text, if the rule bounds them.
    pub(super) fn longest(self) -> Option<usize> {
        match self {
            Self::Length(_, most) => Some(most),
            Self::Text(format) => format.length.map(|(_, most)| most),
            _ => None,
        }
    }

    /// The name of a schema.
    pub(super) fn schema(self) -> Option<&'static str> {
        match self {
            Self::Schema(name) => Some(name),
            _ => None,
        }
    }
}

fn has_length(text: &str, least: usize, most: usize) -> bool {
    (least..=most).contains(&text.chars().count()) && !text.contains('\0')
}

/// The elements, each once.
fn distinct(noun: &str, found: &[Payload], at: &At<'_>, problems: &mut Problems) -> Payload {
    let (mut once, mut known) = (Vec::new(), HashSet::new());
    for (index, element) in found.iter().enumerate() {
        let text = element.as_str().map_or_else(|| element.to_json(), str::to_owned);
        if known.contains(&text) {
            problems.add(
                &at.index(index),
                Code::DuplicateName,
                format!("`{text}` is listed twice"),
            );
        } else {
            once.push(element.clone());
            known.insert(text);
        }
    }
    if found.is_empty() {
        report_short(&format!("at least one {noun}"), at, problems);
    }
    Payload::list(once)
}

/// A list whose elements could not be read is not reported as too short, too.
fn report_short(expected: &str, at: &At<'_>, problems: &mut Problems) {
    if !problems.iter().any(|known| known.pointer.starts_with(&at.pointer())) {
        problems.add(at, Code::InvalidValue, format!("expected {expected}"));
    }
}
