//! Templates with slots: `{name}`, a path (`{person.name}`, `{items[0]}`), a conversion to Python's
//! notation (`{name!s}`), and a format (`{price:.2f}`). Double braces are braces. Slots are checked
//! against types.

use std::sync::Arc;

use super::format_spec::FormatSpec;
use super::python_notation::{repr_of, str_of};
use crate::problem::{At, Code, Problems};
use crate::types::{Type, TypeIR, brief};
use crate::value::{Fields, Payload, SIZE_LIMIT, Selection, SelectionStep, SizeBudget, SizeExcess};

use super::invalid;
use super::provenance::input;
use crate::strategy::Flow;
use crate::strategy::op::InputTypes;

/// The longest template, in bytes.
const LENGTH_LIMIT: usize = 20_000;

/// The same in keywords of a JSON Schema, which counts characters.
pub(super) const TEMPLATE_LENGTH: &str = r#"{"maxLength": 20000}"#;

/// A template with slots.
pub(super) struct SlotTemplate(Vec<TemplatePart>);

enum TemplatePart {
    Text(Box<str>),
    Slot { name: Arc<str>, within: Selection, convert: Option<Convert>, spec: FormatSpec },
}

/// Writes a value in Python's notation before it is formatted.
type Convert = fn(&Payload) -> String;

impl SlotTemplate {
    /// Reads a template; `specs` allows formats in slots.
    pub(super) fn parse(source: &str, specs: bool) -> Result<Self, String> {
        if source.len() > LENGTH_LIMIT {
            return Err(format!("the template is longer than {LENGTH_LIMIT} bytes"));
        }
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = source;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            text.push_str(before);
            let double = from.starts_with("{{") || from.starts_with("}}");
            let (sign, behind) = from.split_at(if double { 2 } else { 1 });
            rest = behind;
            if double {
                text.push_str(sign.get(..1).unwrap_or_default());
            } else if sign == "}" {
                return Err("a `}` without its `{`; write `}}` for a brace".to_owned());
            } else {
                let (slot, behind) = behind
                    .split_once('}')
                    .ok_or_else(|| "a `{` without its `}`; write `{{` for a brace".to_owned())?;
                rest = behind;
                parts.push(TemplatePart::Text(std::mem::take(&mut text).into()));
                parts.push(read_slot(slot, specs)?);
            }
        }
        text.push_str(rest);
        parts.push(TemplatePart::Text(text.into()));
        Ok(Self(parts))
    }

    /// The names of its inputs, in order.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for part in &self.0 {
            match part {
                TemplatePart::Slot { name, .. } if !names.contains(name) => {
                    names.push(name.clone())
                }
                _ => {}
            }
        }
        names
    }

    /// Checks every slot against the type of its input.
    pub(super) fn check(
        &self,
        given: &InputTypes<'_>,
        member: &str,
        at: &At<'_>,
    ) -> Result<(), Problems> {
        let mut problems = Problems::new();
        for part in &self.0 {
            let TemplatePart::Slot { name, within, convert, spec } = part else { continue };
            let written = |ty: Type| match convert {
                Some(_) => Type::new(TypeIR::Str, ty.defs),
                None => ty,
            };
            match within.type_in(&given.type_of(name)).map(written) {
                Err(error) => {
                    let detail = format!("`{{{}}}`: {error}", shown(name, within));
                    problems.append(invalid(at, member, Code::UnknownField, detail));
                }
                Ok(ty) if !spec.accepts(&ty) => {
                    problems.append(invalid(
                        at,
                        member,
                        Code::TypeMismatch,
                        misfit(name, within, &ty),
                    ));
                }
                Ok(_) => {}
            }
        }
        problems.or(())
    }

    /// The parts of inputs that the text contains.
    pub(super) fn flows(&self) -> Vec<Flow> {
        let mut flows = Vec::new();
        for part in &self.0 {
            if let TemplatePart::Slot { name, within, .. } = part {
                flows.push(Flow::of(input(name).then(within)));
            }
        }
        flows
    }

    /// The text with every slot filled, if it is not too large.
    pub(super) fn fill(&self, inputs: &Fields) -> Result<String, SizeExcess> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                TemplatePart::Text(verbatim) => text.push_str(verbatim),
                TemplatePart::Slot { name, within, convert, spec } => {
                    let value = inputs.get(name).map(|whole| within.get(whole));
                    let value = value.unwrap_or(Payload::Null);
                    SizeBudget::default().take(&value)?;
                    let value = match convert {
                        Some(notation) => Payload::from(notation(&value)),
                        None => value,
                    };
                    spec.write(&mut text, &value);
                }
            }
            if text.len() > SIZE_LIMIT {
                return Err(SizeExcess::Weight);
            }
        }
        Ok(text)
    }
}

fn read_slot(slot: &str, specs: bool) -> Result<TemplatePart, String> {
    // A quoted key may contain a colon.
    let colon = slot.rfind(':').filter(|at| !slot.get(*at..).is_some_and(|end| end.contains(']')));
    let (path, spec) = match colon {
        Some(at) => (slot.get(..at).unwrap_or_default(), slot.get(at + 1..).unwrap_or_default()),
        None => (slot, ""),
    };
    let (path, convert) = converted(path.trim());
    if (!spec.is_empty() || convert.is_some()) && !specs {
        return Err(format!("`{{{slot}}}`: only the op `format` accepts formats in slots"));
    }
    let selection = Selection::parse(path).map_err(|error| format!("`{{{slot}}}`: {error}"))?;
    let spec = FormatSpec::parse(spec).map_err(|reason| format!("`{{{slot}}}`: {reason}"))?;
    match selection.split_first() {
        Some((SelectionStep::Field(name), within)) => {
            Ok(TemplatePart::Slot { name: name.clone(), within, convert, spec })
        }
        _ => Err(format!("`{{{slot}}}` names no input")),
    }
}

/// The path, and the conversion that follows it.
fn converted(path: &str) -> (&str, Option<Convert>) {
    let notations: [(&str, Convert); 2] = [("!s", str_of), ("!r", repr_of)];
    let found = notations
        .into_iter()
        .find_map(|(suffix, notation)| Some((path.strip_suffix(suffix)?, Some(notation))));
    found.unwrap_or((path, None))
}

fn shown(name: &str, within: &Selection) -> String {
    let whole = Selection::from_iter([SelectionStep::from(name)]);
    whole.then(within).to_string()
}

fn misfit(name: &str, within: &Selection, ty: &Type) -> String {
    let wanted = "a number; the type letters `d`, `f`, `e` and `%`, a sign and `,` are for numbers";
    format!("`{{{}}}` is `{}`, not {wanted}", shown(name, within), brief(&ty.ir))
}
