//! `unwrap_or`: a value, or a default if it is null or the node that feeds it failed.

use facet::Facet;

use super::function::{OpFunction, OpSpec, op};
use super::provenance::input;
use super::select::{check_default, exact_default};
use super::{VALUE, settled, value};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::Flow;
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::{Type, TypeIR};
use crate::value::{Fields, Payload, Selection};

const DEFAULT: &str = "default";

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "unwrap_or",
    description: "Returns `value`, or `default` if `value` is null or the node that feeds it failed. \
                  The default is in the config or is connected. Calls no LM.",
    make: |config: UnwrapOrConfig, _, _| {
        Ok(op(UnwrapOr { default: config.default.map(Option::unwrap_or_default) }))
    },
})) }

#[derive(Facet)]
struct UnwrapOrConfig {
    /// The output if there is no value.
    // Null is a default too.
    default: Option<Option<Payload>>,
}

struct UnwrapOr {
    default: Option<Payload>,
}

impl OpFunction for UnwrapOr {
    fn inputs(&self) -> Vec<OpInput> {
        let mut inputs = vec![OpInput::open(VALUE)];
        if self.default.is_none() {
            inputs.push(OpInput::open(DEFAULT));
        }
        inputs
    }

    fn accepts_errors(&self) -> &'static [&'static str] {
        &[VALUE]
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        let whole = inputs.type_of(VALUE);
        let present = settled(&whole.ir, &whole.defs);
        let ty = match (&self.default, inputs.get(DEFAULT)) {
            (Some(Payload::Null), _) => present.optional(),
            (Some(default), _) => {
                check_default(default, &Type::new(present.clone(), whole.defs), DEFAULT, at)?;
                present
            }
            (None, None) => present,
            (None, Some(other)) if present == TypeIR::Null => other.clone(),
            (None, Some(other)) => {
                let other = other.clone();
                match inputs.fits(&other, &present) {
                    true => present,
                    false => TypeIR::union([present, other]),
                }
            }
        };
        let mut accepted = vec![(VALUE, TypeIR::union([whole.ir, TypeIR::Error]))];
        // The default is converted to the output's type, so that every output is of one type.
        accepted.extend(inputs.get(DEFAULT).map(|_| (DEFAULT, ty.clone())));
        Ok(OpTypes::of(accepted, VALUE, ty))
    }

    fn prepare(&mut self, schema: &SignatureSchema) {
        self.default = self.default.take().map(|default| exact_default(default, schema));
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        Ok(match (value(inputs, VALUE), &self.default) {
            (Payload::Null | Payload::Error(_), Some(default)) => default.clone(),
            (Payload::Null | Payload::Error(_), None) => value(inputs, DEFAULT).clone(),
            (present, _) => present.clone(),
        })
    }

    fn flows(&self, inputs: &Fields, within: &Selection) -> Vec<Flow> {
        match value(inputs, VALUE) {
            Payload::Null | Payload::Error(_) if self.default.is_some() => Vec::new(),
            Payload::Null | Payload::Error(_) => vec![Flow::copied(input(DEFAULT).then(within))],
            _ => vec![Flow::copied(input(VALUE).then(within))],
        }
    }
}
