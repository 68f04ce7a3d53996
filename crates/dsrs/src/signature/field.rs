//! Reads one field of a signature or one input of a graph. Knows nothing of the other fields.

use std::sync::Arc;

use super::{FieldFormat, FieldPath, FieldSchema};
use crate::problem::{At, Code, Problems};
use crate::read::{Object, shared_text};
use crate::types::{
    FieldContext, FieldOutline, TypeIR, TypeScope, check_name, definition_name, read_members,
    read_outline,
};
use crate::value::{Payload, is_identifier};

/// Reads a field whose name is outside of it: a type, or a field object without `name`.
pub fn read_field(
    name: &str,
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<FieldSchema> {
    let named = check_name("field", name, at, problems);
    let outline = read_outline(payload, &expect(&definition_name(name)), scope, at, problems)?;
    let field = from_outline(name.into(), outline, at, problems)?;
    named.then_some(field)
}

/// Reads a field object with its name.
pub(super) fn read_named_field(
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<FieldSchema> {
    let mut object = Object::open(payload, at, problems)?;
    let name = object.required("name", read_name);
    let hint = definition_name(name.as_deref().unwrap_or("Field"));
    let outline = read_members(&mut object, &expect(&hint), scope);
    object.close();
    from_outline(name?, outline?, at, problems)
}

fn read_name(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Arc<str>> {
    let name = shared_text(payload, at, problems)?;
    check_name("field", &name, at, problems).then_some(name)
}

const fn expect(hint: &str) -> FieldContext<'_> {
    FieldContext { absent: Some(TypeIR::Str), hint, format: true }
}

/// The field of a name from its outline.
pub(super) fn from_outline(
    name: Arc<str>,
    outline: FieldOutline,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<FieldSchema> {
    let format = match &outline.format {
        None => None,
        Some(word) => Some(read_format(word, &at.key("format"), problems)?),
    };
    let language = match &outline.language {
        None => None,
        Some(word) => Some(read_language(word, &outline, &at.key("language"), problems)?),
    };
    if outline.reasoning && !is_text(&outline.field.ty) {
        let detail = "only a text has `reasoning`; its type is `str` or `str?`";
        problems.add(&at.key("reasoning"), Code::InvalidValue, detail);
        return None;
    }
    let (reasoning, field) = (outline.reasoning, outline.field);
    if let Some(alias) = &field.alias
        && !is_identifier(alias)
    {
        // The alias appears in the section headers of prompts, where only an identifier is safe.
        let detail = "the alias of a signature field is a letter or `_`, followed by up to 62 letters, digits or `_`";
        problems.add(&at.key("alias"), Code::InvalidName, detail);
        return None;
    }
    Some(FieldSchema {
        path: FieldPath(vec![name.clone()]),
        name,
        alias: field.alias,
        ty: field.ty,
        description: field.description,
        format,
        language,
        reasoning,
        default: field.default,
        constraints: field.constraints,
        strict: field.strict,
    })
}

/// The longest name of a language.
const LANGUAGE: usize = 40;

fn read_language(
    word: &Arc<str>,
    outline: &FieldOutline,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Arc<str>> {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || "+-#._/".contains(c);
    let detail = if !is_text(&outline.field.ty) {
        "only a text is code of a language; its type is `str` or `str?`"
    } else if outline.format.is_some() {
        "code has no `format`: it is written into a fence"
    } else if word.is_empty() || word.chars().count() > LANGUAGE || !word.chars().all(is_sign) {
        "a language is 1 to 40 letters, digits or `+`, `-`, `#`, `.`, `_`, `/`"
    } else {
        return Some(word.clone());
    };
    problems.add(at, Code::InvalidValue, detail);
    None
}

/// Whether values are texts, or null.
fn is_text(ty: &TypeIR) -> bool {
    *ty == TypeIR::Str || *ty == TypeIR::Str.optional()
}

fn read_format(word: &str, at: &At<'_>, problems: &mut Problems) -> Option<FieldFormat> {
    let found = FieldFormat::named(word);
    if found.is_none() {
        problems.add(at, Code::InvalidValue, "`format` must be `json`, `yaml` or `text`");
    }
    found
}
