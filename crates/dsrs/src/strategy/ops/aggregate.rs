//! `sum`, `min`, `max`, `mean`: one number of many, which are given as lists, one by one, or both.
//! Sisters that differ in one function.

use std::sync::Arc;

use super::number::{Number, finite};
use super::{INPUTS, INPUTS_SCHEMA, Many, VALUE, failed, many, named_inputs, unfed};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, schema};
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule};
use crate::types::{TypeIR, TypeScope};
use crate::value::{Fields, Payload};

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory {
    name: "sum",
    description: "The sum of all numbers that are connected, alone or in lists; 0 of none. Whole \
                  numbers give a whole number. Calls no LM.",
    kind: Kind::Sum,
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&Factory {
    name: "min",
    description: "The least of all numbers that are connected, alone or in lists; fails where there \
                  are none. Calls no LM.",
    kind: Kind::Min,
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&Factory {
    name: "max",
    description: "The greatest of all numbers that are connected, alone or in lists; fails where \
                  there are none. Calls no LM.",
    kind: Kind::Max,
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&Factory {
    name: "mean",
    description: "The arithmetic mean of all numbers that are connected, alone or in lists, a float; \
                  fails where there are none. Calls no LM.",
    kind: Kind::Mean,
})) }

struct Factory {
    name: &'static str,
    description: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Sum,
    Min,
    Max,
    Mean,
}

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn config_schema(&self) -> Payload {
        config_schema([(INPUTS, schema(INPUTS_SCHEMA))], &[])
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        config: &Payload,
        _: &mut TypeScope,
        _: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        Ok(Box::new(Aggregate { kind: self.kind, inputs: named_inputs(config) }))
    }
}

struct Aggregate {
    kind: Kind,
    inputs: Vec<OpInput>,
}

impl Op for Aggregate {
    fn inputs(&self) -> Vec<OpInput> {
        self.inputs.clone()
    }

    fn takes_others(&self) -> bool {
        self.inputs.is_empty()
    }

    fn infer(&self, given: &mut Given<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        if given.types().is_empty() {
            return Err(unfed(at, "values"));
        }
        let types: Vec<TypeIR> = given.types().values().cloned().collect();
        let list = TypeIR::list(TypeIR::Int);
        let mut whole = self.kind != Kind::Mean;
        for ir in &types {
            whole = whole && (given.fits(ir, &TypeIR::Int) || given.fits(ir, &list));
        }
        let ty = if whole { TypeIR::Int } else { TypeIR::Float };
        let defs = given.defs();
        let inputs = super::fields(given, |ir| match many(ir, defs) {
            Some(Many::List(_)) => TypeIR::list(ty.clone()),
            _ => ty.clone(),
        });
        Ok(OpTypes::of(inputs, VALUE, ty.clone()))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let whole = schema.outputs.first().is_some_and(|field| field.ty == TypeIR::Int);
        Computed::boxed(schema, move |inputs| apply(self.kind, whole, inputs).map(Payload::from))
    }
}

fn apply(kind: Kind, whole: bool, inputs: &Fields) -> Result<Number, PredictError> {
    let parts = inputs.values().flat_map(|value| match value {
        Payload::List(elements) => elements.as_slice(),
        one => std::slice::from_ref(one),
    });
    let mut numbers = parts.map(Number::of);
    let zero = if whole { Number::Int(0) } else { Number::Float(0.0) };
    match kind {
        Kind::Sum => numbers.try_fold(zero, |sum, next| add(sum, next?)),
        Kind::Min => pick(numbers, |best, next| next < best),
        Kind::Max => pick(numbers, |best, next| next > best),
        Kind::Mean => {
            let mut count = 0_u32;
            let sum = numbers.try_fold(zero, |sum, next| {
                count = count.saturating_add(1);
                add(sum, next?)
            })?;
            if count == 0 { Err(none()) } else { finite(sum.float() / f64::from(count)) }
        }
    }
}

fn add(sum: Number, next: Number) -> Result<Number, PredictError> {
    sum.with(next, i64::checked_add, |a, b| a + b)
}

fn pick(
    mut numbers: impl Iterator<Item = Result<Number, PredictError>>,
    better: impl Fn(Order, Order) -> bool,
) -> Result<Number, PredictError> {
    let first = numbers.next().ok_or_else(none)??;
    numbers.try_fold(first, |best, next| {
        let next = next?;
        Ok(if better(Order(best), Order(next)) { next } else { best })
    })
}

fn none() -> PredictError {
    failed("there are no numbers to choose from")
}

/// Numbers of one kind in their order; whole ones exactly.
#[derive(PartialEq)]
struct Order(Number);

impl PartialOrd for Order {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self.0, other.0) {
            (Number::Int(one), Number::Int(two)) => Some(one.cmp(&two)),
            (one, two) => one.float().partial_cmp(&two.float()),
        }
    }
}
