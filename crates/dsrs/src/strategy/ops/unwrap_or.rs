//! `unwrap_or`: a value, or another where it is absent or the node that was to give it failed.

use std::sync::Arc;

use super::flows::input;
use super::select::{exactly, fitting};
use super::{VALUE, settled, value};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, schema};
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule, Flow};
use crate::types::{Type, TypeIR, TypeScope};
use crate::value::Payload;

const DEFAULT: &str = "default";

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "unwrap_or"
    }

    fn description(&self) -> &'static str {
        "Gives `value`, or `default` where the node that was to give it failed, or where it is null. \
         The default stands in the config or is connected. Calls no LM."
    }

    fn config_schema(&self) -> Payload {
        let default = schema(r#"{"description": "what stands in for a value that is not there"}"#);
        config_schema([(DEFAULT, default)], &[])
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        config: &Payload,
        _: &mut TypeScope,
        _: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        // Null is a default too.
        let default = config.as_map().and_then(|members| members.get(DEFAULT)).cloned();
        Ok(Box::new(UnwrapOr { default }))
    }
}

struct UnwrapOr {
    default: Option<Payload>,
}

impl Op for UnwrapOr {
    fn inputs(&self) -> Vec<OpInput> {
        let mut inputs = vec![OpInput::open(VALUE)];
        if self.default.is_none() {
            inputs.push(OpInput::open(DEFAULT));
        }
        inputs
    }

    fn infer(&self, given: &mut Given<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        let found = given.type_of(VALUE);
        let there = settled(&found.ir, &found.defs);
        let ty = match (&self.default, given.get(DEFAULT)) {
            (Some(Payload::Null), _) => there.optional(),
            (Some(default), _) => {
                fitting(default, &Type::new(there.clone(), found.defs), DEFAULT, at)?;
                there
            }
            (None, None) => there,
            (None, Some(other)) if there == TypeIR::Null => other.clone(),
            (None, Some(other)) => {
                let other = other.clone();
                if given.fits(&other, &there) { there } else { TypeIR::union([there, other]) }
            }
        };
        let mut inputs = vec![(VALUE, TypeIR::union([found.ir, TypeIR::Error]))];
        // A default of the value's type, so that what comes out is of one kind.
        inputs.extend(given.get(DEFAULT).map(|_| (DEFAULT, ty.clone())));
        Ok(OpTypes::of(inputs, VALUE, ty))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let default = self.default.map(|default| exactly(default, &schema));
        let constant = default.is_some();
        let module = Computed::taking_errors(schema, &[VALUE], move |inputs| {
            Ok(match (value(inputs, VALUE), &default) {
                (Payload::Null | Payload::Error(_), Some(default)) => default.clone(),
                (Payload::Null | Payload::Error(_), None) => value(inputs, DEFAULT).clone(),
                (found, _) => found.clone(),
            })
        });
        module.telling(move |inputs, within| match value(inputs, VALUE) {
            Payload::Null | Payload::Error(_) if constant => Vec::new(),
            Payload::Null | Payload::Error(_) => vec![Flow::copied(input(DEFAULT).then(within))],
            _ => vec![Flow::copied(input(VALUE).then(within))],
        })
    }
}
