//! The keyword of a schema that defines its type, and references to other schemas.

use std::sync::Arc;

use super::{SchemaReader, SchemaShape};
use crate::problem::{At, Code, Problems};
use crate::types::TypeIR;
use crate::types::schema::notes::SchemaNotes;
use crate::types::schema::references::{InlineDefinition, at_path};
use crate::value::{Map, Payload};

/// The keyword other than `type` that defines the type. A schema has at most one of them.
pub(super) fn source<'m>(
    map: &'m Map,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Option<(&'static str, &'m Payload)>> {
    let words = ["x-dsrs-type", "$ref", "enum", "const", "anyOf", "oneOf", "allOf"];
    let mut found = words.into_iter().filter_map(|word| map.get(word).map(|value| (word, value)));
    let Some(first) = found.next() else { return Some(None) };
    let with_type = map.contains_key("type") && !["enum", "const"].contains(&first.0);
    let second = found.next().map(|(word, _)| word).or(with_type.then_some("type"));
    if let Some(second) = second {
        let detail =
            format!("`{second}` cannot be combined with `{}`; define the type only once", first.0);
        problems.add(&at.key(second), Code::InvalidType, detail);
        return None;
    }
    Some(Some(first))
}

impl SchemaReader<'_, '_> {
    pub(super) fn reference(
        &mut self,
        value: &Payload,
        notes: &mut SchemaNotes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<SchemaShape> {
        let target = crate::read::text(value, at, problems)?;
        let pointer = target.replace("%20", " ");
        if let Some(inlined) = self.refs.inlined.get(&pointer) {
            return self.inline(&pointer, inlined, notes, at, problems);
        }
        let found = match (&self.refs.root, pointer.as_str()) {
            (Some(root), "#") => Some(root.clone()),
            (_, pointer) => {
                self.refs.names.get(pointer).cloned().or_else(|| self.graph_type(pointer))
            }
        };
        if found.is_none() {
            let detail = if pointer.starts_with("#/") {
                format!("nothing is defined at `{target}`")
            } else {
                format!("`{target}` is not supported; a reference is `#` or `#/$defs/NAME`")
            };
            problems.add(at, Code::InvalidType, detail);
        }
        found.map(|name| SchemaShape::Type(TypeIR::Named(name)))
    }

    /// A definition of the graph: a schema may refer to it like to one of its own.
    fn graph_type(&self, pointer: &str) -> Option<Arc<str>> {
        let name = pointer.strip_prefix("#/$defs/")?;
        self.scope.is_defined(name).then(|| Arc::from(name))
    }

    /// Reads a definition in the place of the reference.
    fn inline(
        &mut self,
        pointer: &str,
        inlined: &InlineDefinition,
        notes: &mut SchemaNotes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<SchemaShape> {
        if self.within.iter().any(|outer| outer == pointer) {
            let detail = format!(
                "`{pointer}` refers to itself and has keywords that only a field supports, such as \
                 `default`; remove them"
            );
            problems.add(at, Code::InvalidType, detail);
            return None;
        }
        self.within.push(pointer.to_owned());
        let hint = inlined.path.last().map_or("", String::as_str);
        let read = at_path(self.root(), &inlined.path, |place| {
            self.schema(&inlined.schema, hint, place, problems)
        });
        self.within.pop();
        let (shape, inner) = read?;
        notes.absorb(inner);
        Some(shape)
    }
}
