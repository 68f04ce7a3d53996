//! JSON text inside a view: documents that are stored or built as text are copied into an answer
//! without being parsed. Knows no resource.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde::{Deserialize as DeserializeDerive, Serialize as SerializeDerive};
use serde_json::value::RawValue;

/// The name by which serde_json recognizes its own `RawValue`. A `RawValue` can only be made by
/// parsing the text again; the texts here are valid already.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A complete JSON value as text. A field of this type names its schema:
/// `#[schema(value_type = …)]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawJson<'a>(Cow<'a, str>);

impl RawJson<'_> {
    pub(crate) const NULL: Self = Self(Cow::Borrowed("null"));
}

impl Default for RawJson<'_> {
    fn default() -> Self {
        Self::NULL
    }
}

impl<'a> From<&'a str> for RawJson<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for RawJson<'a> {
    fn from(text: &'a String) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for RawJson<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl Serialize for RawJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(RAW_VALUE, 1)?;
        raw.serialize_field(RAW_VALUE, self.0.as_ref())?;
        raw.end()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawJson<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| raw.get().into())
    }
}

/// The members of a JSON object as texts, to be flattened into a view.
#[derive(Clone, Debug, Default, PartialEq, Eq, SerializeDerive, DeserializeDerive)]
#[serde(transparent)]
pub struct RawMembers<'a>(#[serde(borrow)] IndexMap<String, RawJson<'a>>);

impl<'a> RawMembers<'a> {
    /// Reads an object that the server wrote.
    pub(crate) fn read(text: &'a str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Document<'a> {
        before: u8,
        #[serde(borrow)]
        raw: RawJson<'a>,
        after: Option<RawJson<'a>>,
    }

    #[test]
    fn raw_json_is_copied_byte_for_byte() {
        let raw = r#"{"z": [1.50, "\u00e4"],  "a":{}}"#;
        let document = Document { before: 1, raw: raw.into(), after: None };
        let text = serde_json::to_string(&document).unwrap();
        assert_eq!(text, format!(r#"{{"before":1,"raw":{raw},"after":null}}"#));
        let value = serde_json::to_value(&document).unwrap();
        assert_eq!(value["raw"]["z"][1], "ä");
        let read: Document<'_> = serde_json::from_str(&text).unwrap();
        assert_eq!((read.before, read.raw, read.after), (1, raw.into(), None));
    }
}
