//! Reads and writes constraints as documents have them: `[{"assert": "this > 0", "label":
//! "positive"}]`. Compiles expressions only to report their problems.

use std::sync::Arc;

use super::names::shorten;
use super::{Constraint, ConstraintKind};
use crate::expr::Expression;
use crate::problem::{At, Code, Problems};
use crate::read::{Object, list, shared_text};
use crate::value::{Map, Payload};

/// Reads a `constraints` member.
pub(crate) fn read_constraints(
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Vec<Constraint>> {
    list(payload, at, problems, read_constraint)
}

fn read_constraint(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Constraint> {
    let mut object = Object::open(payload, at, problems)?;
    let asserted = object.optional("assert", read_expression);
    let checked = object.optional("check", read_expression);
    let label = object.optional("label", shared_text);
    let (has_assert, has_check) = (object.has("assert"), object.has("check"));
    if has_assert && has_check {
        let detail = "a constraint has either `assert` or `check`; split it into two constraints";
        object.problems().add(at, Code::InvalidValue, detail);
    } else if !has_assert && !has_check {
        let detail = "`assert` is missing; use `check` for a constraint that is only reported";
        object.problems().add(&at.key("assert"), Code::MissingField, detail);
    }
    object.close();
    let kind = if has_assert { ConstraintKind::Assert } else { ConstraintKind::Check };
    Some(Constraint { kind, expression: asserted.or(checked)?.into(), label })
}

fn read_expression(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Arc<str>> {
    let text = shared_text(payload, at, problems)?;
    match explain_expression(&text) {
        None => Some(text),
        Some(reason) => {
            problems.add(at, Code::InvalidValue, reason);
            None
        }
    }
}

/// The problem of a constraint's expression, if it has one.
pub(crate) fn explain_expression(text: &str) -> Option<String> {
    match Expression::compile(text) {
        Ok(expression) => {
            let unknown = expression.names().into_iter().find(|name| &**name != "this")?;
            Some(format!(
                "`{unknown}` is not defined; the expression can only use `this`, the value"
            ))
        }
        Err(error) => Some(format!("the Jinja expression `{}`: {error}", shorten(text))),
    }
}

/// Writes a `constraints` member.
pub(crate) fn constraints_to_payload(constraints: &[Constraint]) -> Payload {
    Payload::list(constraints.iter().map(constraint_to_payload).collect())
}

fn constraint_to_payload(constraint: &Constraint) -> Payload {
    let kind = match constraint.kind {
        ConstraintKind::Assert => "assert",
        ConstraintKind::Check => "check",
    };
    let mut members = Map::new();
    members.insert(kind.into(), Payload::Str(constraint.expression.text().clone()));
    if let Some(label) = &constraint.label {
        members.insert("label".into(), Payload::Str(label.clone()));
    }
    Payload::map(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> (Option<Vec<Constraint>>, String) {
        let mut problems = Problems::new();
        let found = read_constraints(&Payload::from_json(json).unwrap(), &At::Root, &mut problems);
        (found, problems.to_string())
    }

    #[test]
    fn constraints_are_written_as_they_were_read() {
        let json =
            r#"[{"assert":"this > 0 and this is odd","label":"odd"},{"check":"this|length < 9"}]"#;
        let (found, problems) = read(json);
        assert_eq!(problems, "");
        assert_eq!(constraints_to_payload(&found.unwrap()).to_json(), json);
    }

    #[test]
    fn problems_of_a_constraint_are_reported_at_their_place() {
        for (json, expected) in [
            (
                r#"[{"label": "x"}]"#,
                "/0/assert: `assert` is missing; use `check` for a constraint that is only reported (missing_field)",
            ),
            (
                r#"[{"assert": "this", "check": "this"}]"#,
                "/0: a constraint has either `assert` or `check`; split it into two constraints (invalid_value)",
            ),
            (
                r#"[{"assert": "value > 1"}]"#,
                "/0/assert: `value` is not defined; the expression can only use `this`, the value (invalid_value)",
            ),
            (
                r#"[{"assert": "this", "lable": "x"}]"#,
                "/0/lable: unknown member `lable`; did you mean `label`? (unknown_field)",
            ),
            (r#"{"assert": "this"}"#, "/: expected an array, found an object (wrong_type)"),
        ] {
            assert_eq!(read(json).1, expected);
        }
        let (_, problems) = read(r#"[{"check": "this >"}]"#);
        assert!(problems.starts_with("/0/check: the Jinja expression `this >`: "), "{problems}");
    }
}
