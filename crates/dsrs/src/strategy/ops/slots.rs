//! Templates with slots: `{name}`, a way deeper (`{person.name}`, `{items[0]}`), and how the value
//! is written (`{price:.2f}`). Double braces are braces. Knows types, for slots are checked.

use std::sync::Arc;

use super::spec::Spec;
use crate::problem::{At, Code, Problems};
use crate::types::{Type, brief};
use crate::value::{Fields, Payload, SIZE_LIMIT, Selection, SelectionStep, SizeBudget, SizeExcess};

use super::flows::input;
use super::invalid;
use crate::strategy::Flow;
use crate::strategy::op::Given;

/// The longest template, in bytes.
const LENGTH_LIMIT: usize = 20_000;

/// A template with slots.
pub(super) struct Slots(Vec<Part>);

enum Part {
    Text(Box<str>),
    Slot { name: Arc<str>, within: Selection, spec: Spec },
}

impl Slots {
    /// Reads a template; `specs` says whether slots may say how they are written.
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
                parts.push(Part::Text(std::mem::take(&mut text).into()));
                parts.push(read_slot(slot, specs)?);
            }
        }
        text.push_str(rest);
        parts.push(Part::Text(text.into()));
        Ok(Self(parts))
    }

    /// The inputs that it asks for, in order.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for part in &self.0 {
            match part {
                Part::Slot { name, .. } if !names.contains(name) => names.push(name.clone()),
                _ => {}
            }
        }
        names
    }

    /// Checks every slot against the type of its input.
    pub(super) fn check(
        &self,
        given: &Given<'_>,
        member: &str,
        at: &At<'_>,
    ) -> Result<(), Problems> {
        let mut problems = Problems::new();
        for part in &self.0 {
            let Part::Slot { name, within, spec } = part else { continue };
            match within.type_in(&given.type_of(name)) {
                Err(error) => {
                    let detail = format!("`{{{}}}`: {error}", shown(name, within));
                    problems.extend(invalid(at, member, Code::UnknownField, detail));
                }
                Ok(ty) if !spec.takes(&ty) => {
                    problems.extend(invalid(
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

    /// What the text is made of.
    pub(super) fn flows(&self) -> Vec<Flow> {
        let mut flows = Vec::new();
        for part in &self.0 {
            if let Part::Slot { name, within, .. } = part {
                flows.push(Flow::of(input(name).then(within)));
            }
        }
        flows
    }

    /// The text with every slot filled, where there is room for it.
    pub(super) fn fill(&self, inputs: &Fields) -> Result<String, SizeExcess> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(verbatim) => text.push_str(verbatim),
                Part::Slot { name, within, spec } => {
                    let value = inputs.get(name).map(|whole| within.get(whole));
                    let value = value.unwrap_or(Payload::Null);
                    SizeBudget::default().take(&value)?;
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

fn read_slot(slot: &str, specs: bool) -> Result<Part, String> {
    // A key in quotes may hold a colon.
    let colon = slot.rfind(':').filter(|at| !slot.get(*at..).is_some_and(|end| end.contains(']')));
    let (path, spec) = match colon {
        Some(at) => (slot.get(..at).unwrap_or_default(), slot.get(at + 1..).unwrap_or_default()),
        None => (slot, ""),
    };
    if !spec.is_empty() && !specs {
        return Err(format!("`{{{slot}}}`: how a value is written is for the op `format` to say"));
    }
    let selection =
        Selection::parse(path.trim()).map_err(|error| format!("`{{{slot}}}`: {error}"))?;
    let spec = Spec::parse(spec).map_err(|reason| format!("`{{{slot}}}`: {reason}"))?;
    match selection.split_first() {
        Some((SelectionStep::Field(name), within)) => {
            Ok(Part::Slot { name: name.clone(), within, spec })
        }
        _ => Err(format!("`{{{slot}}}` names no input")),
    }
}

fn shown(name: &str, within: &Selection) -> String {
    let whole = Selection::from_iter([SelectionStep::from(name)]);
    whole.then(within).to_string()
}

fn misfit(name: &str, within: &Selection, ty: &Type) -> String {
    let wanted = "a number; the type letters `d`, `f`, `e` and `%`, a sign and `,` are for numbers";
    format!("`{{{}}}` is `{}`, not {wanted}", shown(name, within), brief(&ty.ir))
}
