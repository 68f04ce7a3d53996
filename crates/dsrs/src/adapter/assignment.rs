//! Assigns the text of a finished answer to outputs: first the sections, then repairs for the
//! outputs that have none. Outputs that the scanner marked complete do not change. Does not know
//! values.

use super::field_texts::FieldTexts;
use super::field_value::FieldText;
use super::headerless;
use super::outputs::Outputs;
use super::sections::{AnswerText, Scanner};
use crate::coerce::LeniencyKind;
use crate::types::TypeIR;

/// Assigns texts to outputs, once the scanner has reached the end of the answer.
pub(super) fn assign(scanner: &Scanner, source: &AnswerText<'_>) -> FieldTexts {
    let mut texts = FieldTexts::of_sections(scanner, source);
    let lenient = source.allowed.has(LeniencyKind::Layout);
    let is_headerless = scanner.sections().iter().all(|section| section.output.is_none());
    match (texts.parts.iter().all(Option::is_some), lenient) {
        (true, _) => {}
        (false, true) if is_headerless => headerless::assign(&mut texts, source),
        (false, true) => repair(&mut texts, scanner, source),
        (false, false) if is_headerless => texts.unused = 0..0,
        (false, false) => {}
    }
    texts
}

/// Looks for missing outputs in the texts that may still be divided.
fn repair(texts: &mut FieldTexts, scanner: &Scanner, source: &AnswerText<'_>) {
    texts.unused = texts.divide(source, scanner.lead().clone(), true);
    for section in scanner.sections() {
        let Some(index) = section.output.filter(|index| !scanner.is_complete(*index)) else {
            continue;
        };
        let rest = texts.divide(source, section.body.clone(), false);
        if let Some(Some(part)) = texts.parts.get_mut(index)
            && part.body.end != rest.end
            && part.body.start == rest.start
        {
            (part.body, part.broken) = (rest, None);
        }
    }
    take_lead(texts, source.outputs);
}

/// Assigns the text before the first section to the first output if its header was left out.
fn take_lead(texts: &mut FieldTexts, outputs: &Outputs) {
    let is_text = outputs.get(0).is_some_and(|output| output.ty.ir == TypeIR::Str);
    if let Some(slot @ None) = texts.parts.first_mut()
        && is_text
        && !texts.unused.is_empty()
    {
        let body = std::mem::replace(&mut texts.unused, 0..0);
        *slot = Some(FieldText { body, degraded: true, broken: None });
    }
}
