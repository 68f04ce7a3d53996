//! The conversion of Rust values and payloads to values.

use std::collections::BTreeMap;
use std::sync::Arc;

use dsrs::lm::LmReply;
use dsrs::value::{Failure, Map, Payload, Value, ValueKind, valueify, valueify_as};

#[test]
fn every_payload_has_its_kind() {
    let json = |text: &str| valueify(Payload::from_json(text).unwrap());
    let table = [
        (valueify("a text"), "text"),
        (valueify_as("Dear {name}", ValueKind::Fstring), "fstring"),
        (valueify(&LmReply::of("hi", "model")), "response"),
        (valueify(BTreeMap::from([("a", 1)])), "structured"),
        (json(r#"{"a": 1}"#), "structured"),
        (valueify(7), "int"),
        (valueify(7.5), "float"),
        (valueify("x".parse::<i64>()), "error"),
        (valueify(Failure::new("timeout", "too slow")), "error"),
        (Value::tool_result(Payload::Int(4), "calculator"), "tool_result"),
        (valueify(&b"\x00\x01"[..]), "binary"),
        (valueify(true), "bool"),
        (valueify(None::<i64>), "null"),
        (valueify(vec!["a"]), "list"),
        (json("[1]"), "list"),
        (valueify(("a", 1)), "tuple"),
        (valueify(f64::NAN), "other"),
    ];
    for (value, kind) in table {
        assert_eq!(value.kind().as_str(), kind, "{value:?}");
    }
}

#[test]
fn elements_of_containers_are_values_of_their_own() {
    let value = valueify(Payload::from_json(r#"{"a": [1, "x", null], "b": true}"#).unwrap());
    let kinds = [
        value.at("a").at(0).kind(),
        value.at("a").at(1).kind(),
        value.at("a").at(2).kind(),
        value.at("b").kind(),
    ];
    assert_eq!(kinds, [ValueKind::Int, ValueKind::Text, ValueKind::Null, ValueKind::Bool]);
}

#[test]
fn a_failed_value_has_the_chain_of_its_errors() {
    let slow = Failure::new("timeout", "took longer than 30 ms").at("search");
    let lost = Failure::new("lm_error", "no connection").at("draft");
    let value = valueify(Failure::joined([slow, lost]).unwrap());
    let meta = value.meta().unwrap();
    assert_eq!(meta.node_id.as_deref(), Some("search"));
    assert_eq!(
        meta.failure.as_ref().unwrap().to_payload().to_json(),
        r#"{"code":"timeout","message":"took longer than 30 ms","node":"search","causes":[{"code":"lm_error","message":"no connection","node":"draft"}]}"#
    );
}

#[test]
fn a_large_value_is_cloned_by_reference() {
    let large = valueify(Payload::list(vec![Payload::Null; 1_000]));
    let copy = large.clone();
    let address = |value: &Value| match value.content() {
        dsrs::value::Content::List(items) => Arc::as_ptr(items),
        other => panic!("{other:?}"),
    };
    assert_eq!(address(&large), address(&copy));
    assert_eq!(large.at(999), valueify(Payload::Null));
    assert_eq!(valueify(Map::new()).kind(), ValueKind::Structured);
}
