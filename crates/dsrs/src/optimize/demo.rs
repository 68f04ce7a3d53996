//! Demos of a predictor, from examples and from calls of successful rollouts. Knows schemas; knows
//! nothing of optimizers.

use std::sync::Arc;

use super::{Example, PredictorCall};
use crate::graph::Program;
use crate::predict::{Demo, DynPredictor};
use crate::problem::{At, Problems};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{absent_value, admit_field};
use crate::value::{Fields, Payload};

/// Makes a demo for a predictor from an example, by field name: inputs from all fields of the example,
/// outputs from the expected ones. Returns `None` if a required input or every output is missing, or
/// if a value does not fit its type.
#[must_use]
pub fn labeled_demo(schema: &SignatureSchema, example: &Example) -> Option<Demo> {
    let given = |name: &str| example.inputs.get(name).or_else(|| example.expected.get(name));
    let mut input = Fields::with_capacity(schema.inputs.len());
    for field in &schema.inputs {
        match given(&field.name) {
            Some(value) => {
                input.insert(field.name.clone(), fitting(schema, field, value)?);
            }
            None if absent_value(&field.ty, &schema.defs, field.default.as_ref()).is_some() => {}
            None => return None,
        }
    }
    let mut output = Fields::with_capacity(schema.outputs.len());
    for field in &schema.outputs {
        if let Some(value) = example.expected.get(&field.name) {
            output.insert(field.name.clone(), fitting(schema, field, value)?);
        }
    }
    (!output.is_empty()).then_some(Demo { input, output })
}

/// Makes a demo from a call.
#[must_use]
pub fn demo_of_call(step: &PredictorCall) -> Demo {
    Demo { input: step.inputs.clone(), output: step.outputs.clone() }
}

fn fitting(schema: &SignatureSchema, field: &FieldSchema, value: &Payload) -> Option<Payload> {
    let mut problems = Problems::new();
    let checked = (&*field.name, &schema.type_of(field), &*field.constraints);
    let fitted = admit_field(value, checked, &At::Root, &mut problems);
    fitted.filter(|_| problems.is_empty())
}

/// The paths and schemas of the predictors of a program, in order.
#[must_use]
pub fn tunable(program: &Program) -> Vec<(Arc<str>, Arc<SignatureSchema>)> {
    let found = program.predictors().into_iter();
    found.map(|(path, predictor)| (Arc::from(path), predictor.schema().clone())).collect()
}

/// The current instruction of a predictor.
#[must_use]
pub fn instruction_of(program: &Program, path: &str) -> Option<Arc<str>> {
    let mut found = program.predictors().into_iter().filter(|(known, _)| known == path);
    found.next().map(|(_, predictor): (_, &dyn DynPredictor)| predictor.instruction().into())
}
