//! `collect`: several values as one: a list, a tuple, or a class with a field for each.

use std::sync::Arc;

use indexmap::IndexMap;

use super::function::{OpFunction, OpSpec, op};
use super::provenance::input;
use super::{INPUTS, INPUTS_SCHEMA, VALUE, field_types, named_inputs, unfed};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::strategy::Flow;
use crate::strategy::config::{config_schema, member, schema};
use crate::strategy::op::{InputTypes, Op, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::{Class, ClassField, TypeIR};
use crate::value::{Fields, Payload, Selection, SelectionStep};

const AS: &str = "as";

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "collect",
    description: "Several values as one: a list, a tuple, or a class with a field for each input. \
                  Calls no LM.",
    config,
    read: |config, _, _| Ok(read(config)),
})) }

fn config() -> Payload {
    let shape = schema(
        r#"{"enum": ["list", "tuple", "class"], "default": "list", "description": "what the values become"}"#,
    );
    config_schema([(INPUTS, schema(INPUTS_SCHEMA)), (AS, shape)], &[])
}

fn read(config: &Payload) -> Box<dyn Op> {
    let shape = match member(config, AS).and_then(Payload::as_str) {
        Some("tuple") => CollectShape::Tuple,
        Some("class") => CollectShape::Class,
        _ => CollectShape::List,
    };
    op(Collect { inputs: named_inputs(config), shape })
}

#[derive(Clone, Copy)]
enum CollectShape {
    List,
    Tuple,
    Class,
}

struct Collect {
    inputs: Vec<OpInput>,
    shape: CollectShape,
}

impl OpFunction for Collect {
    fn inputs(&self) -> Vec<OpInput> {
        self.inputs.clone()
    }

    fn accepts_others(&self) -> bool {
        self.inputs.is_empty()
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        let types = inputs.types();
        if types.is_empty() {
            return Err(unfed(at, "first"));
        }
        let whole = match self.shape {
            CollectShape::List => TypeIR::list(TypeIR::union(types.values().cloned())),
            CollectShape::Tuple => TypeIR::Tuple(types.values().cloned().collect()),
            CollectShape::Class => {
                let field =
                    |(name, ir): (&Arc<str>, &TypeIR)| (name.clone(), ClassField::of(ir.clone()));
                let fields: IndexMap<_, _> = types.iter().map(field).collect();
                TypeIR::Class(Arc::new(Class { description: None, fields }))
            }
        };
        Ok(OpTypes::of(field_types(inputs, Clone::clone), VALUE, whole))
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        Ok(match self.shape {
            CollectShape::List | CollectShape::Tuple => {
                inputs.values().cloned().collect::<Vec<_>>().into()
            }
            CollectShape::Class => inputs.clone().into(),
        })
    }

    /// Each part comes from the input that became it.
    fn flows(&self, inputs: &Fields, within: &Selection) -> Vec<Flow> {
        let step = |position: usize, name: &Arc<str>| match self.shape {
            CollectShape::List | CollectShape::Tuple => SelectionStep::Index(position),
            CollectShape::Class => SelectionStep::Field(name.clone()),
        };
        let steps = inputs.keys().enumerate().map(|(position, name)| (step(position, name), name));
        match within.split_first() {
            None => steps
                .map(|(step, name)| Flow::part(Selection::new(vec![step]), input(name)))
                .collect(),
            Some((part, rest)) => steps
                .filter(|(step, _)| step == part)
                .map(|(_, name)| Flow::copied(input(name).then(&rest)))
                .collect(),
        }
    }
}
