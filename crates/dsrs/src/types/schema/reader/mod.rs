//! Reads one JSON Schema as one type with its notes. Knows the names of the definitions that
//! references mean, but not how the definitions are read. The children are parts of the reader: they
//! read members of schemas by calling it again.

mod combined;
mod containers;
mod shape_type;
mod source;
mod values;

use std::sync::Arc;

use indexmap::IndexMap;

use self::shape_type::{class_fields, union};
use self::source::source;
use self::values::{JsonKind, read_kinds};
use super::super::judge::report_broken;
use super::keywords::{KeywordGroup, check_keywords};
use super::notes::SchemaNotes;
use super::parts::ValuePart;
use super::references::SchemaReferences;
use crate::problem::{At, Code, Problems};
use crate::types::field::FieldOutline;
use crate::types::parse_expr::DEPTH_LIMIT;
use crate::types::scope::DefaultOwner;
use crate::types::{Class, ClassField, Enum, EnumMember, TypeDef, TypeIR, TypeScope};
use crate::value::{Map, Payload};

/// The content of a schema before it is a type or a definition.
#[derive(Clone, Debug)]
pub(super) enum SchemaShape {
    /// Named members.
    Object(Vec<(Arc<str>, FieldOutline)>),
    /// The members of an enum.
    Enum(IndexMap<Arc<str>, EnumMember>),
    /// Anything else.
    Type(TypeIR),
}

/// Reads the schemas of one document.
pub(super) struct SchemaReader<'s, 'r> {
    pub(super) scope: &'s mut TypeScope,
    pub(super) refs: &'r SchemaReferences,
    /// The place of the document.
    root: &'r At<'r>,
    pub(super) depth: usize,
    /// The inline definitions that contain the current schema.
    pub(super) within: Vec<String>,
}

impl<'s, 'r> SchemaReader<'s, 'r> {
    pub(super) const fn new(
        scope: &'s mut TypeScope,
        refs: &'r SchemaReferences,
        root: &'r At<'r>,
    ) -> Self {
        Self { scope, refs, root, depth: 0, within: Vec::new() }
    }

    pub(super) const fn root(&self) -> &'r At<'r> {
        self.root
    }

    /// A schema whose notes become attributes of a field.
    pub(super) fn field(
        &mut self,
        payload: &Payload,
        hint: &str,
        required: bool,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<FieldOutline> {
        let (shape, notes) = self.schema(payload, hint, at, problems)?;
        let name = notes.title.as_deref().unwrap_or(hint);
        let known = self.known(&shape, notes.description.as_ref(), name);
        let mut ty = known.unwrap_or_else(|| self.close(shape, None, name, at, problems));
        if !required && notes.default.is_none() {
            ty = ty.optional();
        }
        Some(self.outline(ty, notes, at, problems))
    }

    /// A type and notes as a field.
    pub(super) fn outline(
        &mut self,
        ty: TypeIR,
        notes: SchemaNotes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> FieldOutline {
        let owner = if self.depth == 0 { DefaultOwner::Field } else { DefaultOwner::Definition };
        let (constraints, place) = (notes.constraints_on(&ty), at.key("default"));
        let default = notes
            .default
            .as_ref()
            .and_then(|default| self.scope.fit_default(default, &ty, owner, &place, problems));
        if let Some(default) = &default {
            report_broken(&constraints, "default", default, &place, problems);
        }
        let field = ClassField {
            description: notes.description_text(),
            constraints,
            alias: notes.alias,
            default,
            strict: notes.strict.unwrap_or_default(),
            ty,
        };
        FieldOutline { field, format: notes.prompt_format, language: None, reasoning: false }
    }

    /// A schema in a place for a type only: notes are problems.
    pub(super) fn bare(
        &mut self,
        payload: &Payload,
        hint: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<TypeIR> {
        let (ty, notes) = self.typed(payload, hint, at, problems)?;
        notes.refuse(at, problems);
        Some(ty)
    }

    /// A schema of a part of a value. Its notes are added to those of the whole.
    pub(super) fn part(
        &mut self,
        payload: &Payload,
        hint: &str,
        part: &ValuePart<'_>,
        notes: &mut SchemaNotes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<TypeIR> {
        let (ty, inner) = self.typed(payload, hint, at, problems)?;
        notes.absorb_part(inner, part, &ty, at, problems);
        Some(ty)
    }

    /// A schema as a type, and the notes that a type cannot represent.
    pub(super) fn typed(
        &mut self,
        payload: &Payload,
        hint: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<(TypeIR, SchemaNotes)> {
        let (shape, mut notes) = self.schema(payload, hint, at, problems)?;
        let description = match shape {
            SchemaShape::Type(_) => None,
            _ => notes.description.take(),
        };
        let name = notes.title.as_deref().unwrap_or(hint);
        let ty = self.close(shape, description, name, at, problems);
        Some((ty, notes))
    }

    /// A schema as a definition, and the notes that a definition cannot represent.
    pub(super) fn definition(
        &mut self,
        payload: &Payload,
        hint: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<(TypeDef, SchemaNotes)> {
        let (shape, mut notes) = self.schema(payload, hint, at, problems)?;
        let def = match shape {
            SchemaShape::Object(fields) => {
                let fields = class_fields(fields, at, problems);
                TypeDef::Class(Class { description: notes.description.take(), fields })
            }
            SchemaShape::Enum(members) => TypeDef::Enum(Enum {
                description: notes.description.take(),
                members,
                ..Enum::default()
            }),
            SchemaShape::Type(ty) => TypeDef::Alias(ty),
        };
        Some((def, notes))
    }

    /// The shape and the notes of a schema.
    pub(super) fn schema(
        &mut self,
        payload: &Payload,
        hint: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<(SchemaShape, SchemaNotes)> {
        let map = match payload {
            Payload::Map(map) => map,
            Payload::Bool(true) => {
                return Some((SchemaShape::Type(TypeIR::Any), SchemaNotes::default()));
            }
            other => {
                let detail = format!("expected a JSON Schema object, found {}", other.kind());
                problems.add(at, Code::InvalidType, detail);
                return None;
            }
        };
        if !self.scope.count_schema(at, problems) {
            return None;
        }
        if self.depth >= DEPTH_LIMIT {
            let detail = format!("types nest at most {DEPTH_LIMIT} levels deep");
            problems.add(at, Code::InvalidType, detail);
            return None;
        }
        self.depth += 1;
        let mut notes = SchemaNotes::read(map, at, problems);
        let shape = self.shape(map, hint, &mut notes, at, problems);
        self.depth -= 1;
        let mut shape = shape?;
        if map.get("nullable") == Some(&Payload::Bool(true)) {
            let name = notes.title.as_deref().unwrap_or(hint);
            shape = SchemaShape::Type(self.close(shape, None, name, at, problems).optional());
        }
        Some((shape, notes))
    }

    fn shape(
        &mut self,
        map: &Map,
        hint: &str,
        notes: &mut SchemaNotes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<SchemaShape> {
        let kinds = read_kinds(map, at, problems)?;
        let source = source(map, at, problems)?;
        let groups: Vec<KeywordGroup> = match source {
            Some(_) => Vec::new(),
            None => kinds.iter().filter_map(|kind| kind.group()).collect(),
        };
        check_keywords(map, &groups, self.depth == 1, at, problems);
        if map.contains_key("x-dsrs-enum") && !map.contains_key("enum") {
            let detail = "`x-dsrs-enum` requires an `enum` of strings";
            problems.add(&at.key("x-dsrs-enum"), Code::InvalidType, detail);
        }
        if map.get("nullable").is_some_and(|flag| !matches!(flag, Payload::Bool(_))) {
            let detail = "`nullable` must be true or false";
            problems.add(&at.key("nullable"), Code::InvalidType, detail);
        }
        if kinds.iter().filter(|kind| **kind != JsonKind::Null).count() > 1 {
            notes.part_limits();
        }
        match source {
            Some((word @ ("enum" | "const"), value)) => {
                let explained = map.get("x-dsrs-enum");
                values::fixed(word, value, explained, &kinds, at, problems)
            }
            Some(("$ref", value)) => self.reference(value, notes, &at.key("$ref"), problems),
            Some(("x-dsrs-type", value)) => {
                let found = value.as_str() == Some("error");
                if !found {
                    let detail = "`x-dsrs-type` must be `error`";
                    problems.add(&at.key("x-dsrs-type"), Code::InvalidType, detail);
                }
                found.then_some(SchemaShape::Type(TypeIR::Error))
            }
            Some((word, value)) => self.combined(word, value, hint, notes, &at.key(word), problems),
            None => self.kinds(map, &kinds, hint, notes, at, problems),
        }
    }

    fn kinds(
        &mut self,
        map: &Map,
        kinds: &[JsonKind],
        hint: &str,
        notes: &mut SchemaNotes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<SchemaShape> {
        match kinds {
            [] => Some(SchemaShape::Type(TypeIR::Any)),
            [only] => self.kind(*only, map, hint, notes, at, problems),
            several => {
                let name = notes.title.clone();
                let mut found = Vec::new();
                for kind in several {
                    let shape = self.kind(*kind, map, hint, notes, at, problems)?;
                    let name = name.as_deref().unwrap_or(hint);
                    found.push(self.close(shape, None, name, at, problems));
                }
                Some(SchemaShape::Type(union(found, at, problems)))
            }
        }
    }

    fn kind(
        &mut self,
        kind: JsonKind,
        map: &Map,
        hint: &str,
        notes: &mut SchemaNotes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<SchemaShape> {
        let ty = match kind {
            JsonKind::Object => return self.object(map, hint, notes, at, problems),
            JsonKind::Array => self.array(map, hint, notes, at, problems)?,
            JsonKind::Text => values::text_type(map, notes, at, problems),
            JsonKind::Integer => values::whole_number(notes, at),
            JsonKind::Number => values::number(notes),
            JsonKind::Flag => TypeIR::Bool,
            JsonKind::Null => TypeIR::Null,
        };
        Some(SchemaShape::Type(ty))
    }
}
