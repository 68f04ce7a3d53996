//! `add`, `subtract`, `multiply` and `divide`: arithmetic on two numbers, one of which the config may
//! fix.

use facet::Facet;

use super::function::{OpFunction, OpSpec, op};
use super::number::{OpNumber, finite};
use super::{VALUE, failed, field_types, value};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::strategy::op::{InputTypes, Op, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

const LEFT: &str = "left";
const RIGHT: &str = "right";

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "add",
    description: "`left` plus `right`; an integer if both are. Calls no LM.",
    make: |config, _, _| Ok(arithmetic(Operator::Plus, config)),
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "subtract",
    description: "`left` minus `right`; an integer if both are. Calls no LM.",
    make: |config, _, _| Ok(arithmetic(Operator::Minus, config)),
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "multiply",
    description: "`left` times `right`; an integer if both are. Calls no LM.",
    make: |config, _, _| Ok(arithmetic(Operator::Times, config)),
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "divide",
    description: "`left` divided by `right`, always a float; fails if `right` is zero. Calls no LM.",
    make: |config, _, _| Ok(arithmetic(Operator::Over, config)),
})) }

#[derive(Facet)]
struct FixedSides {
    /// A constant for this side, which is then not an input.
    #[facet(dsrs::keywords(NUMBER))]
    left: Option<Payload>,
    /// A constant for this side, which is then not an input.
    #[facet(dsrs::keywords(NUMBER))]
    right: Option<Payload>,
}

/// The keywords of a number of either kind.
const NUMBER: &str = r#"{"type": "number"}"#;

fn arithmetic(operator: Operator, fixed: FixedSides) -> Box<dyn Op> {
    op(Arithmetic { operator, fixed })
}

#[derive(Clone, Copy, PartialEq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

struct Arithmetic {
    operator: Operator,
    fixed: FixedSides,
}

impl OpFunction for Arithmetic {
    fn inputs(&self) -> Vec<OpInput> {
        let sides = [(LEFT, &self.fixed.left), (RIGHT, &self.fixed.right)].into_iter();
        sides.filter(|(_, fixed)| fixed.is_none()).map(|(name, _)| OpInput::open(name)).collect()
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, _: &At<'_>) -> Result<OpTypes, Problems> {
        let mut fixed = [&self.fixed.left, &self.fixed.right].into_iter().flatten();
        let is_int = |number: &Payload| matches!(number, Payload::Int(_));
        let mut whole = self.operator != Operator::Over && fixed.all(is_int);
        let types: Vec<TypeIR> = inputs.types().values().cloned().collect();
        for ir in &types {
            whole = whole && inputs.fits(ir, &TypeIR::Int);
        }
        let ty = if whole { TypeIR::Int } else { TypeIR::Float };
        Ok(OpTypes::of(field_types(inputs, |_| ty.clone()), VALUE, ty.clone()))
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        let left = self.fixed.left.as_ref().unwrap_or_else(|| value(inputs, LEFT));
        let right = self.fixed.right.as_ref().unwrap_or_else(|| value(inputs, RIGHT));
        apply(self.operator, OpNumber::of(left)?, OpNumber::of(right)?).map(Payload::from)
    }
}

fn apply(operator: Operator, left: OpNumber, right: OpNumber) -> Result<OpNumber, PredictError> {
    match operator {
        Operator::Plus => left.with(right, i64::checked_add, |a, b| a + b),
        Operator::Minus => left.with(right, i64::checked_sub, |a, b| a - b),
        Operator::Times => left.with(right, i64::checked_mul, |a, b| a * b),
        Operator::Over if right.float() == 0.0 => Err(failed("a division by zero")),
        Operator::Over => finite(left.float() / right.float()),
    }
}
