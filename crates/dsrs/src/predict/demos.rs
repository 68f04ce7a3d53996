//! Checks demos against a schema; reports every field that does not fit.
//!
//! A demo needs every input that has neither a default nor an optional type, and at least one
//! output. It may leave out outputs, because a state is carried over to a graph version whose
//! signature has new outputs; the prompt then says that they are left out.

use super::{Demo, PredictState};
use crate::problem::{At, Code, Problems};
use crate::read::nearest;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{absent_value, admit_field};
use crate::value::Fields;

/// The demos of the state at `at`, with values of exactly their types and in the schema's order.
pub(super) fn admit(
    schema: &SignatureSchema,
    state: &PredictState,
    at: &At<'_>,
) -> Result<Vec<Demo>, Problems> {
    let mut problems = Problems::new();
    let (demos, place) = (&state.demos, at.key("demos"));
    check_vectors(state, at, &mut problems);
    let mut admitted = Vec::with_capacity(demos.len());
    for (index, demo) in demos.iter().enumerate() {
        let here = place.index(index);
        let input_at = here.key("input");
        let input = side(schema, &schema.inputs, &demo.input, &input_at, &mut problems);
        report_missing(schema, &demo.input, &input_at, &mut problems);
        let output_at = here.key("output");
        let output = side(schema, &schema.outputs, &demo.output, &output_at, &mut problems);
        if demo.output.is_empty() && !schema.outputs.is_empty() {
            let detail = "a demo needs at least one output";
            problems.add(&output_at, Code::MissingField, detail);
        }
        admitted.push(Demo { input, output });
    }
    problems.or(admitted)
}

/// Demos that are chosen by vectors need one vector each.
fn check_vectors(state: &PredictState, at: &At<'_>, problems: &mut Problems) {
    let Some(nearest) = &state.nearest else { return };
    let (demos, vectors) = (state.demos.len(), nearest.vectors.len());
    if demos != vectors {
        let detail = format!(
            "there are {vectors} vectors for {demos} demos; set `nearest` to one vector for each \
             demo, or to null to show all demos"
        );
        problems.add(&at.key("nearest").key("vectors"), Code::InvalidValue, detail);
    }
}

fn side(
    schema: &SignatureSchema,
    fields: &[FieldSchema],
    given: &Fields,
    at: &At<'_>,
    problems: &mut Problems,
) -> Fields {
    for name in given.keys().filter(|name| !fields.iter().any(|field| field.name == **name)) {
        let hint = nearest(name, fields.iter().map(|field| &*field.name))
            .map_or_else(String::new, |known| format!("; did you mean `{known}`?"));
        problems.add(&at.key(name), Code::UnknownField, format!("unknown field `{name}`{hint}"));
    }
    let mut admitted = Fields::with_capacity(given.len());
    for field in fields {
        let Some(value) = given.get(&field.name) else { continue };
        let here = at.key(&field.name);
        let checked = (&*field.name, &schema.type_of(field), &*field.constraints);
        let value = admit_field(value, checked, &here, problems);
        admitted.extend(value.map(|value| (field.name.clone(), value)));
    }
    admitted
}

fn report_missing(schema: &SignatureSchema, given: &Fields, at: &At<'_>, problems: &mut Problems) {
    for field in schema.inputs.iter().filter(|field| !given.contains_key(&field.name)) {
        if absent_value(&field.ty, &schema.defs, field.default.as_ref()).is_none() {
            let detail = format!("the input `{}` is missing", field.name);
            problems.add(&at.key(&field.name), Code::MissingField, detail);
        }
    }
}
