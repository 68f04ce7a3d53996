//! A value as the fields of a `value_form`, so that what is stored can be changed. What the fields cannot hold is
//! missing there, so that a view can compare what it reads back.

use serde_json::Value;

use crate::parts::schema_fill::FilledField;
use crate::parts::value_control::{Control, control};
use crate::parts::value_form::{ValueField, text_of};

pub(crate) fn filled_value(field: &ValueField<'_>, value: &Value) -> Vec<FilledField> {
    let mut fields = Vec::new();
    fill(field, value, 0, &mut fields);
    fields
}

fn fill(field: &ValueField<'_>, value: &Value, depth: usize, fields: &mut Vec<FilledField>) {
    match (control(field.ty, field.defs, depth).0, value) {
        (_, Value::Null) => {}
        (Control::Group(class), _) => {
            for member in field.members(class) {
                if let Some(value) = value.get(member.name) {
                    fill(&member, value, depth + 1, fields);
                }
            }
        }
        (Control::Rows(element), Value::Array(items)) => {
            for (number, value) in items.iter().enumerate() {
                fill(&field.item(element, &number.to_string()), value, depth + 1, fields);
            }
        }
        // A text within JSON is written as JSON.
        (Control::Json, value) => fields.push((field.pointer.clone(), value.to_string())),
        _ => fields.push((field.pointer.clone(), text_of(value))),
    }
}
