//! A type as it means: names looked up, aliases followed, unions flat. Everything that decides by
//! type looks through this. Knows nothing of values, spellings or prompts.

use std::rc::Rc;

use super::{Class, Enum, Literal, TypeDef, TypeDefs, TypeIR};

/// A type and what it means.
#[derive(Clone, Debug)]
pub(crate) struct Node<'t> {
    /// The type as it was written, for messages.
    pub(crate) ir: &'t TypeIR,
    /// What it means.
    pub(crate) shape: Shape<'t>,
    /// The address of what it means: the same for every mention of one definition, so that finite
    /// types have finitely many keys.
    pub(crate) key: usize,
}

/// The meaning of a type: what [`TypeIR`] has, without names and aliases.
#[derive(Clone, Debug)]
pub(crate) enum Shape<'t> {
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
    Union(Rc<[Node<'t>]>),
    Class(&'t Class),
    Enum(&'t Enum),
    /// A name without a definition, or an alias of nothing but itself.
    Unknown(&'t str),
}

fn address<T>(thing: &T) -> usize {
    std::ptr::from_ref(thing) as usize
}

/// What a type means under definitions. Total: an alias that only leads back to itself is unknown.
pub(crate) fn look<'t>(ir: &'t TypeIR, defs: &'t TypeDefs) -> Node<'t> {
    let mut target = ir;
    // An alias chain longer than there are definitions goes in a circle.
    for _ in 0..=defs.0.len() {
        let TypeIR::Named(name) = target else { return look_at(ir, target, defs) };
        match defs.get(name) {
            Some(TypeDef::Alias(next)) => target = next,
            Some(TypeDef::Class(class)) => {
                return Node { ir, shape: Shape::Class(class), key: address(class) };
            }
            Some(TypeDef::Enum(known)) => {
                return Node { ir, shape: Shape::Enum(known), key: address(known) };
            }
            None => return Node { ir, shape: Shape::Unknown(name), key: address(target) },
        }
    }
    let name = if let TypeIR::Named(name) = ir { name.as_ref() } else { "" };
    Node { ir, shape: Shape::Unknown(name), key: address(ir) }
}

fn look_at<'t>(ir: &'t TypeIR, target: &'t TypeIR, defs: &'t TypeDefs) -> Node<'t> {
    let shape = match target {
        TypeIR::Str => Shape::Str,
        TypeIR::Int => Shape::Int,
        TypeIR::Float => Shape::Float,
        TypeIR::Bool => Shape::Bool,
        TypeIR::Null => Shape::Null,
        TypeIR::Any => Shape::Any,
        TypeIR::Bytes => Shape::Bytes,
        TypeIR::Error => Shape::Error,
        TypeIR::Literal(literal) => Shape::Literal(literal),
        TypeIR::List(element) => Shape::List(element),
        TypeIR::Dict(value) => Shape::Dict(value),
        TypeIR::Tuple(elements) => Shape::Tuple(elements),
        TypeIR::Class(class) => {
            return Node { ir, shape: Shape::Class(class), key: address(class.as_ref()) };
        }
        TypeIR::Union(_) => return look_at_union(ir, target, defs),
        TypeIR::Named(name) => Shape::Unknown(name),
    };
    Node { ir, shape, key: address(target) }
}

fn look_at_union<'t>(ir: &'t TypeIR, union: &'t TypeIR, defs: &'t TypeDefs) -> Node<'t> {
    let mut members: Vec<Node<'t>> = Vec::new();
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
                _ => members.push(look(next, defs)),
            },
            TypeIR::Any => return Node { ir, shape: Shape::Any, key: address(union) },
            other => members.push(look_at(other, other, defs)),
        }
    }
    if members.len() == 1
        && let Some(only) = members.pop()
    {
        return Node { ir, ..only };
    }
    Node { ir, shape: Shape::Union(members.into()), key: address(union) }
}

impl Node<'_> {
    /// Whether it is written as a type that may be null. `any` is not: nobody said that the value
    /// may be left out.
    pub(crate) fn is_optional(&self) -> bool {
        match &self.shape {
            Shape::Null => true,
            Shape::Union(members) => members.iter().any(|m| matches!(m.shape, Shape::Null)),
            _ => false,
        }
    }
}
