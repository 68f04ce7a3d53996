//! `sum`, `min`, `max` and `mean`: one number from many, which come as lists, one by one, or both.

use super::function::{OpFunction, OpSpec, op};
use super::number::{OpNumber, finite};
use super::{Container, NamedInputs, VALUE, container, failed, field_types, unfed};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::op::{InputTypes, Op, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "sum",
    description: "The sum of all connected numbers, single or in lists; 0 if there are none, an \
                  integer if all are. Calls no LM.",
    make: |config, _, _| Ok(aggregate(Aggregation::Sum, config)),
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "min",
    description: "The smallest of all connected numbers, single or in lists; fails if there are none. \
                  Calls no LM.",
    make: |config, _, _| Ok(aggregate(Aggregation::Min, config)),
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "max",
    description: "The largest of all connected numbers, single or in lists; fails if there are none. \
                  Calls no LM.",
    make: |config, _, _| Ok(aggregate(Aggregation::Max, config)),
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "mean",
    description: "The arithmetic mean of all connected numbers, single or in lists, as a float; fails \
                  if there are none. Calls no LM.",
    make: |config, _, _| Ok(aggregate(Aggregation::Mean, config)),
})) }

fn aggregate(kind: Aggregation, config: NamedInputs) -> Box<dyn Op> {
    op(Aggregate { kind, inputs: config.open(), whole: false })
}

#[derive(Clone, Copy, PartialEq)]
enum Aggregation {
    Sum,
    Min,
    Max,
    Mean,
}

struct Aggregate {
    kind: Aggregation,
    inputs: Vec<OpInput>,
    /// Whether the result is an integer.
    whole: bool,
}

impl OpFunction for Aggregate {
    fn inputs(&self) -> Vec<OpInput> {
        self.inputs.clone()
    }

    fn accepts_others(&self) -> bool {
        self.inputs.is_empty()
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        if inputs.types().is_empty() {
            return Err(unfed(at, "values"));
        }
        let types: Vec<TypeIR> = inputs.types().values().cloned().collect();
        let list = TypeIR::list(TypeIR::Int);
        let mut whole = self.kind != Aggregation::Mean;
        for ir in &types {
            whole = whole && (inputs.fits(ir, &TypeIR::Int) || inputs.fits(ir, &list));
        }
        let ty = if whole { TypeIR::Int } else { TypeIR::Float };
        let defs = inputs.defs();
        let accepted = field_types(inputs, |ir| match container(ir, defs) {
            Some(Container::List(_)) => TypeIR::list(ty.clone()),
            _ => ty.clone(),
        });
        Ok(OpTypes::of(accepted, VALUE, ty.clone()))
    }

    fn prepare(&mut self, schema: &SignatureSchema) {
        self.whole = schema.outputs.first().is_some_and(|field| field.ty == TypeIR::Int);
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        apply(self.kind, self.whole, inputs).map(Payload::from)
    }
}

fn apply(kind: Aggregation, whole: bool, inputs: &Fields) -> Result<OpNumber, PredictError> {
    let parts = inputs.values().flat_map(|value| match value {
        Payload::List(elements) => elements.as_slice(),
        one => std::slice::from_ref(one),
    });
    let mut numbers = parts.map(OpNumber::of);
    let zero = if whole { OpNumber::Int(0) } else { OpNumber::Float(0.0) };
    match kind {
        Aggregation::Sum => numbers.try_fold(zero, |sum, next| add(sum, next?)),
        Aggregation::Min => pick(numbers, |best, next| next < best),
        Aggregation::Max => pick(numbers, |best, next| next > best),
        Aggregation::Mean => {
            let mut count = 0_u32;
            let sum = numbers.try_fold(zero, |sum, next| {
                count = count.saturating_add(1);
                add(sum, next?)
            })?;
            if count == 0 { Err(no_numbers()) } else { finite(sum.float() / f64::from(count)) }
        }
    }
}

fn add(sum: OpNumber, next: OpNumber) -> Result<OpNumber, PredictError> {
    sum.with(next, i64::checked_add, |a, b| a + b)
}

fn pick(
    mut numbers: impl Iterator<Item = Result<OpNumber, PredictError>>,
    better: impl Fn(Order, Order) -> bool,
) -> Result<OpNumber, PredictError> {
    let first = numbers.next().ok_or_else(no_numbers)??;
    numbers.try_fold(first, |best, next| {
        let next = next?;
        Ok(if better(Order(best), Order(next)) { next } else { best })
    })
}

fn no_numbers() -> PredictError {
    failed("there are no numbers")
}

/// Compares numbers of one kind, integers exactly.
#[derive(PartialEq)]
struct Order(OpNumber);

impl PartialOrd for Order {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self.0, other.0) {
            (OpNumber::Int(one), OpNumber::Int(two)) => Some(one.cmp(&two)),
            (one, two) => one.float().partial_cmp(&two.float()),
        }
    }
}
