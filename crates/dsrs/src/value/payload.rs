//! `Payload`: plain data. Cloning is O(1) at every size, so that passing a large value to many nodes,
//! the trace and the record costs nothing. Objects keep their order.

use std::sync::Arc;

use base64::Engine as _;
use facet::Facet;
use indexmap::IndexMap;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::Failure;

/// Members of an object, in written order.
pub type Map = IndexMap<Arc<str>, Payload>;

/// The named inputs or outputs of a node, a graph or a demo, in the signature's order.
pub type Fields = Map;

/// Plain data as in JSON, with integers distinguished from floats, and with bytes.
///
/// ```
/// use dsrs::value::Payload;
/// let payload = Payload::from_json(r#"{"b": 1.0, "a": [1, null]}"#).unwrap();
/// assert_eq!(payload.to_json(), r#"{"b":1.0,"a":[1,null]}"#);
/// ```
///
/// In a Rust type it stands for anything: `HashMap<String, Payload>` is `dict[str, any]`.
#[derive(Clone, Debug, PartialEq, Default, Facet)]
#[facet(opaque)]
#[repr(u8)]
pub enum Payload {
    /// Null.
    #[default]
    Null,
    /// Boolean.
    Bool(bool),
    /// Integer.
    Int(i64),
    /// Finite number; always printed with a decimal point or an exponent.
    Float(f64),
    /// Text, U+0000 included.
    Str(Arc<str>),
    /// Bytes; base64 (standard alphabet, padded) in JSON.
    Bytes(Arc<[u8]>),
    /// Ordered elements; tuples too.
    List(Arc<Vec<Payload>>),
    /// Ordered members; dicts and class instances.
    Map(Arc<Map>),
    /// A failure as data. It has no members to select, so that a failure never passes for data.
    Error(Arc<Failure>),
}

impl Payload {
    /// Text.
    #[must_use]
    pub fn str(text: impl Into<Arc<str>>) -> Self {
        Self::Str(text.into())
    }

    /// Elements.
    #[must_use]
    pub fn list(elements: Vec<Self>) -> Self {
        Self::List(Arc::new(elements))
    }

    /// Members.
    #[must_use]
    pub fn map(members: Map) -> Self {
        Self::Map(Arc::new(members))
    }

    /// The text, if it is text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Str(text) = self { Some(text) } else { None }
    }

    /// The members, if it has members.
    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        if let Self::Map(map) = self { Some(map) } else { None }
    }

    /// The elements, if it has elements.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Self]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }

    /// Whether it is null.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Its JSON kind with an article: `an object`, `a string`, …
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Str(_) => "a string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "an array",
            Self::Map(_) => "an object",
            Self::Error(_) => "an error",
        }
    }

    /// Compact JSON. Floats keep a decimal point or an exponent, objects keep their order.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Every payload has a JSON form: keys are text and floats are finite.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(flag) => serializer.serialize_bool(*flag),
            Self::Int(number) => serializer.serialize_i64(*number),
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Str(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => serializer
                .serialize_str(&base64::engine::general_purpose::STANDARD.encode(bytes.as_ref())),
            Self::List(elements) => {
                let mut sequence = serializer.serialize_seq(Some(elements.len()))?;
                for element in elements.iter() {
                    sequence.serialize_element(element)?;
                }
                sequence.end()
            }
            Self::Map(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, member) in members.iter() {
                    map.serialize_entry(name.as_ref(), member)?;
                }
                map.end()
            }
            Self::Error(failure) => failure.to_payload().serialize(serializer),
        }
    }
}

impl From<bool> for Payload {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<i64> for Payload {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for Payload {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<&str> for Payload {
    fn from(text: &str) -> Self {
        Self::Str(text.into())
    }
}

impl From<String> for Payload {
    fn from(text: String) -> Self {
        Self::Str(text.into())
    }
}

impl From<Vec<Payload>> for Payload {
    fn from(elements: Vec<Payload>) -> Self {
        Self::list(elements)
    }
}

impl From<Map> for Payload {
    fn from(members: Map) -> Self {
        Self::map(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_with_a_point_or_an_exponent_and_ints_without() {
        let list = Payload::list(vec![Payload::Float(1.0), Payload::Int(1), Payload::Float(1e300)]);
        assert_eq!(list.to_json(), "[1.0,1,1e+300]");
    }

    #[test]
    fn bytes_print_as_padded_base64() {
        assert_eq!(Payload::Bytes(Arc::from(&b"hi!?"[..])).to_json(), "\"aGkhPw==\"");
    }
}
