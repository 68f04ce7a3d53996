//! Resolves a type: looks up names, follows aliases, flattens unions. All decisions by type use the
//! resolved type. Knows nothing of values or notations.

use std::rc::Rc;

use super::{Class, Enum, Literal, TypeDef, TypeDefs, TypeIR};

/// A type with its names and aliases resolved.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedType<'t> {
    /// The type as it was written, for messages.
    pub(crate) ir: &'t TypeIR,
    /// The resolved type.
    pub(crate) shape: TypeShape<'t>,
    /// The address of the resolved type. All mentions of one definition have the same key, so a
    /// recursive type has finitely many keys.
    pub(crate) key: usize,
}

/// The variants of [`TypeIR`] without names and aliases.
#[derive(Clone, Debug)]
pub(crate) enum TypeShape<'t> {
    Str,
    Int,
    Float,
    Bool,
    Null,
    Any,
    Bytes,
    Error,
    Literal(&'t Literal),
    List(&'t TypeIR),
    Dict(&'t TypeIR),
    Tuple(&'t [TypeIR]),
    /// Members that are neither unions nor `any`.
    Union(Rc<[ResolvedType<'t>]>),
    Class(&'t Class),
    Enum(&'t Enum),
    /// A name without a definition, or an alias that is only defined by itself.
    Unknown(&'t str),
}

fn address<T>(thing: &T) -> usize {
    std::ptr::from_ref(thing) as usize
}

/// Resolves a type. Always terminates: an alias that leads back to itself is unknown.
pub(crate) fn resolve<'t>(ir: &'t TypeIR, defs: &'t TypeDefs) -> ResolvedType<'t> {
    let mut target = ir;
    // A chain of aliases that is longer than the number of definitions is circular.
    for _ in 0..=defs.0.len() {
        let TypeIR::Named(name) = target else { return resolve_target(ir, target, defs) };
        match defs.get(name) {
            Some(TypeDef::Alias(next)) => target = next,
            Some(TypeDef::Class(class)) => {
                return ResolvedType { ir, shape: TypeShape::Class(class), key: address(class) };
            }
            Some(TypeDef::Enum(known)) => {
                return ResolvedType { ir, shape: TypeShape::Enum(known), key: address(known) };
            }
            None => {
                return ResolvedType { ir, shape: TypeShape::Unknown(name), key: address(target) };
            }
        }
    }
    let name = if let TypeIR::Named(name) = ir { name.as_ref() } else { "" };
    ResolvedType { ir, shape: TypeShape::Unknown(name), key: address(ir) }
}

fn resolve_target<'t>(ir: &'t TypeIR, target: &'t TypeIR, defs: &'t TypeDefs) -> ResolvedType<'t> {
    let shape = match target {
        TypeIR::Str => TypeShape::Str,
        TypeIR::Int => TypeShape::Int,
        TypeIR::Float => TypeShape::Float,
        TypeIR::Bool => TypeShape::Bool,
        TypeIR::Null => TypeShape::Null,
        TypeIR::Any => TypeShape::Any,
        TypeIR::Bytes => TypeShape::Bytes,
        TypeIR::Error => TypeShape::Error,
        TypeIR::Literal(literal) => TypeShape::Literal(literal),
        TypeIR::List(element) => TypeShape::List(element),
        TypeIR::Dict(value) => TypeShape::Dict(value),
        TypeIR::Tuple(elements) => TypeShape::Tuple(elements),
        TypeIR::Class(class) => {
            return ResolvedType {
                ir,
                shape: TypeShape::Class(class),
                key: address(class.as_ref()),
            };
        }
        TypeIR::Union(_) => return resolve_union(ir, target, defs),
        TypeIR::Named(name) => TypeShape::Unknown(name),
    };
    ResolvedType { ir, shape, key: address(target) }
}

fn resolve_union<'t>(ir: &'t TypeIR, union: &'t TypeIR, defs: &'t TypeDefs) -> ResolvedType<'t> {
    let mut members: Vec<ResolvedType<'t>> = Vec::new();
    let mut followed: Vec<&str> = Vec::new();
    let mut todo = vec![union];
    while let Some(next) = todo.pop() {
        match next {
            TypeIR::Union(inner) => todo.extend(inner.iter().rev()),
            TypeIR::Named(name) => match defs.get(name) {
                Some(TypeDef::Alias(_)) if followed.contains(&name.as_ref()) => {}
                Some(TypeDef::Alias(target)) => {
                    followed.push(name);
                    todo.push(target);
                }
                _ => members.push(resolve(next, defs)),
            },
            TypeIR::Any => return ResolvedType { ir, shape: TypeShape::Any, key: address(union) },
            other => members.push(resolve_target(other, other, defs)),
        }
    }
    if members.len() == 1
        && let Some(only) = members.pop()
    {
        return ResolvedType { ir, ..only };
    }
    ResolvedType { ir, shape: TypeShape::Union(members.into()), key: address(union) }
}

impl ResolvedType<'_> {
    /// Whether the type may be null. `any` is not optional: its values cannot be left out.
    pub(crate) fn is_optional(&self) -> bool {
        match &self.shape {
            TypeShape::Null => true,
            TypeShape::Union(members) => members.iter().any(|m| matches!(m.shape, TypeShape::Null)),
            _ => false,
        }
    }
}
