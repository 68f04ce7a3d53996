//! Parts of values, available and pending; batches.

use dsrs::value::{Payload, Value, ValueBatch, ValueRef, collect_refs, unwrap, valueify};

fn refs(value: &Value) -> Vec<String> {
    collect_refs([value]).iter().map(ToString::to_string).collect()
}

fn json(value: &Value) -> String {
    unwrap(value).unwrap().to_json()
}

#[test]
fn an_available_part_has_a_reference_to_itself() {
    let data = Payload::from_json(r#"{"user": {"name": "Ada"}}"#).unwrap();
    let name = valueify(data).with_ref(ValueRef::input("data")).at("user").at("name");
    assert_eq!(json(&name), r#""Ada""#);
    assert_eq!(refs(&name), ["input:data.user.name"]);
}

#[test]
fn a_missing_part_is_null_or_the_default() {
    let data = valueify(Payload::from_json(r#"{"a": 1, "b": null}"#).unwrap());
    assert_eq!(json(&data.at("c")), "null");
    assert_eq!(json(&data.at(0)), "null");
    assert_eq!(json(&data.get("a", valueify(5))), "1");
    assert_eq!(json(&data.get("b", valueify(5))), "5");
    assert_eq!(json(&data.get("c", valueify(5))), "5");
}

#[test]
fn a_part_of_a_pending_value_is_a_selection() {
    let node = Value::pending(ValueRef::node("extract"));
    let name = node.at("person").at("name");
    assert_eq!(refs(&name), ["extract.person.name"]);
    let fallback = Value::pending(ValueRef::input("name"));
    let with_default = node.at("person").get("name", fallback).at(0);
    assert_eq!(refs(&with_default), ["extract.person.name", "input:name"]);
}

#[test]
fn placeholders_are_filled_at_any_depth() {
    let node = |name: &str| Value::pending(ValueRef::node(name));
    let args = valueify([
        ("list", valueify(vec![node("a").at("x"), valueify("plain")])),
        ("or", node("a").get("y", valueify("nothing")).at(1)),
        ("tuple", valueify((node("b").at("z").at(0), 1))),
    ]);
    let results = |wanted: &ValueRef| {
        let found = match wanted.to_string().as_str() {
            "a.x" => "1.5",
            "a.y" => r#"["p", "q"]"#,
            "b.z[0]" => "{}",
            _ => return None,
        };
        Payload::from_json(found).ok()
    };
    let filled = args.resolve(&results).unwrap();
    assert_eq!(json(&filled), r#"{"list":[1.5,"plain"],"or":"q","tuple":[{},1]}"#);
    assert_eq!(refs(&filled), ["a.x", "a.y[1]", "b.z[0]"]);
    let missing = args.resolve(&|wanted| results(wanted).filter(|_| wanted.to_string() == "a.x"));
    assert_eq!(missing.unwrap_err().to_string(), "not available yet: a.y, b.z[0]");
}

#[test]
fn a_batch_keeps_the_order_the_keys_and_the_id() {
    let dict = valueify([("z", 1), ("a", 2)]).with_ref(ValueRef::input("scores"));
    let batch = ValueBatch::of(&dict).unwrap().named("b1");
    assert_eq!(batch.id(), Some("b1"));
    let items: Vec<_> = batch.items().iter().map(|item| (refs(item), json(item))).collect();
    let at = |step: &str| vec![format!("input:scores{step}")];
    assert_eq!(items, [(at("['z']"), "1".to_owned()), (at("['a']"), "2".to_owned())]);
    assert_eq!(batch.items()[0].meta().unwrap().batch_id.as_deref(), Some("b1"));
    let gathered = batch.gather([(1, valueify("two")), (0, valueify("one"))]).unwrap();
    assert_eq!(json(&gathered), r#"{"z":"one","a":"two"}"#);
    let missing = batch.gather([(1, valueify("two"))]).unwrap_err();
    assert_eq!(missing.to_string(), "items without a result: 1, the first is item 0");
    assert!(ValueBatch::of(&valueify("a text")).is_none());
}
