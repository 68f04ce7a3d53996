//! Turns the shape of a schema into a type. Shapes that a type expression cannot represent become
//! definitions.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{SchemaReader, SchemaShape};
use crate::problem::{At, Code, Problems};
use crate::types::enum_members::check_seen_names;
use crate::types::field::{FieldOutline, check_alias};
use crate::types::names::definition_name;
use crate::types::parse_expr::{UNION_LIMIT, count_members};
use crate::types::{Class, ClassField, Enum, EnumMember, Literal, TypeDef, TypeIR};

impl SchemaReader<'_, '_> {
    /// The existing definition of this name, if its members and description are the same. Some
    /// libraries repeat the root schema among its own definitions and mean one class.
    pub(super) fn known(
        &self,
        shape: &SchemaShape,
        description: Option<&Arc<str>>,
        name: &str,
    ) -> Option<TypeIR> {
        let SchemaShape::Object(fields) = shape else { return None };
        let name = definition_name(name);
        let Some(TypeDef::Class(class)) = self.scope.defs().get(&name) else { return None };
        let own = fields.iter().map(|(name, outline)| (name, &outline.field));
        let same = class.fields.iter().eq(own) && class.description.as_ref() == description;
        (same && !self.scope.is_pending(&name)).then_some(TypeIR::Named(name))
    }

    /// The type of a shape. If a type expression cannot represent it, it becomes a definition.
    pub(super) fn close(
        &mut self,
        shape: SchemaShape,
        description: Option<Arc<str>>,
        name: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> TypeIR {
        let def = match shape {
            SchemaShape::Type(ty) => return ty,
            SchemaShape::Object(fields) => {
                let class = Class { description, fields: class_fields(fields, at, problems) };
                if is_plain(&class) {
                    return TypeIR::Class(Arc::new(class));
                }
                TypeDef::Class(class)
            }
            SchemaShape::Enum(members) => {
                let silent = members.values().all(|member| *member == EnumMember::default());
                if silent && description.is_none() {
                    let texts = members.into_keys().map(|text| TypeIR::Literal(Literal::Str(text)));
                    return union(texts.collect(), at, problems);
                }
                TypeDef::Enum(Enum { description, members, ..Enum::default() })
            }
        };
        self.scope.add_definition(&definition_name(name), def, at)
    }
}

/// The union of members, or a problem if there are too many.
pub(super) fn union(members: Vec<TypeIR>, at: &At<'_>, problems: &mut Problems) -> TypeIR {
    if count_members(&members) > UNION_LIMIT {
        let detail = format!("a union has at most {UNION_LIMIT} members; use an enum");
        problems.add(at, Code::InvalidType, detail);
        return TypeIR::Any;
    }
    TypeIR::union(members)
}

fn is_plain(class: &Class) -> bool {
    let plain = |field: &ClassField| {
        let ClassField { ty: _, description, alias, default, constraints, strict } = field;
        description.is_none()
            && alias.is_none()
            && default.is_none()
            && constraints.is_empty()
            && !strict
    };
    class.description.is_none() && class.fields.values().all(plain)
}

/// Checks the fields of a class.
pub(super) fn class_fields(
    fields: Vec<(Arc<str>, FieldOutline)>,
    at: &At<'_>,
    problems: &mut Problems,
) -> IndexMap<Arc<str>, ClassField> {
    let place = at.key("properties");
    let mut found = IndexMap::new();
    for (name, outline) in fields {
        let at = place.key(&name);
        if outline.format.is_some() {
            let detail = "only fields of a signature can have a format";
            problems.add(&at.key("x-dsrs-format"), Code::InvalidType, detail);
        }
        if let Some(alias) = &outline.field.alias {
            check_alias(alias, &at.key("x-dsrs-alias"), problems);
        }
        found.insert(name, outline.field);
    }
    check_seen_names(&found, &place, problems);
    found
}
