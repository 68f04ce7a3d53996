//! A JSON Schema with its `$defs`, which are lifted into the graph's definitions: one that is there
//! already is shared, one that clashes gets another name.

use std::sync::Arc;

use indexmap::IndexMap;

use super::reader::{Reader, Refs};
use crate::problem::{At, Problems};
use crate::types::names::legal_name;
use crate::types::{TypeDef, TypeScope};
use crate::value::{Map, Payload};

/// A definition of a document.
struct Entry<'v> {
    section: &'static str,
    key: &'v Arc<str>,
    schema: &'v Payload,
    /// How often its name was found taken.
    count: usize,
}

/// Lifts the definitions of a document. `own` is one that already has its name: its definition is
/// handed back instead.
pub(super) fn lift_definitions(
    map: &Map,
    own: Option<(&str, &Arc<str>)>,
    root: Option<&Arc<str>>,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> (Refs, Option<TypeDef>) {
    let mut entries = entries(map, at, problems);
    loop {
        let mut attempt = scope.clone();
        let mut found = Problems::new();
        let mut refs = name_all(&mut entries, own);
        refs.root = root.cloned();
        let bodies = read_all(&entries, &refs, &mut attempt, at, &mut found);
        let clashes = clashes(&entries, &refs, &bodies, own, scope);
        if clashes.is_empty() {
            let own_body = define_all(&entries, refs.clone(), bodies, own, &mut attempt, at);
            *scope = attempt;
            problems.extend(found);
            return (refs, own_body);
        }
        for index in clashes {
            if let Some(entry) = entries.get_mut(index) {
                entry.count += 1;
            }
        }
    }
}

fn entries<'v>(map: &'v Map, at: &At<'_>, problems: &mut Problems) -> Vec<Entry<'v>> {
    let mut found = Vec::new();
    for section in ["$defs", "definitions"] {
        let Some(payload) = map.get(section) else { continue };
        let Some(members) = payload.as_map() else {
            crate::read::wrong_type(&at.key(section), problems, "an object", payload);
            continue;
        };
        found.extend(members.iter().map(|(key, schema)| Entry { section, key, schema, count: 1 }));
    }
    found
}

impl Entry<'_> {
    fn pointer(&self) -> String {
        let key = self.key.replace('~', "~0").replace('/', "~1");
        format!("#/{}/{key}", self.section)
    }

    fn is(&self, own: Option<(&str, &Arc<str>)>) -> bool {
        own.is_some_and(|(pointer, _)| pointer == self.pointer())
    }

    fn name(&self) -> Arc<str> {
        let name = legal_name(self.key);
        if self.count == 1 {
            return name;
        }
        let stem: String = name.chars().take(56).collect();
        format!("{stem}_{}", self.count).into()
    }
}

/// A name for every definition, no two alike.
fn name_all(entries: &mut [Entry<'_>], own: Option<(&str, &Arc<str>)>) -> Refs {
    let mut names: IndexMap<String, Arc<str>> = IndexMap::new();
    for entry in entries.iter_mut() {
        let name = match own {
            Some((_, name)) if entry.is(own) => name.clone(),
            _ => {
                while names.values().any(|taken| *taken == entry.name()) {
                    entry.count += 1;
                }
                entry.name()
            }
        };
        names.insert(entry.pointer(), name);
    }
    Refs { names, root: None }
}

fn read_all(
    entries: &[Entry<'_>],
    refs: &Refs,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Vec<Option<TypeDef>> {
    for name in refs.names.values() {
        if !scope.is_defined(name) {
            scope.declare(name);
        }
    }
    let mut bodies = Vec::new();
    for entry in entries {
        let section = at.key(entry.section);
        let mut reader = Reader { scope, refs, depth: 0 };
        bodies.push(reader.definition(entry.schema, entry.key, &section.key(entry.key), problems));
    }
    bodies
}

/// The definitions whose names stand for something else.
fn clashes(
    entries: &[Entry<'_>],
    refs: &Refs,
    bodies: &[Option<TypeDef>],
    own: Option<(&str, &Arc<str>)>,
    scope: &TypeScope,
) -> Vec<usize> {
    let taken = |index: usize, entry: &Entry<'_>| {
        let name = refs.names.get(&entry.pointer())?;
        let found = scope.defs().get(name)?;
        let body = bodies.get(index)?.as_ref()?;
        Some(!entry.is(own) && (scope.is_pending(name) || found != body))
    };
    let all = entries.iter().enumerate();
    all.filter(|(index, entry)| taken(*index, entry) == Some(true))
        .map(|(index, _)| index)
        .collect()
}

fn define_all(
    entries: &[Entry<'_>],
    refs: Refs,
    bodies: Vec<Option<TypeDef>>,
    own: Option<(&str, &Arc<str>)>,
    scope: &mut TypeScope,
    at: &At<'_>,
) -> Option<TypeDef> {
    let mut own_body = None;
    for ((entry, name), body) in entries.iter().zip(refs.names.into_values()).zip(bodies) {
        if entry.is(own) {
            own_body = body;
        } else if scope.is_pending(&name) {
            let section = at.key(entry.section);
            let body = body.unwrap_or(TypeDef::Alias(crate::types::TypeIR::Any));
            scope.define(name, body, &section.key(entry.key));
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
