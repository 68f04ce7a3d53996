//! Types of words: enums without fields, each variant a text of the API.

use facet::{Facet, Shape, StructKind, Type, UserType};
use facet_reflect::Peek;

use crate::reflect::from_payload;
use crate::value::Payload;

/// The word of a value; empty for a type that is no enum.
#[must_use]
pub fn word_of<T: Facet<'static>>(value: &T) -> &'static str {
    let variant = Peek::new(value).into_enum().ok().and_then(|found| found.active_variant().ok());
    variant.map_or("", |variant| variant.effective_name())
}

/// The value that a word names, if there is one.
#[must_use]
pub fn parse_word<T: Facet<'static>>(word: &str) -> Option<T> {
    from_payload(&Payload::from(word)).ok()
}

/// The words of a type with what they mean, which is the documentation of their variants.
#[must_use]
pub fn described_words<T: Facet<'static>>() -> Vec<(&'static str, String)> {
    let Type::User(UserType::Enum(found)) = T::SHAPE.ty else { return Vec::new() };
    let described =
        |variant: &'static facet::Variant| (variant.effective_name(), text_of(variant.doc));
    found.variants.iter().map(described).collect()
}

/// The documentation of a type.
#[must_use]
pub fn description_of<T: Facet<'static>>() -> String {
    text_of(T::SHAPE.doc)
}

/// Lines of documentation as one text, with a line for each paragraph.
pub(super) fn text_of(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let paragraphs = lines.split(|line| line.is_empty()).filter(|lines| !lines.is_empty());
    paragraphs.map(|lines| lines.join(" ")).collect::<Vec<_>>().join("\n\n")
}

/// The words of a type, in the order of its variants. A type that is no enum, or whose variants have fields, has none.
pub(super) fn words_of(shape: &'static Shape) -> Vec<&'static str> {
    let Type::User(UserType::Enum(found)) = shape.ty else { return Vec::new() };
    let is_word = |variant: &facet::Variant| variant.data.kind == StructKind::Unit;
    match found.variants.iter().all(is_word) {
        true => found.variants.iter().map(|variant| variant.effective_name()).collect(),
        false => Vec::new(),
    }
}
