//! A text as one value of a type: reasoning before it is skipped, the rest is read, and the asserts
//! inside of the type are judged. Knows nothing of sections.

use super::answer::{Misfit, MisfitKind, ParseError, ParsedValue, broken};
use super::checks::Checks;
use super::header::Found;
use super::reasoning;
use crate::coerce::{self, Leniencies, LeniencyKind, Path, Report};
use crate::types::{ConstraintKind, Type, TypeShape, resolve};
use crate::value::Payload;

/// Reads a text as one value.
pub(super) fn parse(ty: &Type, text: &str, allowed: Leniencies) -> Result<ParsedValue, ParseError> {
    let mut report = Report::default();
    let text = behind_reasoning(ty, text, allowed, &mut report);
    let value = match coerce::coerce(text, ty, allowed, &mut report) {
        Ok(value) => value,
        Err(error) => {
            let misfit = Misfit::of_text(MisfitKind::Type, error.path, error.reason);
            return Err(ParseError { misfits: vec![misfit], report });
        }
    };
    let verdicts = Checks::inside(ty).judge(0, &ty.ir, &ty.defs, &value);
    let asserts = verdicts.into_iter().filter(|verdict| verdict.kind == ConstraintKind::Assert);
    let misfits = broken(None, asserts.collect());
    if misfits.is_empty() {
        return Ok(ParsedValue { value, report });
    }
    Err(ParseError { misfits, report })
}

/// The text behind blocks of reasoning. A tag that is a member of the class is that member.
fn behind_reasoning<'t>(
    ty: &Type,
    text: &'t str,
    allowed: Leniencies,
    report: &mut Report,
) -> &'t str {
    let mut rest = text;
    if !allowed.has(LeniencyKind::Reasoning) {
        return rest;
    }
    let names = members(ty);
    let tags = reasoning::tags_beside(names.iter().copied());
    while let Found::Yes((tag, opened)) = reasoning::opening(rest.trim_start(), &tags, true) {
        let block = rest.trim_start();
        let Some(close) = block.get(opened..).and_then(|inside| tag.find_close(inside)) else {
            break;
        };
        let (block, behind) = block.split_at(opened + close.end);
        report.add(&Path::Root, LeniencyKind::Reasoning, block, &Payload::Null);
        rest = behind;
    }
    rest
}

fn members(ty: &Type) -> Vec<&str> {
    let TypeShape::Class(class) = resolve(&ty.ir, &ty.defs).shape else { return Vec::new() };
    let told = class.fields.values().filter_map(|field| field.alias.as_deref());
    class.fields.keys().map(AsRef::as_ref).chain(told).collect()
}
