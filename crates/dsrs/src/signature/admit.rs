//! The boundary for field values: converts them to exactly their types, adds defaults, puts them in
//! the order of the fields and reports every problem.

use std::sync::Arc;

use super::FieldSchema;
use crate::problem::{At, Code, Problems};
use crate::read::{nearest, wrong_type};
use crate::types::{Type, TypeDefs, absent_value, admit_field};
use crate::value::{Fields, Payload};

/// Checks an object of field values and completes it. Returns `None` if there is any problem.
pub fn admit_inputs<'f>(
    fields: impl Iterator<Item = &'f FieldSchema> + Clone,
    defs: &Arc<TypeDefs>,
    values: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Fields> {
    let before = problems.len();
    let admitted = admit_fitting(fields, defs, values, at, problems);
    (problems.len() == before).then_some(admitted)
}

/// Like [`admit_inputs`]; returns the values that have their types even if there are problems, so that
/// further asserts can be checked on them.
pub(crate) fn admit_fitting<'f>(
    fields: impl Iterator<Item = &'f FieldSchema> + Clone,
    defs: &Arc<TypeDefs>,
    values: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Fields {
    let Payload::Map(values) = values else {
        wrong_type(at, problems, "an object", values);
        return Fields::new();
    };
    let mut admitted = Fields::with_capacity(values.len());
    for field in fields.clone() {
        let place = at.key(&field.name);
        let found = match values.get(&field.name) {
            Some(value) => {
                let ty = Type::new(field.ty.clone(), defs.clone());
                admit_field(value, (&field.name, &ty, &field.constraints), &place, problems)
            }
            None => absent_value(&field.ty, defs, field.default.as_ref()).or_else(|| {
                let detail = format!("`{}` is missing; its type is `{}`", field.name, field.ty);
                problems.add(&place, Code::MissingField, detail);
                None
            }),
        };
        if let Some(found) = found {
            admitted.insert(field.name.clone(), found);
        }
    }
    for name in values.keys().filter(|name| !fields.clone().any(|f| f.name == **name)) {
        let hint = nearest(name, fields.clone().map(|field| field.name.as_ref()))
            .map_or_else(String::new, |known| format!("; did you mean `{known}`?"));
        let detail = format!("unknown field `{name}`{hint}");
        problems.add(&at.key(name), Code::UnknownField, detail);
    }
    admitted
}
