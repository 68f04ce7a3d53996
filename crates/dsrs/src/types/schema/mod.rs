//! Reads JSON Schemas (a subset of draft 2020-12) as types, and writes types as JSON Schemas. A
//! keyword that no type can represent is reported with its place, never dropped. Knows nothing of
//! signatures and nodes.

mod document;
mod keywords;
mod limits;
mod notes;
mod parts;
mod reader;
mod references;
mod write;

use std::sync::Arc;

use self::document::{add_definitions, names_root};
use self::keywords::{KeywordGroup, group};
use self::notes::SchemaNotes;
use self::reader::{SchemaReader, SchemaShape};
use self::references::SchemaReferences;
use super::field::FieldOutline;
use super::names::definition_name;
use super::{TypeDef, TypeIR, TypeScope};
use crate::problem::{At, Code, Problems};
use crate::value::Payload;

pub(super) use keywords::looks_like_schema;
pub(super) use write::alias_to_schema;
pub use write::to_json_schema;

/// Reads a schema in a place for a type only.
pub(super) fn read_type(
    payload: &Payload,
    hint: &str,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<TypeIR> {
    if names_root(payload) {
        let (ty, notes) = read_recursive(payload, hint, scope, at, problems)?;
        notes.refuse(at, problems);
        return Some(ty);
    }
    let ty = read_with(payload, scope, at, problems, |reader, problems| {
        reader.bare(payload, hint, at, problems)
    });
    scope.settle(problems);
    ty
}

/// Reads a schema in the place of a field: its description, default and so on become attributes.
pub(super) fn read_field(
    payload: &Payload,
    hint: &str,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<FieldOutline> {
    if names_root(payload) {
        let (ty, notes) = read_recursive(payload, hint, scope, at, problems)?;
        let refs = SchemaReferences::default();
        return Some(SchemaReader::new(scope, &refs, at).outline(ty, notes, at, problems));
    }
    let outline = read_with(payload, scope, at, problems, |reader, problems| {
        reader.field(payload, hint, true, at, problems)
    });
    scope.settle(problems);
    outline
}

/// Reads an entry of `types` that is a schema.
pub(super) fn read_definition(
    name: &Arc<str>,
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<TypeDef> {
    let map = payload.as_map()?;
    let own = own_definition(payload).map(|pointer| (pointer, name));
    let (refs, body) = add_definitions(map, own, Some(name), scope, at, problems);
    if own.is_some() && body.is_some() {
        return body;
    }
    let (def, notes) =
        SchemaReader::new(scope, &refs, at).definition(payload, name, at, problems)?;
    notes.refuse(at, problems);
    Some(def)
}

/// The reference of a schema that is only a reference into its own `$defs`.
fn own_definition(payload: &Payload) -> Option<&str> {
    let map = payload.as_map()?;
    let target = map.get("$ref")?.as_str()?;
    let silent = |name: &str| {
        name == "$ref"
            || matches!(group(name), Some(KeywordGroup::Annotation | KeywordGroup::Definitions))
    };
    let inside = target.strip_prefix("#/$defs/")?;
    let defined = map.get("$defs")?.as_map()?.contains_key(inside);
    (defined && map.keys().all(|name| silent(name))).then_some(target)
}

/// The description and the fields of an object schema.
pub(crate) type ObjectFields = (Option<Arc<str>>, Vec<(Arc<str>, FieldOutline)>);

/// Reads the description and the fields of an object schema.
pub(crate) fn read_object_fields(
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<ObjectFields> {
    let found = read_with(payload, scope, at, problems, |reader, problems| {
        reader.schema(payload, "Fields", at, problems)
    });
    scope.settle(problems);
    let (shape, mut notes) = found?;
    let mut description = notes.description.take();
    notes.refuse(at, problems);
    let named = match &shape {
        SchemaShape::Type(TypeIR::Named(name)) => scope.defs().get(name),
        _ => None,
    };
    let fields = match (shape, named) {
        (SchemaShape::Object(fields), _) => fields,
        (_, Some(TypeDef::Class(class))) => {
            description = description.or_else(|| class.description.clone());
            let outline = |field: &super::ClassField| FieldOutline {
                field: field.clone(),
                ..FieldOutline::of(field.ty.clone())
            };
            class.fields.iter().map(|(name, field)| (name.clone(), outline(field))).collect()
        }
        _ => {
            let detail = "expected an object schema with `properties`, one for each field";
            problems.add(at, Code::InvalidSignature, detail);
            return None;
        }
    };
    Some((description, fields))
}

/// Reads a schema that refers to its own root: it becomes a definition. Returns the notes that a
/// definition cannot represent.
fn read_recursive(
    payload: &Payload,
    hint: &str,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<(TypeIR, SchemaNotes)> {
    let map = payload.as_map()?;
    let title = map.get("title").and_then(Payload::as_str).unwrap_or(hint);
    let mut count = 0;
    loop {
        // The definition refers to its own name, so it can only be compared under that name.
        count += 1;
        let preferred = definition_name(title);
        let name: Arc<str> =
            if count == 1 { preferred } else { format!("{preferred}_{count}").into() };
        let mut attempt = scope.clone();
        let mut found = Problems::new();
        let taken = scope.defs().get(&name);
        if taken.is_none() {
            attempt.declare(&name);
        }
        let (refs, _) = add_definitions(map, None, Some(&name), &mut attempt, at, &mut found);
        let mut reader = SchemaReader::new(&mut attempt, &refs, at);
        let (def, notes) = reader.definition(payload, hint, at, &mut found).unzip();
        let differs = taken.is_some_and(|taken| def.as_ref().is_some_and(|def| def != taken));
        if differs || scope.is_pending(&name) {
            continue;
        }
        if taken.is_none() {
            let def = def.unwrap_or(TypeDef::Alias(TypeIR::Any));
            attempt.define(name.clone(), def, at);
        }
        *scope = attempt;
        problems.append(found);
        scope.settle(problems);
        return Some((TypeIR::Named(name), notes.unwrap_or_default()));
    }
}

fn read_with<T>(
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
    read: impl FnOnce(&mut SchemaReader<'_, '_>, &mut Problems) -> T,
) -> T {
    let empty = crate::value::Map::new();
    let map = payload.as_map().unwrap_or(&empty);
    let (refs, _) = add_definitions(map, None, None, scope, at, problems);
    read(&mut SchemaReader::new(scope, &refs, at), problems)
}
