//! Reads the fields of a `schema_form` back as a JSON value. What cannot be read as its type stays a text, so that the
//! service names the problem with its place, as for any client.

use dsrs::value::Payload;
use serde_json::{Map, Value};

use crate::form::Form;
use crate::parts::schema_form::{CHOICE, Entry, only_member};
use crate::parts::values::plain;

/// The value of a schema in a form, at the field of this name; `None` if nothing was entered.
pub(crate) fn entered(schema: &Value, form: &Form, name: &str) -> Option<Value> {
    match Entry::of(schema) {
        Entry::Members(members) => {
            let found = entered_members(schema, members, form, name);
            (!found.is_empty()).then_some(Value::Object(found))
        }
        Entry::OneOf(alternatives) => {
            let chosen: usize = form.text(&format!("{name}{CHOICE}")).parse().unwrap_or(0);
            entered_alternative(alternatives.get(chosen)?, form, name)
        }
        Entry::Choice(values) => {
            let text = form.given(name)?;
            let known = values.iter().find(|value| plain(value) == text);
            Some(known.cloned().unwrap_or_else(|| Value::String(text.to_owned())))
        }
        Entry::Text => form.given(name).map(|text| Value::String(text.to_owned())),
        Entry::Lines => form.given(name).map(lines),
        Entry::Integer | Entry::Number | Entry::Flag => {
            form.given(name).map(|text| number_or_text(text.trim()))
        }
        Entry::Document => form.given(name).map(|text| json_or_text(text.trim())),
    }
}

fn entered_members(
    schema: &Value,
    members: &Map<String, Value>,
    form: &Form,
    name: &str,
) -> Map<String, Value> {
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_required = |member: &str| required.iter().any(|name| name == member);
    let mut found = Map::new();
    for (member, schema) in members {
        let value = entered(schema, form, &format!("{name}/{member}"));
        let is_empty_object = value.is_none() && matches!(Entry::of(schema), Entry::Members(_));
        if is_empty_object && is_required(member) {
            found.insert(member.clone(), Value::Object(Map::new()));
        } else if let Some(value) = value {
            found.insert(member.clone(), value);
        }
    }
    found
}

/// An alternative that was chosen, `{name: options}`, is there even if no option was entered.
fn entered_alternative(schema: &Value, form: &Form, name: &str) -> Option<Value> {
    let Some((member, inner)) = only_member(schema) else {
        let first = schema["enum"].as_array().and_then(|values| values.first());
        return entered(schema, form, name).or_else(|| first.cloned());
    };
    let value = entered(inner, form, &format!("{name}/{member}"));
    let nothing = || match Entry::of(inner) {
        Entry::Members(_) => Value::Object(Map::new()),
        Entry::Lines => Value::Array(Vec::new()),
        Entry::Text => Value::String(String::new()),
        _ => Value::Null,
    };
    Some(Value::Object(Map::from_iter([(member.clone(), value.unwrap_or_else(nothing))])))
}

/// A number or `true` or `false`; any other text stays one.
pub(crate) fn number_or_text(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::String(text.to_owned()),
    }
}

/// JSON as the service reads it; any other text stays one. A text with a duplicate key is none: only one of its values
/// would be left.
pub(crate) fn json_or_text(text: &str) -> Value {
    let read = serde_json::from_str(text).ok();
    let read = read.filter(|_| Payload::from_json(text).is_ok());
    read.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn lines(text: &str) -> Value {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| Value::String(line.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use dsrs::optimize::{Metric, optimizers};
    use serde_json::json;

    use super::*;

    fn read(schema: &Value, fields: &[(&str, &str)]) -> Option<Value> {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        entered(schema, &Form::of(fields.collect()), "/m")
    }

    fn metric() -> Value {
        serde_json::from_str(&Metric::schema().to_json()).unwrap()
    }

    /// The number of the alternative with this member.
    fn alternative(name: &str) -> String {
        let all = metric()["oneOf"].as_array().unwrap().clone();
        all.iter().position(|schema| schema["required"][0] == name).unwrap().to_string()
    }

    #[test]
    fn every_metric_is_read_back_from_its_fields() {
        assert_eq!(read(&metric(), &[]), Some(json!("exact")));
        assert_eq!(read(&metric(), &[("/m#", "0"), ("/m", "f1")]), Some(json!("f1")));
        let cases = [
            ("exact", vec![], json!({"exact": {}})),
            ("f1", vec![("/m/f1/fields", "a\r\n b\n\n")], json!({"f1": {"fields": ["a", "b"]}})),
            (
                "numeric",
                vec![("/m/numeric/tolerance", "0.5"), ("/m/numeric/relative", "true")],
                json!({"numeric": {"relative": true, "tolerance": 0.5}}),
            ),
            (
                "judge",
                vec![
                    ("/m/judge/signature", "a -> ok: bool"),
                    ("/m/judge/score", "ok"),
                    ("/m/judge/scale", "[1, 5]"),
                ],
                json!({"judge": {"scale": [1, 5], "score": "ok", "signature": "a -> ok: bool"}}),
            ),
            ("graph", vec![("/m/graph", "grader")], json!({"graph": "grader"})),
            ("mean", vec![("/m/mean", "[\"exact\"]")], json!({"mean": ["exact"]})),
            ("expression", vec![("/m/expression", "1 < 2")], json!({"expression": "1 < 2"})),
        ];
        for (name, fields, wanted) in cases {
            let choice = alternative(name);
            let fields: Vec<_> = [("/m#", choice.as_str())].into_iter().chain(fields).collect();
            assert_eq!(read(&metric(), &fields), Some(wanted), "{name}");
        }
    }

    #[test]
    fn the_config_of_every_optimizer_is_empty_without_entries() {
        for optimizer in optimizers() {
            let schema = serde_json::from_str(&optimizer.config_schema().to_json()).unwrap();
            assert_eq!(read(&schema, &[]), None, "{}", optimizer.name());
        }
    }

    #[test]
    fn what_is_no_number_stays_a_text_for_the_service_to_refuse() {
        let schema = json!({"type": "object", "properties": {"k": {"type": "integer"}}});
        assert_eq!(read(&schema, &[("/m/k", "x")]), Some(json!({"k": "x"})));
        let twice = "{\"a\": 1, \"a\": 2}";
        assert_eq!(read(&json!({}), &[("/m", twice)]), Some(json!(twice)));
    }
}
