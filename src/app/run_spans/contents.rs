//! Inputs and outputs as attributes, if the operator asks for them. Knows no messages.

use dsrs::value::{Fields, Payload};
use opentelemetry::KeyValue;

use super::attributes::inference;

/// Inputs and outputs of a step.
pub(super) fn step(
    attributes: &mut Vec<KeyValue>,
    inputs: Option<&Fields>,
    outputs: Option<&Fields>,
) {
    if let Some(inputs) = inputs {
        input(attributes, json(inputs));
    }
    if let Some(outputs) = outputs {
        output(attributes, json(outputs));
    }
}

/// Named values as an object.
pub(super) fn json(fields: &Fields) -> String {
    Payload::map(fields.clone()).to_json()
}

/// What goes in, as JSON text.
pub(super) fn input(attributes: &mut Vec<KeyValue>, json: String) {
    attributes.push(KeyValue::new(inference::INPUT, json));
    attributes.push(KeyValue::new(inference::INPUT_TYPE, "application/json"));
}

/// What comes out, as JSON text.
pub(super) fn output(attributes: &mut Vec<KeyValue>, json: String) {
    attributes.push(KeyValue::new(inference::OUTPUT, json));
    attributes.push(KeyValue::new(inference::OUTPUT_TYPE, "application/json"));
}
