//! Laws of all types and values: the relation is a preorder, edges deliver what they promise, the
//! rim takes what is already exact.

use dsrs::problem::{At, Problems};
use dsrs::types::{
    Class, ClassField, Conversion, Literal, Selection, Step, Type, TypeDef, TypeIR, admit,
};
use dsrs::value::{Map, Payload};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use crate::corpus;

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

fn types() -> impl Strategy<Value = TypeIR> {
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

/// A type that the given one is likely, but not sure, to be assignable to.
fn wider(ir: &TypeIR, choice: &mut impl Iterator<Item = u8>) -> TypeIR {
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

/// A value of a type, grown from random bytes; `None` where it would grow too deep.
fn value_of(ir: &TypeIR, bytes: &mut impl Iterator<Item = u8>, depth: usize) -> Option<Payload> {
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
            let elements = (0..count).map(|_| value_of(inner, bytes, depth + 1));
            Payload::list(elements.collect::<Option<_>>()?)
        }
        TypeIR::Dict(inner) => {
            let names = ["name", "value", "k"].into_iter().take(count);
            let members = names.map(|name| Some((name.into(), value_of(inner, bytes, depth + 1)?)));
            Payload::map(members.collect::<Option<_>>()?)
        }
        TypeIR::Tuple(parts) => {
            let elements = parts.iter().map(|part| value_of(part, bytes, depth + 1));
            Payload::list(elements.collect::<Option<_>>()?)
        }
        TypeIR::Union(parts) => {
            let last = parts.len() - 1;
            let start = if depth > 5 { last } else { usize::from(byte) % parts.len() };
            let mut order = parts[start..].iter().chain(parts.iter());
            return order.find_map(|part| value_of(part, bytes, depth + 1));
        }
        TypeIR::Class(class) => return instance(class, bytes, depth),
        TypeIR::Error => return None,
        TypeIR::Named(name) => match corpus_def(name)? {
            TypeDef::Class(class) => return instance(&class, bytes, depth),
            TypeDef::Alias(ir) => return value_of(&ir, bytes, depth + 1),
            TypeDef::Enum(known) => {
                let (name, _) = known.members.get_index(usize::from(byte) % known.members.len())?;
                Payload::Str(name.clone())
            }
        },
    })
}

fn corpus_def(name: &str) -> Option<TypeDef> {
    thread_local!(static DEFS: std::sync::Arc<dsrs::types::TypeDefs> = corpus());
    DEFS.with(|defs| defs.get(name).cloned())
}

fn instance(class: &Class, bytes: &mut impl Iterator<Item = u8>, depth: usize) -> Option<Payload> {
    let fields = class.fields.iter();
    let fields = fields.map(|(n, f)| Some((n.clone(), value_of(&f.ty, bytes, depth + 1)?)));
    Some(Payload::map(fields.collect::<Option<_>>()?))
}

fn closed(ir: TypeIR) -> Type {
    thread_local!(static DEFS: std::sync::Arc<dsrs::types::TypeDefs> = corpus());
    Type::new(ir, DEFS.with(std::sync::Arc::clone))
}

/// The same definitions elsewhere, so that equal types are compared and not recognised.
fn elsewhere(ty: &Type) -> Type {
    thread_local!(static DEFS: std::sync::Arc<dsrs::types::TypeDefs> = corpus());
    Type::new(ty.ir.clone(), DEFS.with(|defs| defs.as_ref().clone().into()))
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 64)
}

fn run<S: Strategy>(strategy: S, law: impl Fn(S::Value) -> Result<bool, TestCaseError>) {
    let told = std::cell::Cell::new(0usize);
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let outcome = runner.run(&strategy, |value| {
        told.set(told.get() + usize::from(law(value)?));
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    assert!(told.get() > 100, "the law was put to the test only {} times", told.get());
}

#[test]
fn every_type_is_assignable_to_itself() {
    run(types(), |ir| {
        let ty = closed(ir);
        prop_assert_eq!(ty.assignable_to(&elsewhere(&ty)), Ok(()));
        Ok(true)
    });
}

#[test]
fn what_is_assignable_twice_over_is_assignable_at_once() {
    run((types(), types(), types(), choices(), any::<u8>()), |(a, b, c, bytes, mix)| {
        let mut choice = bytes.into_iter();
        let b = if mix % 8 > 0 { wider(&a, &mut choice) } else { b };
        let c = if mix % 16 > 1 { wider(&b, &mut choice) } else { c };
        let (a, b, c) = (closed(a), closed(b), closed(c));
        let both = a.assignable_to(&b).is_ok() && b.assignable_to(&c).is_ok();
        if both {
            let direct = a.assignable_to(&c);
            prop_assert!(direct.is_ok(), "{} to {} to {}: {direct:?}", a.ir, b.ir, c.ir);
        }
        Ok(both && a.ir != b.ir && b.ir != c.ir)
    });
}

#[test]
fn a_refusal_says_something_and_the_relation_never_runs_away() {
    run((types(), types()), |(a, b)| {
        let Err(mismatch) = closed(a).assignable_to(&closed(b)) else { return Ok(false) };
        prop_assert!(mismatch.reason.contains(" is not assignable to "));
        Ok(true)
    });
}

#[test]
fn edges_deliver_values_of_the_target_or_fail_by_the_rule_of_floats() {
    run((types(), choices(), choices()), |(from, shape, bytes)| {
        let to = wider(&from, &mut shape.into_iter());
        let (from, to) = (closed(from), closed(to));
        if from.assignable_to(&to).is_err() {
            return Ok(false);
        }
        let Some(value) = value_of(&from.ir, &mut bytes.into_iter(), 0) else { return Ok(false) };
        let delivered = match Conversion::between(&from, &to).apply(&value) {
            Ok(delivered) => delivered,
            Err(error) => {
                prop_assert!(error.reason.contains("beyond 2^53"), "{error}");
                return Ok(false);
            }
        };
        let mut problems = Problems::new();
        let admitted = admit(&delivered, &to, &At::Root, &mut problems);
        prop_assert!(problems.is_empty(), "{} to {}: {problems}", from.ir, to.ir);
        prop_assert_eq!(admitted.map(|value| value.to_json()), Some(delivered.to_json()));
        Ok(from.ir != to.ir)
    });
}

#[test]
fn selections_have_the_types_they_say() {
    run((types(), choices(), choices()), |(ir, way, bytes)| {
        let ty = closed(ir);
        let Some(value) = value_of(&ty.ir, &mut bytes.into_iter(), 0) else { return Ok(false) };
        let mut selection = Selection::default();
        let mut found = ty.clone();
        for byte in way.into_iter().take(40) {
            let step = match byte % 3 {
                0 => Step::Index(usize::from(byte % 2)),
                1 => Step::Key("name".into()),
                _ => Step::Field(
                    ["name", "value", "children", "tail", "a"][usize::from(byte % 5)].into(),
                ),
            };
            let mut steps = selection.steps().to_vec();
            steps.push(step);
            let longer = Selection::new(steps);
            if let Ok(next) = longer.type_in(&ty) {
                (selection, found) = (longer, next);
            }
        }
        let selected = selection.get(&value);
        let mut problems = Problems::new();
        let admitted = admit(&selected, &found, &At::Root, &mut problems);
        prop_assert_eq!(admitted.map(|v| v.to_json()), Some(selected.to_json()), "{}", selection);
        prop_assert_eq!(
            Selection::parse(&selection.to_string()).ok(),
            (!selection.is_empty()).then(|| selection.clone())
        );
        Ok(!selection.is_empty())
    });
}
