//! `add`, `subtract`, `multiply`, `divide`: arithmetic on two numbers, one of which may stand in the
//! config. Sisters that differ in one function.

use std::sync::Arc;

use super::number::Number;
use super::{VALUE, failed, value};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, member, schema};
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule};
use crate::types::{TypeIR, TypeScope};
use crate::value::Payload;

const LEFT: &str = "left";
const RIGHT: &str = "right";

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory {
    name: "add",
    description: "`left` plus `right`. Whole numbers give whole numbers. Calls no LM.",
    sign: Sign::Plus,
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&Factory {
    name: "subtract",
    description: "`left` minus `right`. Whole numbers give whole numbers. Calls no LM.",
    sign: Sign::Minus,
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&Factory {
    name: "multiply",
    description: "`left` times `right`. Whole numbers give whole numbers. Calls no LM.",
    sign: Sign::Times,
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&Factory {
    name: "divide",
    description: "`left` by `right`, always a float; fails where `right` is zero. Calls no LM.",
    sign: Sign::By,
})) }

struct Factory {
    name: &'static str,
    description: &'static str,
    sign: Sign,
}

#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Plus,
    Minus,
    Times,
    By,
}

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn config_schema(&self) -> Payload {
        let side =
            r#"{"type": "number", "description": "this side, when nothing is to be connected"}"#;
        config_schema([(LEFT, schema(side)), (RIGHT, schema(side))], &[])
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        config: &Payload,
        _: &mut TypeScope,
        _: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let side = |name| member(config, name).cloned();
        Ok(Box::new(Arithmetic { sign: self.sign, left: side(LEFT), right: side(RIGHT) }))
    }
}

struct Arithmetic {
    sign: Sign,
    left: Option<Payload>,
    right: Option<Payload>,
}

impl Op for Arithmetic {
    fn inputs(&self) -> Vec<OpInput> {
        let sides = [(LEFT, &self.left), (RIGHT, &self.right)].into_iter();
        sides.filter(|(_, fixed)| fixed.is_none()).map(|(name, _)| OpInput::open(name)).collect()
    }

    fn infer(&self, given: &mut Given<'_>, _: &At<'_>) -> Result<OpTypes, Problems> {
        let mut fixed = [&self.left, &self.right].into_iter().flatten();
        let mut whole = self.sign != Sign::By && fixed.all(is_int);
        let types: Vec<TypeIR> = given.types().values().cloned().collect();
        for ir in &types {
            whole = whole && given.fits(ir, &TypeIR::Int);
        }
        let ty = if whole { TypeIR::Int } else { TypeIR::Float };
        Ok(OpTypes::of(super::fields(given, |_| ty.clone()), VALUE, ty.clone()))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        Computed::boxed(schema, move |inputs| {
            let left = self.left.as_ref().unwrap_or_else(|| value(inputs, LEFT));
            let right = self.right.as_ref().unwrap_or_else(|| value(inputs, RIGHT));
            apply(self.sign, Number::of(left)?, Number::of(right)?).map(Payload::from)
        })
    }
}

const fn is_int(number: &Payload) -> bool {
    matches!(number, Payload::Int(_))
}

fn apply(sign: Sign, left: Number, right: Number) -> Result<Number, PredictError> {
    match sign {
        Sign::Plus => left.with(right, i64::checked_add, |a, b| a + b),
        Sign::Minus => left.with(right, i64::checked_sub, |a, b| a - b),
        Sign::Times => left.with(right, i64::checked_mul, |a, b| a * b),
        Sign::By if right.float() == 0.0 => Err(failed("a division by zero")),
        Sign::By => super::number::finite(left.float() / right.float()),
    }
}
