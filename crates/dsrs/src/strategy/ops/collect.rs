//! `collect`: several values as one: a list, a tuple, or a class with a field for each.

use std::sync::Arc;

use facet::Facet;
use indexmap::IndexMap;

use super::function::{OpFunction, OpSpec, op};
use super::provenance::input;
use super::{NamedInputs, VALUE, field_types, unfed};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::strategy::Flow;
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::{Class, ClassField, TypeIR};
use crate::value::{Fields, Payload, Selection, SelectionStep};

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "collect",
    description: "Several values as one: a list, a tuple, or a class with a field for each input. \
                  Calls no LM.",
    make: |config: CollectConfig, _, _| {
        Ok(op(Collect { inputs: config.names.open(), shape: config.shape }))
    },
})) }

#[derive(Facet)]
struct CollectConfig {
    #[facet(flatten)]
    names: NamedInputs,
    /// What the values become.
    #[facet(rename = "as", default = CollectShape::List)]
    shape: CollectShape,
}

#[derive(Clone, Copy, Facet)]
#[facet(rename_all = "snake_case")]
#[repr(u8)]
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
