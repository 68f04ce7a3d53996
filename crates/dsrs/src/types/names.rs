//! The reserved words of the type language, and the rules for names. Knows nothing of the grammar.

use std::sync::Arc;

use super::TypeIR;
use crate::problem::{At, Code, Problems};
use crate::read::nearest;
use crate::value::is_identifier;

/// The meaning of a reserved word in a type expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReservedWord {
    /// A type of its own.
    Scalar(TypeIR),
    /// `true` or `false`.
    Flag(bool),
    /// `list[T]`.
    List,
    /// `dict[str, T]`.
    Dict,
    /// `tuple[T, U]`.
    Tuple,
    /// `Literal["a", "b"]`.
    Literal,
    /// `Optional[T]`.
    Optional,
    /// `Union[T, U]`.
    Union,
}

/// The meaning of a reserved word, canonical or accepted as an alternative. `None` for other words.
pub(super) fn reserved_word(text: &str) -> Option<ReservedWord> {
    Some(match text {
        "str" | "string" => ReservedWord::Scalar(TypeIR::Str),
        "int" | "integer" => ReservedWord::Scalar(TypeIR::Int),
        "float" | "number" => ReservedWord::Scalar(TypeIR::Float),
        "bool" | "boolean" => ReservedWord::Scalar(TypeIR::Bool),
        "null" | "None" => ReservedWord::Scalar(TypeIR::Null),
        "any" | "Any" => ReservedWord::Scalar(TypeIR::Any),
        "bytes" => ReservedWord::Scalar(TypeIR::Bytes),
        "error" => ReservedWord::Scalar(TypeIR::Error),
        "true" | "True" => ReservedWord::Flag(true),
        "false" | "False" => ReservedWord::Flag(false),
        "list" | "List" => ReservedWord::List,
        "dict" | "Dict" => ReservedWord::Dict,
        "tuple" | "Tuple" => ReservedWord::Tuple,
        "Literal" => ReservedWord::Literal,
        "Optional" => ReservedWord::Optional,
        "Union" => ReservedWord::Union,
        _ => return None,
    })
}

/// Checks that `name` may name a definition. Otherwise reports it and returns `false`.
pub(super) fn check_type_name(name: &str, at: &At<'_>, problems: &mut Problems) -> bool {
    if reserved_word(name).is_some() {
        let detail =
            format!("`{name}` is a reserved word of the type language; choose another name");
        problems.add(at, Code::ReservedName, detail);
        return false;
    }
    check_name("type", name, at, problems)
}

/// Checks that `name` matches the grammar of names. Otherwise reports it and returns `false`.
pub(crate) fn check_name(what: &str, name: &str, at: &At<'_>, problems: &mut Problems) -> bool {
    let fits = is_identifier(name);
    if !fits {
        let detail = format!(
            "`{}` cannot name a {what}: a name is a letter or `_`, followed by up to 62 letters, digits or `_`",
            shorten(name)
        );
        problems.add(at, Code::InvalidName, detail);
    }
    fits
}

/// The message about a type name that is not defined.
pub(super) fn unknown_type<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let foreign = match name {
        "array" | "Array" | "set" | "Set" | "sequence" | "Sequence" => Some("list[T]"),
        "object" | "Object" | "map" | "Map" | "mapping" | "Mapping" => Some("dict[str, T]"),
        "text" | "String" | "char" | "date" | "datetime" | "uuid" => Some("str"),
        "double" | "decimal" | "real" | "Float" => Some("float"),
        "long" | "Integer" | "Int" | "i64" => Some("int"),
        "Boolean" | "Bool" => Some("bool"),
        "Null" | "nil" | "void" | "undefined" => Some("null"),
        _ => None,
    };
    let words =
        ["str", "int", "float", "bool", "null", "any", "bytes", "error", "list", "dict", "tuple"];
    let hint = foreign.or_else(|| {
        let near = nearest(name, known.into_iter().chain(words));
        // A single letter is near every other.
        near.filter(|_| name.len() > 1)
    });
    let hint = hint.map_or_else(
        || "; define it in `types`".to_owned(),
        |meant| format!("; did you mean `{meant}`?"),
    );
    format!("unknown type `{}`{hint}", shorten(name))
}

/// At most 80 characters of a text from outside, for a message.
pub(super) fn shorten(text: &str) -> String {
    if text.chars().nth(80).is_none() {
        return text.to_owned();
    }
    text.chars().take(77).chain("...".chars()).collect()
}

/// The name of a definition, made from a title or a field name: `home address` → `HomeAddress`.
pub(crate) fn definition_name(hint: &str) -> Arc<str> {
    let mut name = String::new();
    for part in hint.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()) {
        let (head, tail) = part.split_at(1);
        name.push_str(&head.to_ascii_uppercase());
        name.push_str(tail);
    }
    legal_name(&name)
}

/// The name itself if it may name a definition, else a similar one that may.
pub(super) fn legal_name(preferred: &str) -> Arc<str> {
    let word_char = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    // Leave room for a suffix that distinguishes clashing definitions.
    let mut name: String = preferred.chars().map(word_char).take(56).collect();
    if preferred.len() <= 63 && is_identifier(preferred) {
        preferred.clone_into(&mut name);
    }
    if name.is_empty() {
        name.push_str("Type");
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    if reserved_word(&name).is_some() {
        name.push('_');
    }
    name.into()
}
