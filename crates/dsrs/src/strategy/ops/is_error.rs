//! `is_error`: whether the node that was to give a value failed.

use std::sync::Arc;

use super::{VALUE, value};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::config_schema;
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule};
use crate::types::{TypeIR, TypeScope};
use crate::value::Payload;

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "is_error"
    }

    fn description(&self) -> &'static str {
        "Whether the node that was to give `value` failed. The run goes on then. Calls no LM."
    }

    fn config_schema(&self) -> Payload {
        config_schema([], &[])
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        _: &Payload,
        _: &mut TypeScope,
        _: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        Ok(Box::new(IsError))
    }
}

struct IsError;

impl Op for IsError {
    fn inputs(&self) -> Vec<OpInput> {
        vec![OpInput::open(VALUE)]
    }

    fn infer(&self, given: &mut Given<'_>, _: &At<'_>) -> Result<OpTypes, Problems> {
        let found = TypeIR::union([given.type_of(VALUE).ir, TypeIR::Error]);
        Ok(OpTypes::of([(VALUE, found)], VALUE, TypeIR::Bool))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        Box::new(Computed::taking_errors(schema, &[VALUE], |inputs| {
            Ok(matches!(value(inputs, VALUE), Payload::Error(_)).into())
        }))
    }
}
