//! Laws of all types and values: assignability is a preorder, edges deliver values of the target
//! type, the boundary accepts exact values.

use dsrs::problem::{At, Problems};
use dsrs::types::{Class, ClassField, Conversion, Type, TypeDef, TypeDefs, TypeIR, admit};
use dsrs::value::{Selection, SelectionStep};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use super::corpus;
use super::generate::{types, value_of, wider};

fn closed(ir: TypeIR) -> Type {
    thread_local!(static DEFS: std::sync::Arc<dsrs::types::TypeDefs> = corpus());
    Type::new(ir, DEFS.with(std::sync::Arc::clone))
}

/// The same definitions at another address, so that equal types are really compared.
fn elsewhere(ty: &Type) -> Type {
    Type::new(ty.ir.clone(), ty.defs.as_ref().clone().into())
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 64)
}

fn run<S: Strategy>(strategy: S, law: impl Fn(S::Value) -> Result<bool, TestCaseError>) {
    let delivered = std::cell::Cell::new(0usize);
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let outcome = runner.run(&strategy, |value| {
        delivered.set(delivered.get() + usize::from(law(value)?));
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    assert!(delivered.get() > 100, "only {} cases tested the law", delivered.get());
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
fn assignability_is_transitive() {
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
fn a_mismatch_has_a_reason_and_every_comparison_ends() {
    run((types(), types()), |(a, b)| {
        let Err(mismatch) = closed(a).assignable_to(&closed(b)) else { return Ok(false) };
        prop_assert!(mismatch.reason.contains(" is not assignable to "));
        Ok(true)
    });
}

/// Whether one type is assignable to the other, and a value of it converts to the other or fails
/// because an integer is too large for a float.
fn delivers(from: &Type, to: &Type, bytes: Vec<u8>) -> Result<bool, TestCaseError> {
    if from.assignable_to(to).is_err() {
        return Ok(false);
    }
    let Some(value) = value_of(&from.ir, &from.defs, &mut bytes.into_iter(), 0) else {
        return Ok(false);
    };
    let delivered = match Conversion::between(from, to).apply(&value) {
        Ok(delivered) => delivered,
        Err(error) => {
            prop_assert!(error.reason.contains("beyond 2^53"), "{error}");
            return Ok(false);
        }
    };
    let mut problems = Problems::new();
    let admitted = admit(&delivered, to, &At::Root, &mut problems);
    prop_assert!(problems.is_empty(), "{} to {}: {problems}", from.ir, to.ir);
    prop_assert_eq!(admitted.map(|value| value.to_json()), Some(delivered.to_json()));
    Ok(true)
}

#[test]
fn edges_deliver_values_of_the_target_type() {
    run((types(), choices(), choices()), |(from, shape, bytes)| {
        let to = wider(&from, &mut shape.into_iter());
        Ok(delivers(&closed(from.clone()), &closed(to.clone()), bytes)? && from != to)
    });
}

/// Two families of classes that refer to each other. The first has `a`, `b` and `c`; the second has
/// `A`, `B` and `C`, which are widened from those.
fn families() -> impl Strategy<Value = TypeDefs> {
    let member = (prop::sample::select(&["a", "b", "c"][..]), 0..4u8).prop_map(|(name, way)| {
        let named = TypeIR::Named(name.into());
        match way {
            0 => named.optional(),
            1 => TypeIR::list(named),
            2 => TypeIR::dict(named),
            _ => TypeIR::union([TypeIR::Int, named]),
        }
    });
    let field = (prop::sample::select(&["v", "w", "x"][..]), prop_oneof![member, types()]);
    let class = prop::collection::vec(field, 1..4);
    (prop::collection::vec(class, 3), choices()).prop_map(|(classes, choice)| {
        let mut choice = choice.into_iter();
        let mut defs = corpus().as_ref().clone();
        for (name, fields) in ["a", "b", "c"].into_iter().zip(classes) {
            let fields: Vec<_> = fields.into_iter().collect();
            let wide = fields.iter().map(|(name, ty)| (*name, capital(&wider(ty, &mut choice))));
            let wide = class_of(wide.collect());
            defs.0.insert(name.into(), class_of(fields));
            defs.0.insert(name.to_uppercase().into(), wide);
        }
        defs
    })
}

fn class_of(fields: Vec<(&'static str, TypeIR)>) -> TypeDef {
    let fields = fields.into_iter().map(|(name, ty)| (name.into(), ClassField::of(ty)));
    TypeDef::Class(Class { description: None, fields: fields.collect() })
}

/// The same type over the second family.
fn capital(ty: &TypeIR) -> TypeIR {
    match ty {
        TypeIR::Named(name) if ["a", "b", "c"].contains(&name.as_ref()) => {
            TypeIR::Named(name.to_uppercase().into())
        }
        TypeIR::List(inner) => TypeIR::list(capital(inner)),
        TypeIR::Dict(inner) => TypeIR::dict(capital(inner)),
        TypeIR::Union(parts) => TypeIR::union(parts.iter().map(capital)),
        other => other.clone(),
    }
}

#[test]
fn the_laws_hold_for_mutually_recursive_classes() {
    run((families(), choices()), |(defs, bytes)| {
        let defs = std::sync::Arc::new(defs);
        let of = |name: &str| Type::new(TypeIR::Named(name.into()), defs.clone());
        let mut delivered = false;
        for (small, large) in [("a", "A"), ("b", "B"), ("c", "C")] {
            prop_assert_eq!(of(small).assignable_to(&elsewhere(&of(small))), Ok(()));
            delivered |= delivers(&of(small), &of(large), bytes.clone())?;
            for third in ["A", "B", "C", "a", "b", "c"] {
                if of(small).assignable_to(&of(large)).is_ok()
                    && of(large).assignable_to(&of(third)).is_ok()
                {
                    prop_assert_eq!(of(small).assignable_to(&of(third)), Ok(()));
                }
            }
        }
        Ok(delivered)
    });
}

#[test]
fn selected_values_have_the_type_of_the_selection() {
    run((types(), choices(), choices()), |(ir, way, bytes)| {
        let ty = closed(ir);
        let Some(value) = value_of(&ty.ir, &ty.defs, &mut bytes.into_iter(), 0) else {
            return Ok(false);
        };
        let mut selection = Selection::default();
        let mut found = ty.clone();
        for byte in way.into_iter().take(40) {
            let step = match byte % 3 {
                0 => SelectionStep::Index(usize::from(byte % 2)),
                1 => SelectionStep::Key("name".into()),
                _ => SelectionStep::Field(
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
