//! Inputs and outputs as attributes, if the operator asks for them. Knows no messages.

use dsrs::value::{Fields, Payload};

use super::attributes::inference;
use dsrs_telemetry::AttributeWriter;

/// Inputs and outputs of a step.
pub(super) fn step(
    to: &mut AttributeWriter<'_>,
    inputs: Option<&Fields>,
    outputs: Option<&Fields>,
) {
    if let Some(inputs) = inputs {
        input(to, &json(inputs));
    }
    if let Some(outputs) = outputs {
        output(to, &json(outputs));
    }
}

/// Named values as an object.
pub(super) fn json(fields: &Fields) -> String {
    Payload::map(fields.clone()).to_json()
}

/// What goes in, as JSON text.
pub(super) fn input(to: &mut AttributeWriter<'_>, json: &str) {
    to.text(inference::INPUT, json);
    to.text(inference::INPUT_TYPE, "application/json");
}

/// What comes out, as JSON text.
pub(super) fn output(to: &mut AttributeWriter<'_>, json: &str) {
    to.text(inference::OUTPUT, json);
    to.text(inference::OUTPUT_TYPE, "application/json");
}
