//! `is_error`: whether the node that feeds `value` failed.

use super::function::{OpFunction, OpSpec, op};
use super::{VALUE, value};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::strategy::config::NoSettings;
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "is_error",
    description: "Whether the node that feeds `value` failed; the run continues. Calls no LM.",
    make: |_: NoSettings, _, _| Ok(op(IsError)),
})) }

struct IsError;

impl OpFunction for IsError {
    fn inputs(&self) -> Vec<OpInput> {
        vec![OpInput::open(VALUE)]
    }

    fn accepts_errors(&self) -> &'static [&'static str] {
        &[VALUE]
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, _: &At<'_>) -> Result<OpTypes, Problems> {
        let accepted = TypeIR::union([inputs.type_of(VALUE).ir, TypeIR::Error]);
        Ok(OpTypes::of([(VALUE, accepted)], VALUE, TypeIR::Bool))
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        Ok(matches!(value(inputs, VALUE), Payload::Error(_)).into())
    }
}
