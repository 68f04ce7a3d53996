//! The rules of a field that its type does not say, as attributes: `#[facet(dsrs_api::length(1, 64))]`. A rule checks a
//! value, and describes itself in JSON Schema, so that both always agree. Knows no document.

use std::collections::HashSet;

use dsrs::problem::{At, Code, Problems};
use dsrs::value::Payload;
use facet::{Facet, Field, Shape};
use serde_json::{Map, Value, json};
use url::Url;

use crate::plain_name::{LONGEST_NAME, PlainName};

/// A rule of a field or a type, read from its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Facet)]
#[facet(opaque)]
#[repr(u8)]
pub enum Rule {
    /// The text is a [`PlainName`].
    PlainName,
    /// The least and the most characters of a text, which has no U+0000.
    Length(usize, usize),
    /// The text is an `http` or `https` URL of at most so many bytes.
    HttpUrl(usize),
    /// The list has at least one element, of this noun, and none twice.
    Distinct(&'static str),
    /// The name of the type in the OpenAPI document, where it is not that of the Rust type.
    Schema(&'static str),
}

// Facet's own macro for attributes loses the namespace; `dsrs::attrs` has the same dispatch.
#[doc(hidden)]
#[macro_export]
macro_rules! __attr {
    (@const $($rest:tt)*) => { $crate::__attr!($($rest)*) };
    (@ns {$ns:path} plain_name { $($field:tt : $ty:ty)? }) => {
        $crate::__attr!(@make "plain_name", PlainName)
    };
    (@ns {$ns:path} length { $field:tt : $ty:ty | $least:expr, $most:expr }) => {
        $crate::__attr!(@make "length", Length($least, $most))
    };
    (@ns {$ns:path} http_url { $field:tt : $ty:ty | $most:expr }) => {
        $crate::__attr!(@make "http_url", HttpUrl($most))
    };
    (@ns {$ns:path} distinct { $field:tt : $ty:ty | $noun:literal }) => {
        $crate::__attr!(@make "distinct", Distinct($noun))
    };
    (@ns {$ns:path} schema { $field:tt : $ty:ty | $name:literal }) => {
        $crate::__attr!(@make "schema", Schema($name))
    };
    (@ns {$ns:path} schema { | $name:literal }) => {
        $crate::__attr!(@make "schema", Schema($name))
    };
    (@make $key:literal, $rule:ident $(($($value:expr),+))?) => {
        ::facet::Attr::new(
            ::core::option::Option::Some("dsrs_api"),
            $key,
            &const { $crate::rule::Rule::$rule $(($($value),+))? },
        )
    };
    (@ns {$ns:path} $other:ident $($rest:tt)*) => {
        ::core::compile_error!(concat!(
            "unknown or malformed rule `", stringify!($other),
            "`; known: plain_name, length(least, most), http_url(most), distinct(\"noun\"), schema(\"Name\")"
        ))
    };
}

/// The rules of a field.
pub(crate) fn of_field(field: &'static Field) -> impl Iterator<Item = Rule> {
    read(field.attributes)
}

/// The rules of a type.
pub(crate) fn of_shape(shape: &'static Shape) -> impl Iterator<Item = Rule> {
    read(shape.attributes)
}

fn read(attributes: &'static [facet::Attr]) -> impl Iterator<Item = Rule> {
    let own = attributes.iter().filter(|attribute| attribute.ns == Some("dsrs_api"));
    own.filter_map(|attribute| attribute.get_as::<Rule>().copied())
}

impl Rule {
    /// Checks a value that has the type of the field. `None` if the value is of no use; its problems are reported.
    pub(crate) fn check(
        self,
        value: Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Payload> {
        let problem = match (self, &value) {
            (Self::PlainName, Payload::Str(text)) if PlainName::parse(text).is_none() => {
                (Code::InvalidName, format!("expected {}", PlainName::EXPECTED))
            }
            (Self::Length(least, most), Payload::Str(text)) if !has_length(text, least, most) => {
                let detail = format!("expected {least} to {most} characters without U+0000");
                (Code::InvalidValue, detail)
            }
            (Self::HttpUrl(most), Payload::Str(text)) if !is_http_url(text, most) => {
                let detail = format!("expected an http or https URL of at most {most} bytes");
                (Code::InvalidValue, detail)
            }
            (Self::Distinct(noun), Payload::List(found)) => {
                return Some(distinct(noun, found, at, problems));
            }
            _ => return Some(value),
        };
        problems.add(at, problem.0, problem.1);
        None
    }

    /// The keywords of the rule in a JSON Schema of the field.
    pub(crate) fn describe(self, schema: &mut Map<String, Value>) {
        let keywords: Vec<(&str, Value)> = match self {
            Self::PlainName => vec![
                ("maxLength", json!(LONGEST_NAME)),
                ("minLength", json!(1)),
                ("pattern", json!("^[A-Za-z0-9._-]+$")),
            ],
            Self::Length(0, most) => vec![("maxLength", json!(most))],
            Self::Length(least, most) => {
                vec![("maxLength", json!(most)), ("minLength", json!(least))]
            }
            Self::HttpUrl(most) => {
                vec![("maxLength", json!(most)), ("pattern", json!("^https?://.+"))]
            }
            Self::Distinct(_) => vec![("minItems", json!(1)), ("uniqueItems", json!(true))],
            Self::Schema(_) => Vec::new(),
        };
        schema.extend(keywords.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
}

fn has_length(text: &str, least: usize, most: usize) -> bool {
    (least..=most).contains(&text.chars().count()) && !text.contains('\0')
}

fn is_http_url(text: &str, most: usize) -> bool {
    let url = Url::parse(text).ok().filter(|_| text.len() <= most);
    url.is_some_and(|url| matches!(url.scheme(), "http" | "https"))
}

/// The elements, each once. A list whose elements could not be read is not reported as empty, too.
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
    if found.is_empty() && !problems.iter().any(|known| known.pointer.starts_with(&at.pointer())) {
        problems.add(at, Code::InvalidValue, format!("expected at least one {noun}"));
    }
    Payload::list(once)
}
