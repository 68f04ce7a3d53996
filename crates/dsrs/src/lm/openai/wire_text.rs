//! Texts of an answer as servers write them, deserialized by hand: serde copies a text twice when it makes an
//! `Arc<str>`. Knows no member.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A text, or a list of parts whose texts are joined.
pub(super) struct WireText(pub(super) Arc<str>);

/// The text of a member that need not be one. An odd one does not spoil an answer that was paid for.
#[derive(Default)]
pub(super) struct LooseText<'a>(pub(super) Option<Cow<'a, str>>);

#[derive(Deserialize)]
struct TextPart {
    #[serde(default)]
    text: Option<String>,
}

impl<'de> Deserialize<'de> for WireText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = WireText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<WireText, E> {
        Ok(WireText(text.into()))
    }

    /// Some gateways describe reasoning by an object, which is no text.
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<WireText, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(WireText("".into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<WireText, A::Error> {
        let mut text = String::new();
        while let Some(part) = parts.next_element::<TextPart>()? {
            text.push_str(part.text.as_deref().unwrap_or_default());
        }
        Ok(WireText(text.into()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LooseText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = LooseText<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<LooseText<'de>, E> {
        Ok(LooseText(Some(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<LooseText<'de>, E> {
        Ok(LooseText(Some(Cow::Owned(text.to_owned()))))
    }

    fn visit_unit<E>(self) -> Result<LooseText<'de>, E> {
        Ok(LooseText(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<LooseText<'de>, E> {
        Ok(LooseText(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<LooseText<'de>, E> {
        Ok(LooseText(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<LooseText<'de>, E> {
        Ok(LooseText(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<LooseText<'de>, E> {
        Ok(LooseText(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<LooseText<'de>, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(LooseText(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<LooseText<'de>, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(LooseText(None))
    }
}
