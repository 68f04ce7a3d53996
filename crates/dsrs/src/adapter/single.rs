//! Reads a text as one value of a type: skips leading reasoning, reads the rest and checks the
//! asserts inside of the type. Does not know sections.

use super::answer::{ParsedValue, failed_asserts};
use super::checks::Checks;
use super::header::ScanResult;
use super::problem::{OutputProblem, OutputProblemKind, ParseError};
use super::reasoning;
use crate::coerce::{self, Leniencies, LeniencyKind, ParseReport, Path};
use crate::types::{ConstraintKind, Type, TypeShape, resolve};
use crate::value::Payload;

/// Reads a text as one value.
pub(super) fn parse(ty: &Type, text: &str, allowed: Leniencies) -> Result<ParsedValue, ParseError> {
    let mut report = ParseReport::default();
    let text = after_reasoning(ty, text, allowed, &mut report);
    let value = match coerce::coerce(text, ty, allowed, &mut report) {
        Ok(value) => value,
        Err(error) => {
            let problem = OutputProblem::of_text(OutputProblemKind::Type, error.path, error.reason);
            return Err(ParseError { problems: vec![problem], report });
        }
    };
    let verdicts = Checks::inside(ty).judge(0, &value);
    let asserts = verdicts.into_iter().filter(|verdict| verdict.kind == ConstraintKind::Assert);
    let problems = failed_asserts(None, asserts.collect());
    if problems.is_empty() {
        return Ok(ParsedValue { value, report });
    }
    Err(ParseError { problems, report })
}

/// The text after blocks of reasoning. A tag with the name of a class member is not reasoning.
fn after_reasoning<'t>(
    ty: &Type,
    text: &'t str,
    allowed: Leniencies,
    report: &mut ParseReport,
) -> &'t str {
    let mut rest = text;
    if !allowed.has(LeniencyKind::Reasoning) {
        return rest;
    }
    let names = members(ty);
    let tags = reasoning::reasoning_tags(names.iter().copied());
    while let ScanResult::Match((tag, opened)) = reasoning::opening(rest.trim_start(), &tags, true)
    {
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
    let aliases = class.fields.values().filter_map(|field| field.alias.as_deref());
    class.fields.keys().map(AsRef::as_ref).chain(aliases).collect()
}
