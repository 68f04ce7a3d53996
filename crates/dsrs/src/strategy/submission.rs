//! Outputs that an LM passes as arguments of a call instead of writing them: checked and repaired like those of an answer.
//! Knows no sandbox and no tools.

use crate::coerce::{Leniencies, ParseReport, coerce};
use crate::predict::result_text;
use crate::problem::{At, Problems};
use crate::signature::{FieldSchema, SignatureSchema, admit_inputs};
use crate::types::{Type, TypeIR, admit};
use crate::value::{Fields, Payload};

/// The outputs by their names, or everything that does not fit.
pub(super) fn read_outputs(schema: &SignatureSchema, mut values: Fields) -> Result<Fields, String> {
    for field in &schema.outputs {
        if let Some(value) = values.get_mut(&field.name) {
            *value = converted(value, &schema.type_of(field));
        }
    }
    let mut problems = Problems::new();
    let outputs = schema.outputs.iter();
    let admitted =
        admit_inputs(outputs, &schema.defs, &Payload::map(values), &At::Root, &mut problems);
    admitted.ok_or_else(|| described(&problems))
}

/// Whether an argument has the name of an output, or the one that the LM sees.
pub(super) fn is_named(field: &FieldSchema, name: &str) -> bool {
    &*field.name == name || &**field.lm_name() == name
}

fn described(problems: &Problems) -> String {
    let each = problems.iter().map(|problem| {
        let place = problem.pointer.trim_start_matches('/');
        format!("`{place}`: {}", problem.detail)
    });
    each.collect::<Vec<_>>().join("; ")
}

/// The value as its type if a text or an alias of the type stands for it; otherwise the value, whose check says what is
/// wrong.
fn converted(value: &Payload, ty: &Type) -> Payload {
    if admit(value, ty, &At::Root, &mut Problems::new()).is_some() {
        return value.clone();
    }
    let is_scalar = matches!(value, Payload::Bool(_) | Payload::Int(_) | Payload::Float(_));
    let has_text = match value {
        Payload::Str(_) => true,
        Payload::Float(number) => number.fract() == 0.0 || ty.ir == TypeIR::Str,
        _ => ty.has_aliases() || (is_scalar && ty.ir == TypeIR::Str),
    };
    let read = || coerce(&result_text(value), ty, Leniencies::ALL, &mut ParseReport::default());
    has_text.then(read).and_then(Result::ok).unwrap_or_else(|| value.clone())
}
