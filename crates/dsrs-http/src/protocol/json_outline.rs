//! The outline of a JSON document: all of it except one large member. Knows nothing of what it means.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::protocol::metered::ReadLimit;

/// Reads a document without its items: JSON text in which a short value of the same kind replaces
/// the items.
pub(crate) struct JsonOutline<'a> {
    pub(crate) limit: &'a ReadLimit,
    /// The member whose value is replaced.
    pub(crate) member: &'static str,
    /// Longest other member in bytes.
    pub(crate) longest: usize,
}

impl<'de> DeserializeSeed<'de> for JsonOutline<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(Placeholder(Some(self)))
    }
}

/// A short JSON text of the same kind for any value; the members of an object if there is an outline.
struct Placeholder<'a>(Option<JsonOutline<'a>>);

impl<'de> DeserializeSeed<'de> for Placeholder<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Placeholder<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok("null".to_owned())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<String, E> {
        Ok(flag.to_string())
    }

    fn visit_i64<E>(self, _: i64) -> Result<String, E> {
        Ok("0".to_owned())
    }

    fn visit_u64<E>(self, _: u64) -> Result<String, E> {
        Ok("0".to_owned())
    }

    fn visit_f64<E>(self, _: f64) -> Result<String, E> {
        Ok("0.0".to_owned())
    }

    fn visit_str<E>(self, _: &str) -> Result<String, E> {
        Ok("\"\"".to_owned())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<String, A::Error> {
        while access.next_element::<IgnoredAny>()?.is_some() {}
        Ok("[]".to_owned())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<String, A::Error> {
        let Some(JsonOutline { limit, member, longest }) = self.0 else {
            while access.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok("{}".to_owned());
        };
        let mut members = Vec::new();
        loop {
            limit.allow(longest);
            let Some(name) = access.next_key::<String>()? else { break };
            let value = if name == member {
                limit.allow(usize::MAX);
                access.next_value_seed(Placeholder(None))?
            } else {
                access.next_value::<Box<RawValue>>()?.get().to_owned()
            };
            let name = serde_json::to_string(&name).map_err(A::Error::custom)?;
            members.push(format!("{name}:{value}"));
        }
        limit.allow(usize::MAX);
        Ok(format!("{{{}}}", members.join(",")))
    }
}
