//! Adds the `$defs` of a JSON Schema to the definitions of the graph. An identical definition is
//! shared; one whose name is taken by another gets a new name.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::keywords::group;
use super::reader::SchemaReader;
use super::references::{InlineDefinition, SchemaReferences, at_path};
use crate::problem::{At, Code, Problems};
use crate::types::names::{definition_name, legal_name};
use crate::types::scope::too_many;
use crate::types::{TypeDef, TypeIR, TypeScope};
use crate::value::{Map, Payload};

/// A definition of a document, not read yet.
struct DefinitionEntry<'v> {
    /// The reference to it.
    pointer: String,
    /// The members that lead to it.
    path: Vec<String>,
    /// The name that it should have.
    key: String,
    schema: &'v Payload,
    /// The number of names tried, counting this one.
    count: usize,
}

/// Adds the definitions of a document to the scope. `own` is a definition that already has a name:
/// it is returned instead of added.
pub(super) fn add_definitions(
    map: &Map,
    own: Option<(&str, &Arc<str>)>,
    root: Option<&Arc<str>>,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> (SchemaReferences, Option<TypeDef>) {
    let mut entries = entries(map, at, problems);
    if let Some(entry) = scope.excess(entries.iter()) {
        at_path(at, &entry.path, |place| problems.add(place, Code::TooLarge, too_many()));
        return (SchemaReferences::default(), None);
    }
    let mut inlined = IndexMap::new();
    loop {
        let mut attempt = scope.clone();
        let mut found = Problems::new();
        let mut refs = name_all(&mut entries, own);
        refs.root = root.cloned();
        refs.inlined = inlined.clone();
        let bodies = read_all(&entries, &refs, own, &mut attempt, at, &mut found);
        let before = entries.len();
        let mut read = bodies.iter();
        entries.retain(|entry| {
            let inline = matches!(read.next(), Some(DefinitionBody::Inline));
            if inline {
                inlined.insert(entry.pointer.clone(), entry.inlined());
            }
            !inline
        });
        if entries.len() < before {
            continue;
        }
        let clashes = clashes(&entries, &refs, &bodies, own, scope);
        if clashes.is_empty() {
            let own_body = define_all(&entries, refs.clone(), bodies, own, &mut attempt, at);
            *scope = attempt;
            problems.append(found);
            return (refs, own_body);
        }
        for index in clashes {
            if let Some(entry) = entries.get_mut(index) {
                entry.count += 1;
            }
        }
    }
}

/// The result of reading a definition.
enum DefinitionBody {
    Read(TypeDef),
    Broken,
    /// It has keywords that only a field supports: it is read at each use.
    Inline,
}

fn entries<'v>(map: &'v Map, at: &At<'_>, problems: &mut Problems) -> Vec<DefinitionEntry<'v>> {
    let mut found: Vec<DefinitionEntry<'v>> = Vec::new();
    for section in ["$defs", "definitions"] {
        let Some(payload) = map.get(section) else { continue };
        let Some(members) = payload.as_map() else {
            crate::read::wrong_type(&at.key(section), problems, "an object", payload);
            continue;
        };
        found.extend(members.iter().map(|(key, schema)| DefinitionEntry {
            pointer: format!("#/{section}/{}", key.replace('~', "~0").replace('/', "~1")),
            path: vec![section.to_owned(), key.to_string()],
            key: key.to_string(),
            schema,
            count: 1,
        }));
    }
    let mut elsewhere = Vec::new();
    map.values().for_each(|member| references(member, &mut elsewhere));
    let mut known: HashSet<String> = found.iter().map(|entry| entry.pointer.clone()).collect();
    for pointer in elsewhere {
        if known.insert(pointer.to_owned()) {
            found.extend(entry_elsewhere(map, pointer));
        }
    }
    found
}

/// The references of a schema into its document.
fn references<'v>(payload: &'v Payload, found: &mut Vec<&'v str>) {
    match payload {
        Payload::Map(map) => {
            for (name, member) in map.iter() {
                match member.as_str() {
                    Some(target) if name.as_ref() == "$ref" && target.starts_with("#/") => {
                        found.push(target);
                    }
                    _ => references(member, found),
                }
            }
        }
        Payload::List(elements) => elements.iter().for_each(|member| references(member, found)),
        _ => {}
    }
}

/// A schema inside another one that a reference addresses by its place. zod-to-json-schema writes
/// repeated schemas like this.
fn entry_elsewhere<'v>(map: &'v Map, pointer: &str) -> Option<DefinitionEntry<'v>> {
    let unescape = |part: &str| part.replace("~1", "/").replace("~0", "~");
    let path: Vec<String> = pointer.strip_prefix("#/")?.split('/').map(unescape).collect();
    let (first, rest) = path.split_first()?;
    let mut schema = map.get(first.as_str())?;
    for part in rest {
        schema = match schema {
            Payload::Map(map) => map.get(part.as_str())?,
            Payload::List(elements) => elements.get(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    let named =
        path.iter().rev().find(|part| group(part).is_none() && part.parse::<usize>().is_err());
    let key = definition_name(named.map_or("", String::as_str)).to_string();
    Some(DefinitionEntry { pointer: pointer.to_owned(), path, key, schema, count: 1 })
}

impl DefinitionEntry<'_> {
    fn is(&self, own: Option<(&str, &Arc<str>)>) -> bool {
        own.is_some_and(|(pointer, _)| pointer == self.pointer)
    }

    fn name(&self) -> Arc<str> {
        let name = legal_name(&self.key);
        if self.count == 1 {
            return name;
        }
        let stem: String = name.chars().take(56).collect();
        format!("{stem}_{}", self.count).into()
    }

    fn inlined(&self) -> InlineDefinition {
        InlineDefinition { schema: self.schema.clone(), path: self.path.clone() }
    }
}

/// Gives every definition a distinct name.
fn name_all(
    entries: &mut [DefinitionEntry<'_>],
    own: Option<(&str, &Arc<str>)>,
) -> SchemaReferences {
    let mut names: IndexMap<String, Arc<str>> = IndexMap::new();
    let mut taken: HashSet<Arc<str>> = HashSet::new();
    for entry in entries.iter_mut() {
        let name = match own {
            Some((_, name)) if entry.is(own) => name.clone(),
            _ => {
                while taken.contains(&entry.name()) {
                    entry.count += 1;
                }
                entry.name()
            }
        };
        taken.insert(name.clone());
        names.insert(entry.pointer.clone(), name);
    }
    SchemaReferences { names, ..SchemaReferences::default() }
}

fn read_all(
    entries: &[DefinitionEntry<'_>],
    refs: &SchemaReferences,
    own: Option<(&str, &Arc<str>)>,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Vec<DefinitionBody> {
    for name in refs.names.values() {
        if !scope.is_defined(name) {
            scope.declare(name);
        }
    }
    let mut bodies = Vec::new();
    for entry in entries {
        let mut reader = SchemaReader::new(scope, refs, at);
        bodies.push(at_path(at, &entry.path, |place| {
            match reader.definition(entry.schema, &entry.key, place, problems) {
                None => DefinitionBody::Broken,
                Some((def, notes)) if notes.is_empty() => DefinitionBody::Read(def),
                Some((def, notes)) if entry.is(own) => {
                    notes.refuse(place, problems);
                    DefinitionBody::Read(def)
                }
                Some(_) => DefinitionBody::Inline,
            }
        }));
    }
    bodies
}

/// The definitions whose names belong to other definitions.
fn clashes(
    entries: &[DefinitionEntry<'_>],
    refs: &SchemaReferences,
    bodies: &[DefinitionBody],
    own: Option<(&str, &Arc<str>)>,
    scope: &TypeScope,
) -> Vec<usize> {
    let taken = |index: usize, entry: &DefinitionEntry<'_>| {
        let name = refs.names.get(&entry.pointer)?;
        let found = scope.defs().get(name)?;
        let DefinitionBody::Read(body) = bodies.get(index)? else { return None };
        Some(!entry.is(own) && (scope.is_pending(name) || found != body))
    };
    let all = entries.iter().enumerate();
    all.filter(|(index, entry)| taken(*index, entry) == Some(true))
        .map(|(index, _)| index)
        .collect()
}

fn define_all(
    entries: &[DefinitionEntry<'_>],
    refs: SchemaReferences,
    bodies: Vec<DefinitionBody>,
    own: Option<(&str, &Arc<str>)>,
    scope: &mut TypeScope,
    at: &At<'_>,
) -> Option<TypeDef> {
    let mut own_body = None;
    for ((entry, name), body) in entries.iter().zip(refs.names.into_values()).zip(bodies) {
        let body = if let DefinitionBody::Read(def) = body { Some(def) } else { None };
        if entry.is(own) {
            own_body = body;
        } else if scope.is_pending(&name) {
            let body = body.unwrap_or(TypeDef::Alias(TypeIR::Any));
            at_path(at, &entry.path, |place| scope.define(name, body, place));
        }
    }
    own_body
}

/// Whether a schema refers to its own root.
pub(super) fn names_root(payload: &Payload) -> bool {
    match payload {
        Payload::Map(map) => map.iter().any(|(name, member)| {
            (name.as_ref() == "$ref" && member.as_str() == Some("#")) || names_root(member)
        }),
        Payload::List(elements) => elements.iter().any(names_root),
        _ => false,
    }
}
