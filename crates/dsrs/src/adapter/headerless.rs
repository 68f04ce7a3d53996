//! Answers without any header in the requested form: an object that holds all outputs, degraded
//! headers, or the text of the only output. Does not know sections.

use super::field_texts::FieldTexts;
use super::field_value::FieldText;
use super::object_outputs::{self, ObjectOutputs};
use super::outputs::Outputs;
use super::sections::AnswerText;

/// Assigns the text before the first section to the outputs.
pub(super) fn assign(texts: &mut FieldTexts, source: &AnswerText<'_>) {
    let lead = std::mem::replace(&mut texts.unused, 0..0);
    let text = source.slice(&lead);
    if text.is_empty() {
        return;
    }
    let object = looks_like_object(text).then(|| object_outputs::read(source, text));
    if let Some(Ok(Some(found))) = object {
        return take_object(texts, found);
    }
    let before = texts.divide(source, lead.clone(), true);
    let found = texts.parts.iter().flatten().count();
    if found > 0 && has_all(texts, source.outputs) {
        texts.unused = before;
        return;
    }
    let is_only = source.outputs.len() == 1;
    let object = match object {
        None if !is_only || text.contains(['{', '<']) => Some(object_outputs::read(source, text)),
        known => known,
    };
    match object {
        Some(Ok(Some(found))) => take_object(texts, found),
        _ if is_only => {
            texts.parts = vec![Some(FieldText { body: lead, degraded: true, broken: None })];
        }
        Some(Err(error)) if found == 0 => {
            if let Some(refused) = ObjectOutputs::refused(source.outputs, error) {
                texts.object = Some(refused);
            }
        }
        _ => {}
    }
}

fn has_all(texts: &FieldTexts, outputs: &Outputs) -> bool {
    outputs.iter().zip(&texts.parts).all(|(output, part)| part.is_some() || !output.required)
}

fn take_object(texts: &mut FieldTexts, found: ObjectOutputs) {
    texts.parts.fill(None);
    texts.object = Some(found);
}

/// Whether a text begins like an object, inside a fence or not.
fn looks_like_object(text: &str) -> bool {
    let inside = text.strip_prefix("```").and_then(|rest| rest.split_once('\n'));
    inside.map_or(text, |(_, inside)| inside).trim_start().starts_with('{')
}
