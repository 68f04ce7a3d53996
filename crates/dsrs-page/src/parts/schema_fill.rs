//! A JSON value as the fields of a `schema_form`, so that what is stored can be changed. `schema_entry` reads the
//! fields back; what these fields cannot hold is missing there, so that a view can compare.

use serde_json::Value;

use crate::form::Form;
use crate::parts::schema_entry::entered;
use crate::parts::schema_form::{CHOICE, Entry, only_member};
use crate::parts::values::plain;

/// The name of a field, and its text.
pub(crate) type FilledField = (String, String);

/// The fields of a value of a schema, at the field of this name.
pub(crate) fn filled(schema: &Value, value: &Value, name: &str) -> Vec<FilledField> {
    match Entry::of(schema) {
        Entry::Members(members) => {
            let fields = members.iter().filter_map(|(member, schema)| {
                Some(filled(schema, value.get(member)?, &format!("{name}/{member}")))
            });
            fields.flatten().collect()
        }
        Entry::OneOf(alternatives) => filled_alternative(schema, alternatives, value, name),
        Entry::Lines => {
            let lines: Vec<String> = value.as_array().into_iter().flatten().map(plain).collect();
            vec![(name.to_owned(), lines.join("\n"))]
        }
        Entry::Document => vec![(name.to_owned(), document(value))],
        _ => vec![(name.to_owned(), plain(value))],
    }
}

/// The first alternative whose fields have the whole value.
fn filled_alternative(
    schema: &Value,
    alternatives: &[Value],
    value: &Value,
    name: &str,
) -> Vec<FilledField> {
    let fields_of = |(index, alternative): (usize, &Value)| {
        let mut fields = vec![(format!("{name}{CHOICE}"), index.to_string())];
        match only_member(alternative) {
            Some((member, inner)) => {
                fields.extend(filled(inner, value.get(member)?, &format!("{name}/{member}")));
            }
            None => fields.extend(filled(alternative, value, name)),
        }
        let form = Form::of(fields.clone());
        (entered(schema, &form, name).as_ref() == Some(value)).then_some(fields)
    };
    alternatives.iter().enumerate().find_map(fields_of).unwrap_or_default()
}

/// A text as it is, unless it would be read as JSON.
fn document(value: &Value) -> String {
    match value {
        Value::String(text) if serde_json::from_str::<Value>(text.trim()).is_err() => text.clone(),
        Value::String(_) => value.to_string(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use dsrs::optimize::Metric;
    use serde_json::json;

    use super::*;

    fn read_back(schema: &Value, value: &Value) -> Option<Value> {
        entered(schema, &Form::of(filled(schema, value, "/m")), "/m")
    }

    #[test]
    fn what_fields_hold_is_read_back_as_it_was() {
        let metric = serde_json::from_str(&Metric::schema().to_json()).unwrap();
        for value in [
            json!("f1"),
            json!({"exact": {}}),
            json!({"f1": {"fields": ["a", "b"]}}),
            json!({"numeric": {"tolerance": 0.5, "relative": true}}),
            json!({"expression": "outputs.answer|length < 400"}),
            json!({"judge": {"signature": "a -> ok: bool", "score": "ok", "scale": [1, 5]}}),
            json!({"graph": "grader", "score": "points"}),
            json!({"mean": ["exact", {"expression": "1"}]}),
        ] {
            assert_eq!(read_back(&metric, &value), Some(value));
        }
    }

    #[test]
    fn what_no_field_holds_is_missing() {
        let schema = json!({"type": "object", "properties": {
            "k": {"type": "integer"}, "any": {}, "on": {"type": "boolean"}}});
        let value = json!({"k": 3, "any": "12", "on": false});
        assert_eq!(read_back(&schema, &value), Some(value));
        assert_eq!(read_back(&schema, &json!({"k": 3, "more": 1})), Some(json!({"k": 3})));
    }
}
