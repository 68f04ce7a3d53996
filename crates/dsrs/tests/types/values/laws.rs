//! Laws of all values: conversions lose nothing, and dependencies are complete.

use std::sync::Arc;

use dsrs::value::{
    Payload, Selection, SelectionStep, Value, ValueBatch, ValueRef, collect_refs, unwrap, valueify,
};
use indexmap::{IndexMap, IndexSet};
use proptest::prelude::*;

fn leaf() -> impl Strategy<Value = Payload> {
    prop_oneof![
        Just(Payload::Null),
        any::<bool>().prop_map(Payload::Bool),
        any::<i64>().prop_map(Payload::Int),
        (-1e9..1e9).prop_map(Payload::Float),
        ".{0,6}".prop_map(|text| Payload::str(text.as_str())),
        proptest::collection::vec(any::<u8>(), 0..4).prop_map(|b| Payload::Bytes(b.into())),
    ]
}

fn payloads() -> impl Strategy<Value = Payload> {
    leaf().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Payload::list),
            proptest::collection::vec(("[a-c' ]{0,3}", inner), 0..5).prop_map(|members| {
                Payload::map(members.into_iter().map(|(n, p)| (n.as_str().into(), p)).collect())
            }),
        ]
    })
}

/// Values with references anywhere in them.
fn values() -> impl Strategy<Value = Value> {
    let reference = ("[a-c]", 0..3_usize).prop_map(|(name, index)| {
        Value::pending(ValueRef::node(name.as_str()).step("out").step(index))
    });
    prop_oneof![reference, leaf().prop_map(valueify)].prop_recursive(4, 40, 5, |inner| {
        let named = proptest::collection::vec(("[a-e]", inner.clone()), 0..4);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(valueify),
            (inner.clone(), inner).prop_map(valueify),
            named.prop_map(|members| {
                let members = members.into_iter().map(|(n, v)| (Arc::from(n.as_str()), v));
                valueify(members.collect::<IndexMap<Arc<str>, Value>>())
            }),
        ]
    })
}

/// The parts of a payload with their selections.
fn parts(payload: &Payload, at: &Selection, found: &mut Vec<(Selection, Payload)>) {
    found.push((at.clone(), payload.clone()));
    match payload {
        Payload::List(elements) => {
            for (index, element) in elements.iter().enumerate() {
                parts(element, &at.step(index), found);
            }
        }
        Payload::Map(members) => {
            for (name, member) in members.iter() {
                parts(member, &at.step(SelectionStep::Key(name.clone())), found);
            }
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn converting_a_payload_and_back_changes_nothing(payload in payloads()) {
        prop_assert_eq!(unwrap(&valueify(payload.clone())).unwrap(), payload.clone());
        prop_assert_eq!(unwrap(&Value::plain(payload.clone())).unwrap(), payload);
    }

    #[test]
    fn every_part_is_selected_by_its_steps_and_references_them(payload in payloads()) {
        let mut found = Vec::new();
        parts(&payload, &Selection::default(), &mut found);
        for whole in [valueify(payload.clone()), Value::plain(payload)] {
            let whole = whole.with_ref(ValueRef::input("it"));
            for (selection, expected) in &found {
                let steps = selection.steps().iter();
                let part = steps.fold(whole.clone(), |value, step| value.at(step.clone()));
                prop_assert_eq!(&unwrap(&part).unwrap(), expected);
                prop_assert_eq!(&part.reference().unwrap().selection, selection);
            }
        }
    }

    #[test]
    fn dependencies_of_a_whole_are_those_of_its_parts(values in proptest::collection::vec(values(), 0..5)) {
        let each = values.iter().flat_map(|value| collect_refs([value]));
        let expected: Vec<ValueRef> = each.collect::<IndexSet<_>>().into_iter().collect();
        prop_assert_eq!(collect_refs(&values), expected.clone());
        prop_assert_eq!(collect_refs([&valueify(values)]), expected);
    }

    #[test]
    fn a_value_is_complete_once_its_dependencies_are_filled(value in values()) {
        let refs = collect_refs([&value]);
        match unwrap(&value) {
            Ok(_) => prop_assert!(refs.is_empty()),
            Err(missing) => prop_assert_eq!(missing.refs, refs.clone()),
        }
        let filled = value.resolve(&|wanted| Some(wanted.to_string().into())).unwrap();
        prop_assert!(unwrap(&filled).is_ok());
        prop_assert_eq!(collect_refs([&filled]), refs);
    }

    #[test]
    fn a_batch_reassembles_its_items(payload in payloads()) {
        let value = valueify(payload.clone());
        if let Some(batch) = ValueBatch::of(&value) {
            let results = batch.items().iter().cloned().enumerate().rev();
            prop_assert_eq!(unwrap(&batch.gather(results).unwrap()).unwrap(), payload);
        }
    }
}
