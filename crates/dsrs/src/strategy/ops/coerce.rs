//! `coerce`: converts a value to another type, where it has a value of that type.

use super::function::{OpFunction, OpSpec, op};
use super::parse_structured::{ParseConfig, parsed};
use super::plain_text::plain;
use super::{VALUE, failed, value};
use crate::coerce::Leniencies;
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::{Conversion, Type, TypeIR, admit};
use crate::value::{Fields, Payload};

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "coerce",
    description: "Converts `value` to `type`: anything to text, text by the lenient parser, numbers \
                  to each other if nothing is lost, `any` by its actual value. Fails if the value \
                  cannot be converted. Calls no LM.",
    make: |config: ParseConfig, scope, at| {
        let (ty, allowed) = (config.ty(scope, at)?, config.leniencies());
        Ok(op(Coerce { ty, allowed, conversion: None }))
    },
})) }

struct Coerce {
    ty: Type,
    allowed: Leniencies,
    /// Where every value of the input's type fits, nothing is left to find out.
    conversion: Option<Conversion>,
}

impl OpFunction for Coerce {
    fn inputs(&self) -> Vec<OpInput> {
        vec![OpInput::open(VALUE)]
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, _: &At<'_>) -> Result<OpTypes, Problems> {
        Ok(OpTypes::of([(VALUE, inputs.type_of(VALUE).ir)], VALUE, self.ty.ir.clone()))
    }

    fn prepare(&mut self, schema: &SignatureSchema) {
        self.ty.defs = schema.defs.clone();
        let from = schema.inputs.first().map(|field| schema.type_of(field));
        let from = from.filter(|from| from.assignable_to(&self.ty).is_ok());
        self.conversion = from.map(|from| Conversion::between(&from, &self.ty));
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        let value = value(inputs, VALUE);
        match &self.conversion {
            Some(known) => known.apply(value).map_err(|error| failed(error.to_string())),
            None => coerced(value, &self.ty, self.allowed),
        }
    }
}

fn coerced(value: &Payload, to: &Type, allowed: Leniencies) -> Result<Payload, PredictError> {
    let fits = admit(value, to, &At::Root, &mut Problems::new());
    match (fits, value) {
        (Some(fits), _) => Ok(fits),
        (None, _) if to.ir == TypeIR::Str => Ok(plain(value).into()),
        (None, Payload::Float(number)) if to.ir == TypeIR::Int => whole(*number),
        // The parser reads base64, and the text of another value may happen to be valid base64.
        (None, value) if to.ir == TypeIR::Bytes && value.as_str().is_none() => {
            Err(failed(format!("{} is not `bytes`; only a text in base64 is", value.kind())))
        }
        (None, _) => parsed(&plain(value), to, allowed),
    }
}

/// A float without a fraction as an integer.
fn whole(number: f64) -> Result<Payload, PredictError> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number) {
        return Ok(Payload::Int(number as i64));
    }
    Err(failed(format!("{} is not a 64-bit integer", Payload::Float(number).to_json())))
}
