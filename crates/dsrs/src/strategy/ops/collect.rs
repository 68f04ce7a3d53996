//! `collect`: several values as one: a list, a tuple, or a class with a field for each.

use std::sync::Arc;

use indexmap::IndexMap;

use super::flows::input;
use super::{INPUTS, INPUTS_SCHEMA, VALUE, named_inputs, unfed};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, member, schema};
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule, Flow};
use crate::types::{Class, ClassField, TypeIR, TypeScope};
use crate::value::{Fields, Payload, Selection, SelectionStep};

const AS: &str = "as";

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "collect"
    }

    fn description(&self) -> &'static str {
        "Several values as one: a list, a tuple, or a class with a field for each input. Calls no LM."
    }

    fn config_schema(&self) -> Payload {
        let shape = schema(
            r#"{"enum": ["list", "tuple", "class"], "default": "list", "description": "what they become"}"#,
        );
        config_schema([(INPUTS, schema(INPUTS_SCHEMA)), (AS, shape)], &[])
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        config: &Payload,
        _: &mut TypeScope,
        _: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let shape = match member(config, AS).and_then(Payload::as_str) {
            Some("tuple") => Shape::Tuple,
            Some("class") => Shape::Class,
            _ => Shape::List,
        };
        Ok(Box::new(Collect { inputs: named_inputs(config), shape }))
    }
}

#[derive(Clone, Copy)]
enum Shape {
    List,
    Tuple,
    Class,
}

struct Collect {
    inputs: Vec<OpInput>,
    shape: Shape,
}

impl Op for Collect {
    fn inputs(&self) -> Vec<OpInput> {
        self.inputs.clone()
    }

    fn takes_others(&self) -> bool {
        self.inputs.is_empty()
    }

    fn infer(&self, given: &mut Given<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        if given.types().is_empty() {
            return Err(unfed(at, "first"));
        }
        let types = given.types();
        let whole = match self.shape {
            Shape::List => TypeIR::list(TypeIR::union(types.values().cloned())),
            Shape::Tuple => TypeIR::Tuple(types.values().cloned().collect()),
            Shape::Class => {
                let field =
                    |(name, ir): (&Arc<str>, &TypeIR)| (name.clone(), ClassField::of(ir.clone()));
                let fields: IndexMap<_, _> = types.iter().map(field).collect();
                TypeIR::Class(Arc::new(Class { description: None, fields }))
            }
        };
        Ok(OpTypes::of(super::fields(given, Clone::clone), VALUE, whole))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let shape = self.shape;
        let collect = move |inputs: &Fields| {
            Ok(match shape {
                Shape::List | Shape::Tuple => inputs.values().cloned().collect::<Vec<_>>().into(),
                Shape::Class => inputs.clone().into(),
            })
        };
        Computed::new(schema, collect).telling(move |inputs, within| told(inputs, within, shape))
    }
}

/// Each part came from the input that it stands for.
fn told(inputs: &Fields, within: &Selection, shape: Shape) -> Vec<Flow> {
    let step = |position: usize, name: &Arc<str>| match shape {
        Shape::List | Shape::Tuple => SelectionStep::Index(position),
        Shape::Class => SelectionStep::Field(name.clone()),
    };
    let steps = inputs.keys().enumerate().map(|(position, name)| (step(position, name), name));
    match within.split_first() {
        None => {
            steps.map(|(step, name)| Flow::part(Selection::new(vec![step]), input(name))).collect()
        }
        Some((wanted, rest)) => steps
            .filter(|(step, _)| step == wanted)
            .map(|(_, name)| Flow::copied(input(name).then(&rest)))
            .collect(),
    }
}
