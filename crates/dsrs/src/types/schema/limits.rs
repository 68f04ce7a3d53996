//! Validation keywords of JSON Schema (`minimum`, `maxLength`, …) to constraints. Knows nothing of
//! the type that they stand beside but its kind.

use std::sync::Arc;

use super::keywords::Group;
use crate::problem::{At, Code, Problems};
use crate::types::{Constraint, ConstraintKind, TypeIR};
use crate::value::{Map, Payload};

/// A condition on a value that is not null.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Limit {
    keyword: &'static str,
    condition: String,
}

/// The keyword, its kind of value, and the condition up to its number.
const LIMITS: [(&str, Group, &str); 11] = [
    ("minimum", Group::Number, "this >= "),
    ("maximum", Group::Number, "this <= "),
    ("exclusiveMinimum", Group::Number, "this > "),
    ("exclusiveMaximum", Group::Number, "this < "),
    ("multipleOf", Group::Number, "this % "),
    ("minLength", Group::Text, "this|length >= "),
    ("maxLength", Group::Text, "this|length <= "),
    ("minItems", Group::Array, "this|length >= "),
    ("maxItems", Group::Array, "this|length <= "),
    ("minProperties", Group::Object, "this|length >= "),
    ("maxProperties", Group::Object, "this|length <= "),
];

/// Reads the validation keywords of a schema.
pub(super) fn read_limits(map: &Map, at: &At<'_>, problems: &mut Problems) -> Vec<Limit> {
    let mut found = Vec::new();
    for (keyword, group, condition) in LIMITS {
        let Some(bound) = map.get(keyword) else { continue };
        match bound_text(bound, keyword, group) {
            Some(bound) => {
                let tail = if keyword == "multipleOf" { " == 0" } else { "" };
                found.push(Limit { keyword, condition: format!("{condition}{bound}{tail}") });
            }
            None => {
                let wanted = if keyword == "multipleOf" {
                    "a whole number above zero"
                } else if group == Group::Number {
                    "a number"
                } else {
                    "a whole number of zero or more"
                };
                let detail = format!("`{keyword}` wants {wanted}");
                problems.add(&at.key(keyword), Code::InvalidType, detail);
            }
        }
    }
    match map.get("uniqueItems") {
        Some(Payload::Bool(true)) => {
            let condition = "this|unique|list|length == this|length".to_owned();
            found.push(Limit { keyword: "uniqueItems", condition });
        }
        None | Some(Payload::Bool(false)) => {}
        Some(_) => problems.add(
            &at.key("uniqueItems"),
            Code::InvalidType,
            "`uniqueItems` wants true or false",
        ),
    }
    found
}

fn bound_text(bound: &Payload, keyword: &str, group: Group) -> Option<String> {
    match bound {
        Payload::Int(number) if keyword == "multipleOf" => {
            (*number > 0).then(|| number.to_string())
        }
        Payload::Int(number) if group == Group::Number || *number >= 0 => Some(number.to_string()),
        Payload::Float(number) if group == Group::Number && keyword != "multipleOf" => {
            Some(format!("{number:?}"))
        }
        _ => None,
    }
}

impl Limit {
    /// The keyword it was read from.
    pub(super) const fn keyword(&self) -> &'static str {
        self.keyword
    }

    /// As a constraint on a value of the type, where null passes if it may stand there.
    pub(super) fn constraint(&self, ty: &TypeIR) -> Constraint {
        let nullable = match ty {
            TypeIR::Union(members) => members.contains(&TypeIR::Null),
            other => *other == TypeIR::Null,
        };
        let expression = if nullable {
            format!("this is none or {}", self.condition)
        } else {
            self.condition.clone()
        };
        Constraint {
            kind: ConstraintKind::Assert,
            expression: expression.into(),
            label: Some(Arc::from(self.keyword)),
        }
    }
}
