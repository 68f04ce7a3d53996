//! The keywords `type`, `enum` and `const` of JSON Schema, and scalars.

use indexmap::IndexMap;

use super::SchemaShape;
use crate::problem::{At, Code, Problems};
use crate::types::enum_members::read_enum_members;
use crate::types::parse_expr::UNION_LIMIT;
use crate::types::schema::keywords::{KeywordGroup, group};
use crate::types::schema::limits::width;
use crate::types::schema::notes::SchemaNotes;
use crate::types::{EnumMember, Literal, TypeIR};
use crate::value::{Map, Payload};

/// A JSON type, as `type` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonKind {
    Object,
    Array,
    Text,
    Integer,
    Number,
    Flag,
    Null,
}

impl JsonKind {
    fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::Text,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Flag,
            "null" => Self::Null,
            _ => return None,
        })
    }

    /// The keywords that apply to it.
    pub(super) const fn group(self) -> Option<KeywordGroup> {
        match self {
            Self::Object => Some(KeywordGroup::Object),
            Self::Array => Some(KeywordGroup::Array),
            Self::Text => Some(KeywordGroup::Text),
            Self::Integer | Self::Number => Some(KeywordGroup::Number),
            Self::Flag | Self::Null => None,
        }
    }

    const fn holds(self, value: &Payload) -> bool {
        matches!(
            (self, value),
            (Self::Text, Payload::Str(_))
                | (Self::Integer | Self::Number, Payload::Int(_))
                | (Self::Flag, Payload::Bool(_))
                | (Self::Null, Payload::Null)
        )
    }
}

/// The kinds that a schema has or that its keywords imply. An empty list means any kind.
pub(super) fn read_kinds(map: &Map, at: &At<'_>, problems: &mut Problems) -> Option<Vec<JsonKind>> {
    let at = at.key("type");
    match map.get("type") {
        None => Some(implied(map).into_iter().collect()),
        Some(Payload::List(words)) if !words.is_empty() => {
            let kinds = words.iter().enumerate();
            kinds.map(|(index, word)| read_kind(word, &at.index(index), problems)).collect()
        }
        Some(word) => read_kind(word, &at, problems).map(|kind| vec![kind]),
    }
}

fn read_kind(word: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<JsonKind> {
    let kind = word.as_str().and_then(JsonKind::of_word);
    if kind.is_none() {
        let found =
            word.as_str().map_or_else(|| word.kind().to_owned(), |word| format!("`{word}`"));
        let detail = format!(
            "expected one of string, integer, number, boolean, null, array and object, found {found}"
        );
        problems.add(at, Code::InvalidType, detail);
    }
    kind
}

fn implied(map: &Map) -> Option<JsonKind> {
    let has = |expected: KeywordGroup| map.keys().any(|name| group(name) == Some(expected));
    if has(KeywordGroup::Object) {
        Some(JsonKind::Object)
    } else if has(KeywordGroup::Array) {
        Some(JsonKind::Array)
    } else if has(KeywordGroup::Text) {
        Some(JsonKind::Text)
    } else {
        has(KeywordGroup::Number).then_some(JsonKind::Number)
    }
}

/// The type of `enum` or `const`.
pub(super) fn fixed(
    word: &str,
    value: &Payload,
    explained: Option<&Payload>,
    kinds: &[JsonKind],
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<SchemaShape> {
    let place = at.key(word);
    if word == "const" {
        return literal(value, kinds, &place, problems).map(SchemaShape::Type);
    }
    let Some(values) = value.as_list().filter(|values| !values.is_empty()) else {
        problems.add(&place, Code::InvalidType, "`enum` must be a non-empty array");
        return None;
    };
    let read = |(index, value)| literal(value, kinds, &place.index(index), problems);
    let members = values.iter().enumerate().map(read).collect::<Option<Vec<_>>>()?;
    let texts: Option<IndexMap<_, _>> = members.iter().map(text_member).collect();
    match (texts, explained) {
        (Some(texts), Some(explained)) => {
            let place = at.key("x-dsrs-enum");
            let explained = read_enum_members(explained, &place, problems)?;
            if !explained.keys().eq(texts.keys()) {
                let detail = "`x-dsrs-enum` must have the values of `enum`, in the same order";
                problems.add(&place, Code::InvalidType, detail);
            }
            Some(SchemaShape::Enum(explained))
        }
        (Some(texts), None) => Some(SchemaShape::Enum(texts)),
        (None, Some(_)) => {
            let detail = "`x-dsrs-enum` requires an `enum` that has only strings";
            problems.add(&at.key("x-dsrs-enum"), Code::InvalidType, detail);
            None
        }
        (None, None) if members.len() > UNION_LIMIT => {
            let detail = format!("a union has at most {UNION_LIMIT} members");
            problems.add(&place, Code::InvalidType, detail);
            None
        }
        (None, None) => Some(SchemaShape::Type(TypeIR::union(members))),
    }
}

fn text_member(ty: &TypeIR) -> Option<(std::sync::Arc<str>, EnumMember)> {
    match ty {
        TypeIR::Literal(Literal::Str(text)) => Some((text.clone(), EnumMember::default())),
        _ => None,
    }
}

fn literal(
    value: &Payload,
    kinds: &[JsonKind],
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<TypeIR> {
    let ty = match value {
        Payload::Str(text) => TypeIR::Literal(Literal::Str(text.clone())),
        Payload::Int(number) => TypeIR::Literal(Literal::Int(*number)),
        Payload::Bool(flag) => TypeIR::Literal(Literal::Bool(*flag)),
        Payload::Null => TypeIR::Null,
        other => {
            let detail = format!(
                "{} cannot be a literal; use a string, an integer, true, false or null",
                other.kind()
            );
            problems.add(at, Code::InvalidType, detail);
            return None;
        }
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| kind.holds(value)) {
        problems.add(at, Code::InvalidType, format!("{} does not match `type`", value.kind()));
        return None;
    }
    Some(ty)
}

/// `str`, or `bytes` if the encoding is base64.
pub(super) fn text_type(
    map: &Map,
    notes: &mut SchemaNotes,
    at: &At<'_>,
    problems: &mut Problems,
) -> TypeIR {
    if let Some(encoding) = map.get("contentEncoding") {
        if encoding.as_str() != Some("base64") {
            let detail = "`contentEncoding` must be `base64`";
            problems.add(&at.key("contentEncoding"), Code::InvalidType, detail);
        }
        return TypeIR::Bytes;
    }
    if matches!(notes.text_format.as_deref(), Some("byte" | "base64")) {
        notes.text_format = None;
        return TypeIR::Bytes;
    }
    TypeIR::Str
}

/// `int`, with a range if the format has a narrower width.
pub(super) fn whole_number(notes: &mut SchemaNotes, at: &At<'_>) -> TypeIR {
    if let Some(limits) = notes.text_format.as_deref().and_then(|format| width(format, at)) {
        notes.text_format = None;
        notes.limit(limits);
    }
    TypeIR::Int
}

/// `float`; the formats `double` and `float` add nothing.
pub(super) fn number(notes: &mut SchemaNotes) -> TypeIR {
    if matches!(notes.text_format.as_deref(), Some("double" | "float")) {
        notes.text_format = None;
    }
    TypeIR::Float
}
