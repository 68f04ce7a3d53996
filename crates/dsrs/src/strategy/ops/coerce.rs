//! `coerce`: a value of one type as a value of another, where it can be one.

use std::sync::Arc;

use super::parse_structured::{STRICT, STRICT_SCHEMA, leniencies, parsed};
use super::spec::plain;
use super::{TYPE, TYPE_SCHEMA, VALUE, failed, read_type, value};
use crate::coerce::Leniencies;
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, schema};
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule};
use crate::types::{Conversion, Type, TypeIR, TypeScope, admit};
use crate::value::Payload;

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "coerce"
    }

    fn description(&self) -> &'static str {
        "Makes `value` a value of `type`: anything a text, a text what the parser reads in it, numbers \
         each other where nothing is lost, `any` what it turns out to be. Fails where it cannot be \
         one. Calls no LM."
    }

    fn config_schema(&self) -> Payload {
        config_schema([(TYPE, schema(TYPE_SCHEMA)), (STRICT, schema(STRICT_SCHEMA))], &[TYPE])
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        config: &Payload,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let allowed = leniencies(config);
        Ok(Box::new(Coerce { ty: read_type(config, scope, at)?, allowed }))
    }
}

struct Coerce {
    ty: TypeIR,
    allowed: Leniencies,
}

impl Op for Coerce {
    fn inputs(&self) -> Vec<OpInput> {
        vec![OpInput::open(VALUE)]
    }

    fn infer(&self, given: &mut Given<'_>, _: &At<'_>) -> Result<OpTypes, Problems> {
        Ok(OpTypes::of([(VALUE, given.type_of(VALUE).ir)], VALUE, self.ty.clone()))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let to = Type::new(self.ty, schema.defs.clone());
        let from = schema.inputs.first().map(|field| schema.type_of(field));
        // Where every value fits, nothing is left to find out.
        let known = from
            .filter(|from| from.assignable_to(&to).is_ok())
            .map(|from| Conversion::between(&from, &to));
        let allowed = self.allowed;
        Computed::boxed(schema, move |inputs| {
            let value = value(inputs, VALUE);
            match &known {
                Some(known) => known.apply(value).map_err(|error| failed(error.to_string())),
                None => coerced(value, &to, allowed),
            }
        })
    }
}

fn coerced(value: &Payload, to: &Type, allowed: Leniencies) -> Result<Payload, PredictError> {
    let fits = admit(value, to, &At::Root, &mut Problems::new());
    match (fits, value) {
        (Some(fits), _) => Ok(fits),
        (None, _) if to.ir == TypeIR::Str => Ok(plain(value).into()),
        (None, Payload::Float(number)) if to.ir == TypeIR::Int => whole(*number),
        // The parser reads base64, and the text of what is no text may happen to be some.
        (None, value) if to.ir == TypeIR::Bytes && value.as_str().is_none() => {
            Err(failed(format!("{} is no `bytes`; only a text is, in base64", value.kind())))
        }
        (None, _) => parsed(&plain(value), to, allowed),
    }
}

/// A float as a whole number, where it is one.
fn whole(number: f64) -> Result<Payload, PredictError> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number) {
        return Ok(Payload::Int(number as i64));
    }
    Err(failed(format!("{} is no whole number of 64 bits", Payload::Float(number).to_json())))
}
