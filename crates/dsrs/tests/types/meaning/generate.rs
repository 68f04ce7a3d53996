//! Random types and values for laws: types over definitions, types that a given one is probably
//! assignable to, and values of a type.

use dsrs::types::{Class, ClassField, Literal, TypeDef, TypeDefs, TypeIR};
use dsrs::value::{Map, Payload};
use proptest::prelude::*;

const NAMES: [&str; 14] = [
    "Tree", "Wood", "Leafy", "Odd", "Even", "Bad", "Chain", "Loop", "Json", "Plain", "Person",
    "Pet", "Mood", "Wide",
];

fn leaf() -> impl Strategy<Value = TypeIR> {
    prop_oneof![
        Just(TypeIR::Str),
        Just(TypeIR::Int),
        Just(TypeIR::Float),
        Just(TypeIR::Bool),
        Just(TypeIR::Null),
        Just(TypeIR::Any),
        Just(TypeIR::Bytes),
        Just(TypeIR::Literal(Literal::Str("calm".into()))),
        (0..3i64).prop_map(|number| TypeIR::Literal(Literal::Int(number))),
        any::<bool>().prop_map(|flag| TypeIR::Literal(Literal::Bool(flag))),
        prop::sample::select(&NAMES[..]).prop_map(|name| TypeIR::Named(name.into())),
    ]
}

fn class(fields: Vec<(&'static str, TypeIR)>) -> TypeIR {
    let fields = fields.into_iter().map(|(name, ir)| (name.into(), ClassField::of(ir)));
    TypeIR::Class(Class { description: None, fields: fields.collect() }.into())
}

pub(crate) fn types() -> impl Strategy<Value = TypeIR> {
    let field = prop::sample::select(&["a", "b", "name", "value"][..]);
    leaf().prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            inner.clone().prop_map(TypeIR::list),
            inner.clone().prop_map(TypeIR::dict),
            inner.clone().prop_map(TypeIR::optional),
            prop::collection::vec(inner.clone(), 1..3)
                .prop_map(|parts| TypeIR::Tuple(parts.into())),
            prop::collection::vec(inner.clone(), 2..4).prop_map(TypeIR::union),
            prop::collection::vec((field.clone(), inner), 0..4).prop_map(class),
        ]
    })
}

/// A type that the given one is probably assignable to.
pub(crate) fn wider(ir: &TypeIR, choice: &mut impl Iterator<Item = u8>) -> TypeIR {
    let pick = choice.next().unwrap_or(0);
    match (ir, pick % 8) {
        (_, 0) => ir.clone(),
        (_, 1) => ir.clone().optional(),
        (_, 2) => TypeIR::union([TypeIR::Str, ir.clone()]),
        (_, 3) if pick > 200 => TypeIR::Any,
        (TypeIR::Int | TypeIR::Literal(Literal::Int(_)), _) => TypeIR::Float,
        (TypeIR::Literal(Literal::Str(_)), _) => TypeIR::Str,
        (TypeIR::List(inner), _) => TypeIR::list(wider(inner, choice)),
        (TypeIR::Dict(inner), _) => TypeIR::dict(wider(inner, choice)),
        (TypeIR::Tuple(parts), _) => {
            TypeIR::Tuple(parts.iter().map(|part| wider(part, choice)).collect())
        }
        (TypeIR::Union(parts), _) => TypeIR::union(parts.iter().map(|part| wider(part, choice))),
        (TypeIR::Class(class), _) => widen_class(class, choice),
        (TypeIR::Named(name), _) => match (name.as_ref(), pick % 2) {
            ("Tree" | "Odd" | "Even" | "Leafy", 0) => TypeIR::Named("Wood".into()),
            ("Tree" | "Odd" | "Even" | "Leafy", _) => TypeIR::Named("Tree".into()),
            ("Loop", _) => TypeIR::Named("Chain".into()),
            ("Plain", _) => TypeIR::Named("Json".into()),
            ("Person", _) => TypeIR::Named("Pet".into()),
            ("Mood", 0) => TypeIR::Named("Wide".into()),
            ("Mood" | "Wide", _) => TypeIR::Str,
            _ => ir.clone(),
        },
        _ => ir.clone(),
    }
}

fn widen_class(class: &Class, choice: &mut impl Iterator<Item = u8>) -> TypeIR {
    let mut fields = Vec::new();
    for (name, field) in &class.fields {
        if !choice.next().unwrap_or(0).is_multiple_of(3) {
            fields.push((name.clone(), ClassField::of(wider(&field.ty, choice))));
        }
    }
    if choice.next().unwrap_or(0).is_multiple_of(2) {
        fields.reverse();
    }
    let fields = fields.into_iter().collect();
    TypeIR::Class(Class { description: None, fields }.into())
}

/// A value of a type, generated from random bytes. `None` if it would nest too deep.
pub(crate) fn value_of(
    ir: &TypeIR,
    defs: &TypeDefs,
    bytes: &mut impl Iterator<Item = u8>,
    depth: usize,
) -> Option<Payload> {
    if depth > 12 {
        return None;
    }
    let byte = bytes.next().unwrap_or(0);
    let count = if depth > 5 { 0 } else { usize::from(byte % 3) };
    Some(match ir {
        TypeIR::Str => Payload::from(["", "x", "calm", "aGk="][usize::from(byte % 4)]),
        TypeIR::Int if byte == 255 => Payload::Int(i64::MAX - 1),
        TypeIR::Int => Payload::Int(i64::from(byte % 4)),
        TypeIR::Float => Payload::Float(f64::from(byte % 4) / 2.0),
        TypeIR::Bool => Payload::Bool(byte.is_multiple_of(2)),
        TypeIR::Null => Payload::Null,
        TypeIR::Any => [Payload::Null, 1.into(), "calm".into(), Payload::map(Map::new())]
            [usize::from(byte % 4)]
        .clone(),
        TypeIR::Bytes => Payload::Bytes([byte].into()),
        TypeIR::Literal(Literal::Str(text)) => Payload::Str(text.clone()),
        TypeIR::Literal(Literal::Int(number)) => Payload::Int(*number),
        TypeIR::Literal(Literal::Bool(flag)) => Payload::Bool(*flag),
        TypeIR::List(inner) => {
            let elements = (0..count).map(|_| value_of(inner, defs, bytes, depth + 1));
            Payload::list(elements.collect::<Option<_>>()?)
        }
        TypeIR::Dict(inner) => {
            let names = ["name", "value", "k"].into_iter().take(count);
            let members =
                names.map(|name| Some((name.into(), value_of(inner, defs, bytes, depth + 1)?)));
            Payload::map(members.collect::<Option<_>>()?)
        }
        TypeIR::Tuple(parts) => {
            let elements = parts.iter().map(|part| value_of(part, defs, bytes, depth + 1));
            Payload::list(elements.collect::<Option<_>>()?)
        }
        TypeIR::Union(parts) => {
            let last = parts.len() - 1;
            let start = if depth > 5 { last } else { usize::from(byte) % parts.len() };
            let mut order = parts[start..].iter().chain(parts.iter());
            return order.find_map(|part| value_of(part, defs, bytes, depth + 1));
        }
        TypeIR::Class(class) => return instance(class, defs, bytes, depth),
        TypeIR::Error => return None,
        TypeIR::Named(name) => match defs.get(name)? {
            TypeDef::Class(class) => return instance(class, defs, bytes, depth),
            TypeDef::Alias(ir) => return value_of(ir, defs, bytes, depth + 1),
            TypeDef::Enum(known) => {
                let (name, _) = known.members.get_index(usize::from(byte) % known.members.len())?;
                Payload::Str(name.clone())
            }
        },
    })
}

fn instance(
    class: &Class,
    defs: &TypeDefs,
    bytes: &mut impl Iterator<Item = u8>,
    depth: usize,
) -> Option<Payload> {
    let fields = class.fields.iter();
    let fields = fields.map(|(n, f)| Some((n.clone(), value_of(&f.ty, defs, bytes, depth + 1)?)));
    Some(Payload::map(fields.collect::<Option<_>>()?))
}
