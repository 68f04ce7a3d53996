//! Parses JSON text into payloads: keeps order, distinguishes 1 from 1.0 and finds every duplicate
//! key. It is the only JSON parser for documents from clients. Knows nothing of their meaning.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::payload::{Map, Payload};
use crate::problem::{At, Code, Problems};

/// How deep a document may nest.
pub const DEPTH_LIMIT: usize = 120;

/// How much deeper a record may nest: it contains documents.
const RECORD_DEPTH: usize = 6;

/// The text is not JSON: where and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid JSON at line {line}, column {column}: {reason}")]
pub struct JsonError {
    /// 1-based line.
    pub line: usize,
    /// 1-based column.
    pub column: usize,
    /// The reason.
    pub reason: String,
}

/// A document and its duplicate keys. Of a repeated key the last value counts.
#[derive(Clone, Debug)]
pub struct ParsedJson {
    /// The document.
    pub payload: Payload,
    /// One `duplicate_name` problem for each repeated key.
    pub duplicates: Problems,
}

/// Parses one JSON document.
///
/// # Errors
/// If the text is not JSON, nests deeper than [`DEPTH_LIMIT`], or has a number that is too large
/// for a finite float.
pub fn parse_json(text: &[u8]) -> Result<ParsedJson, JsonError> {
    parse_within(text, DEPTH_LIMIT)
}

fn parse_within(text: &[u8], left: usize) -> Result<ParsedJson, JsonError> {
    let mut duplicates = Problems::new();
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let seed = PayloadSeed { at: &At::Root, left, duplicates: &mut duplicates };
    let payload = seed.deserialize(&mut deserializer).map_err(|error| explain(&error))?;
    deserializer.end().map_err(|error| explain(&error))?;
    Ok(ParsedJson { payload, duplicates })
}

impl Payload {
    /// Parses JSON text, refusing duplicate keys.
    ///
    /// # Errors
    /// As [`parse_json`], and for a duplicate key.
    pub fn from_json(text: &str) -> Result<Self, JsonError> {
        let parsed = parse_json(text.as_bytes())?;
        match parsed.duplicates.iter().next() {
            None => Ok(parsed.payload),
            Some(first) => Err(JsonError { line: 1, column: 1, reason: first.to_string() }),
        }
    }

    /// Parses JSON text that this program wrote. It may nest a little deeper than documents from
    /// clients, because it contains them.
    ///
    /// # Errors
    /// As [`parse_json`].
    pub fn from_record(text: &str) -> Result<Self, JsonError> {
        Ok(parse_within(text.as_bytes(), DEPTH_LIMIT + RECORD_DEPTH)?.payload)
    }
}

fn explain(error: &serde_json::Error) -> JsonError {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or(&text).to_owned();
    JsonError { line: error.line().max(1), column: error.column().max(1), reason }
}

impl<'de> Deserialize<'de> for Payload {
    /// Any value of a self-describing format. As in [`Payload::from_json`], no key may appear twice.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut duplicates = Problems::new();
        let seed = PayloadSeed { at: &At::Root, left: DEPTH_LIMIT, duplicates: &mut duplicates };
        let payload = seed.deserialize(deserializer)?;
        duplicates.or(payload).map_err(D::Error::custom)
    }
}

struct PayloadSeed<'a, 'p> {
    at: &'a At<'a>,
    left: usize,
    duplicates: &'p mut Problems,
}

impl<'de> DeserializeSeed<'de> for PayloadSeed<'_, '_> {
    type Value = Payload;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Payload, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PayloadSeed<'_, '_> {
    type Value = Payload;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Payload, E> {
        Ok(Payload::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Payload, E> {
        Ok(Payload::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Payload, E> {
        Ok(Payload::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Payload, E> {
        // An integer beyond i64 becomes the nearest float, as in other JSON parsers; a field of type
        // `int` then rejects it with a clear message.
        Ok(i64::try_from(number).map_or(Payload::Float(number as f64), Payload::Int))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Payload, E> {
        if number.is_finite() {
            Ok(Payload::Float(number))
        } else {
            Err(E::custom("number out of range"))
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<Payload, E> {
        Ok(Payload::Str(Arc::from(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Payload, A::Error> {
        let left = deeper::<A::Error>(self.left)?;
        let mut elements = Vec::with_capacity(access.size_hint().unwrap_or(0).min(1024));
        loop {
            let at = self.at.index(elements.len());
            let seed = PayloadSeed { at: &at, left, duplicates: &mut *self.duplicates };
            match access.next_element_seed(seed)? {
                Some(element) => elements.push(element),
                None => return Ok(Payload::list(elements)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Payload, A::Error> {
        let left = deeper::<A::Error>(self.left)?;
        let mut members = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            let at = self.at.key(&name);
            let seed = PayloadSeed { at: &at, left, duplicates: &mut *self.duplicates };
            let member = access.next_value_seed(seed)?;
            if members.insert(Arc::from(name.as_str()), member).is_some() {
                let detail = format!("the key `{name}` appears twice");
                self.duplicates.add(&at, Code::DuplicateName, detail);
            }
        }
        Ok(Payload::map(members))
    }
}

fn deeper<E: Error>(left: usize) -> Result<usize, E> {
    left.checked_sub(1).ok_or_else(|| E::custom(format!("nested deeper than {DEPTH_LIMIT} levels")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_the_spelling_of_numbers_survive() {
        let text = r#"{"z":1,"a":1.0,"m":{"y":"\u0000","b":-2}}"#;
        assert_eq!(Payload::from_json(text).unwrap().to_json(), text);
    }

    #[test]
    fn every_duplicate_key_is_found_with_its_pointer() {
        let parsed = parse_json(br#"{"a":1,"b":[{"c":1,"c":2}],"a":3}"#).unwrap();
        let pointers: Vec<_> = parsed.duplicates.iter().map(|p| p.pointer.as_str()).collect();
        assert_eq!(pointers, ["/b/0/c", "/a"]);
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_crash() {
        let text = "[".repeat(100_000);
        assert!(parse_json(text.as_bytes()).is_err());
    }

    #[test]
    fn a_record_may_nest_deeper_than_a_posted_document() {
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Payload::from_json(&nested(DEPTH_LIMIT)).is_ok());
        assert!(Payload::from_json(&nested(DEPTH_LIMIT + 1)).is_err());
        assert!(Payload::from_record(&nested(DEPTH_LIMIT + RECORD_DEPTH)).is_ok());
        assert!(Payload::from_record(&nested(DEPTH_LIMIT + RECORD_DEPTH + 1)).is_err());
    }

    #[test]
    fn errors_name_line_and_column() {
        let error = parse_json(b"{\n  \"a\": ,\n}").unwrap_err();
        assert_eq!((error.line, error.column), (2, 8));
    }

    #[test]
    fn trailing_text_is_refused() {
        assert!(parse_json(b"{} x").is_err());
    }
}
