//! Converts Facet shapes to types. Structs and enums become definitions under their Rust names, which
//! makes recursive types possible. Transparent newtypes, boxes and smart pointers have the type of
//! their content.

use std::collections::HashMap;
use std::sync::Arc;

use facet::{
    ConstTypeId, Def, Facet, Field, ScalarType, Shape, StructKind, Type as FacetType, UserType,
    Variant,
};

use super::ReflectError;
use crate::attrs::{self, Attr, ConstraintAttr};
use crate::types::explain_expression;
use crate::types::{
    Class, ClassField, Constraint, ConstraintKind, Enum, EnumMember, Literal, TypeDef, TypeDefs,
    TypeIR,
};
use crate::value::Payload;

/// A field after flattening, with its path.
#[derive(Clone, Debug)]
pub struct FlatField {
    /// The field as its struct declares it.
    pub field: &'static Field,
    /// The Rust names from the outermost struct down to it.
    pub path: Vec<Arc<str>>,
}

impl FlatField {
    /// The name of the field in data.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.field.effective_name()
    }
}

/// The fields of a struct in order, with flattened structs replaced by their fields.
///
/// # Errors
/// If the shape or a flattened field is not a struct with named fields.
pub fn flat_fields(shape: &'static Shape) -> Result<Vec<FlatField>, ReflectError> {
    let mut fields = Vec::new();
    flatten(shape, &[], &mut fields)?;
    Ok(fields)
}

fn flatten(
    shape: &'static Shape,
    prefix: &[Arc<str>],
    out: &mut Vec<FlatField>,
) -> Result<(), ReflectError> {
    let FacetType::User(UserType::Struct(found)) = shape.ty else {
        let reason =
            format!("`{shape}` is not a struct with named fields, so it cannot be flattened");
        return Err(ReflectError::new(reason));
    };
    if found.kind != StructKind::Struct && !found.fields.is_empty() {
        let reason = format!("`{shape}` has fields without names; name them");
        return Err(ReflectError::new(reason));
    }
    for field in found.fields {
        let path: Vec<Arc<str>> = prefix.iter().cloned().chain([Arc::from(field.name)]).collect();
        if field.is_flattened() {
            flatten(field.shape(), &path, out).map_err(|error| error.below(field.name))?;
        } else {
            out.push(FlatField { field, path });
        }
    }
    Ok(())
}

/// Collects the types of shapes and the definitions that they refer to.
#[derive(Debug, Default)]
pub struct ShapeTypes {
    defs: TypeDefs,
    names: HashMap<ConstTypeId, Arc<str>>,
}

impl ShapeTypes {
    /// The definitions so far.
    #[must_use]
    pub fn finish(self) -> TypeDefs {
        self.defs
    }

    /// The type of a shape.
    ///
    /// # Errors
    /// For types that data cannot represent: keys other than strings, references, trait objects.
    pub fn type_of(&mut self, shape: &'static Shape) -> Result<TypeIR, ReflectError> {
        if let Some(scalar) = shape.scalar_type() {
            return self::scalar(scalar, shape);
        }
        if shape.id == Payload::SHAPE.id {
            return Ok(TypeIR::Any);
        }
        match shape.def {
            Def::Option(option) => Ok(self.type_of(option.t())?.optional()),
            Def::List(list) => self.type_of(list.t()).map(TypeIR::list),
            Def::Array(array) => self.type_of(array.t()).map(TypeIR::list),
            Def::Set(set) => self.type_of(set.t()).map(TypeIR::list),
            Def::Map(map) => {
                if map.k().scalar_type() != Some(ScalarType::String) {
                    let reason = format!("the keys of a map are String, not `{}`", map.k());
                    return Err(ReflectError::new(reason));
                }
                self.type_of(map.v()).map(TypeIR::dict)
            }
            Def::Pointer(pointer) => match pointer.pointee() {
                Some(inner) => self.type_of(inner),
                None => Err(unsupported(shape)),
            },
            _ => self.user_type(shape),
        }
    }

    fn user_type(&mut self, shape: &'static Shape) -> Result<TypeIR, ReflectError> {
        if let Some(inner) = shape.inner.filter(|_| shape.is_transparent()) {
            return self.type_of(inner);
        }
        match shape.ty {
            FacetType::User(UserType::Struct(found)) => match found.kind {
                StructKind::Unit => Ok(TypeIR::Null),
                StructKind::Tuple | StructKind::TupleStruct => self.tuple(found.fields),
                StructKind::Struct => self.named(shape, |types| {
                    let description = docs(shape.doc);
                    Ok(TypeDef::Class(Class { description, fields: types.class_fields(shape)? }))
                }),
            },
            FacetType::User(UserType::Enum(found)) => {
                let plain =
                    found.variants.iter().all(|variant| variant.data.kind == StructKind::Unit);
                self.named(shape, |types| match plain {
                    true => Ok(TypeDef::Enum(plain_enum(shape, found.variants))),
                    false => types.variants(found.variants).map(TypeDef::Alias),
                })
            }
            _ => Err(unsupported(shape)),
        }
    }

    /// Adds a definition under the name of the type, or refers to it if it exists already.
    fn named(
        &mut self,
        shape: &'static Shape,
        define: impl FnOnce(&mut Self) -> Result<TypeDef, ReflectError>,
    ) -> Result<TypeIR, ReflectError> {
        if let Some(name) = self.names.get(&shape.id) {
            return Ok(TypeIR::Named(name.clone()));
        }
        let name = self.free_name(&identifier(shape));
        self.names.insert(shape.id, name.clone());
        // Insert before descending, so that definitions are in order of first mention.
        self.defs.0.insert(name.clone(), TypeDef::Alias(TypeIR::Any));
        let def = define(self).map_err(|error| error.below(&name))?;
        self.defs.0.insert(name.clone(), def);
        Ok(TypeIR::Named(name))
    }

    fn free_name(&self, preferred: &str) -> Arc<str> {
        let numbered = (2..).map(|number| format!("{preferred}_{number}"));
        let mut names = std::iter::once(preferred.to_owned()).chain(numbered);
        let free = names.find(|name| self.defs.get(name).is_none());
        free.unwrap_or_else(|| preferred.to_owned()).into()
    }

    fn tuple(&mut self, fields: &'static [Field]) -> Result<TypeIR, ReflectError> {
        let members: Result<Vec<TypeIR>, _> =
            fields.iter().map(|field| self.type_of(field.shape())).collect();
        Ok(TypeIR::Tuple(members?.into()))
    }

    fn class_fields(
        &mut self,
        shape: &'static Shape,
    ) -> Result<indexmap::IndexMap<Arc<str>, ClassField>, ReflectError> {
        let mut members = indexmap::IndexMap::new();
        for flat in flat_fields(shape)? {
            let member = self.class_field(flat.field).map_err(|e| e.below(flat.field.name))?;
            if members.insert(Arc::from(flat.name()), member).is_some() {
                let reason = format!("two fields are named `{}` after flattening", flat.name());
                return Err(ReflectError::new(reason));
            }
        }
        Ok(members)
    }

    /// A field with its attributes, except its default: that needs a value.
    ///
    /// # Errors
    /// As [`Self::type_of`].
    pub fn class_field(&mut self, field: &'static Field) -> Result<ClassField, ReflectError> {
        let mut found = ClassField::of(self.type_of(field.shape())?);
        found.description = docs(field.doc);
        for attribute in attrs::of_field(field) {
            match attribute {
                Attr::Alias(name) => found.alias = Some(name.into()),
                Attr::Check(condition) => {
                    found.constraints.push(constraint(ConstraintKind::Check, condition)?);
                }
                Attr::Assert(condition) => {
                    found.constraints.push(constraint(ConstraintKind::Assert, condition)?);
                }
                Attr::Strict => found.strict = true,
                _ => {}
            }
        }
        Ok(found)
    }

    /// An enum with fields: each variant has the type of its fields, one without fields is its name.
    fn variants(&mut self, variants: &'static [Variant]) -> Result<TypeIR, ReflectError> {
        let mut members: Vec<TypeIR> = Vec::with_capacity(variants.len());
        for variant in variants {
            let member = self.variant(variant).map_err(|error| error.below(variant.name))?;
            if members.contains(&member) {
                let reason = format!(
                    "holds the same data as another variant, so the two cannot be distinguished; \
                     give `{}` a field that the others do not have",
                    variant.name
                );
                return Err(ReflectError::new(reason));
            }
            members.push(member);
        }
        Ok(TypeIR::union(members))
    }

    pub(super) fn variant(&mut self, variant: &'static Variant) -> Result<TypeIR, ReflectError> {
        let fields = variant.data.fields;
        match (variant.data.kind, fields) {
            (StructKind::Unit, _) => {
                Ok(TypeIR::Literal(Literal::Str(Arc::from(variant.effective_name()))))
            }
            (StructKind::Struct, _) => {
                let members: Result<_, ReflectError> = fields
                    .iter()
                    .map(|field| {
                        let member = self.class_field(field).map_err(|e| e.below(field.name))?;
                        Ok((Arc::from(field.effective_name()), member))
                    })
                    .collect();
                let description = docs(variant.doc);
                Ok(TypeIR::Class(Arc::new(Class { description, fields: members? })))
            }
            (_, [single]) => self.type_of(single.shape()),
            _ => self.tuple(fields),
        }
    }
}

fn plain_enum(shape: &'static Shape, variants: &'static [Variant]) -> Enum {
    let member = |variant: &'static Variant| {
        let alias = attrs::of_variant(variant).find_map(|attribute| match attribute {
            Attr::Alias(name) => Some(Arc::from(name)),
            _ => None,
        });
        let member = EnumMember { description: docs(variant.doc), alias };
        (Arc::from(variant.effective_name()), member)
    };
    let members = variants.iter().map(member).collect();
    Enum { description: docs(shape.doc), members, ..Enum::default() }
}

fn scalar(scalar: ScalarType, shape: &'static Shape) -> Result<TypeIR, ReflectError> {
    use ScalarType as S;
    match scalar {
        S::Unit => Ok(TypeIR::Null),
        S::Bool => Ok(TypeIR::Bool),
        S::Char | S::String | S::CowStr => Ok(TypeIR::Str),
        S::F32 | S::F64 => Ok(TypeIR::Float),
        S::U8 | S::U16 | S::U32 | S::U64 | S::USize => Ok(TypeIR::Int),
        S::I8 | S::I16 | S::I32 | S::I64 | S::ISize => Ok(TypeIR::Int),
        _ => Err(unsupported(shape)),
    }
}

fn unsupported(shape: &'static Shape) -> ReflectError {
    ReflectError::new(format!("`{shape}` cannot appear in a prompt; use a type of plain data"))
}

fn constraint(kind: ConstraintKind, condition: ConstraintAttr) -> Result<Constraint, ReflectError> {
    if let Some(reason) = explain_expression(condition.expression) {
        return Err(ReflectError::new(reason));
    }
    let label = condition.label.map(Arc::from);
    Ok(Constraint { kind, expression: condition.expression.into(), label })
}

/// The name of a type and its parameters as one identifier.
fn identifier(shape: &'static Shape) -> String {
    let name = shape.to_string();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let joined = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    joined.chars().take(63).collect()
}

/// Doc lines as one description, without the space after `///`.
pub(crate) fn docs(lines: &[&str]) -> Option<Arc<str>> {
    let lines = lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line));
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = text.trim();
    (!text.is_empty()).then(|| Arc::from(text))
}
