//! `merge`: several classes, or dicts, as one.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::function::{OpFunction, OpSpec, op};
use super::provenance::{each, input};
use super::{Container, NamedInputs, VALUE, container, field_types, unfed};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::Flow;
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::{Class, ClassField, TypeIR, TypeShape, resolve};
use crate::value::{Fields, Map, Payload, Selection, SelectionStep};

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "merge",
    description: "Merges several classes into one with all their fields, or several dicts into one; \
                  if two have a member of the same name, the later one wins. Calls no LM.",
    make: |config: NamedInputs, _, _| Ok(op(Merge { inputs: config.open(), is_class: false })),
})) }

struct Merge {
    inputs: Vec<OpInput>,
    /// Whether it merges classes; it merges dicts otherwise.
    is_class: bool,
}

impl OpFunction for Merge {
    fn inputs(&self) -> Vec<OpInput> {
        self.inputs.clone()
    }

    fn accepts_others(&self) -> bool {
        self.inputs.is_empty()
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        if inputs.types().is_empty() {
            return Err(unfed(at, "first"));
        }
        let defs = inputs.defs();
        let class = |ir| match resolve(ir, defs).shape {
            TypeShape::Class(class) => Some(class),
            _ => None,
        };
        if let Some(classes) = inputs.types().values().map(class).collect::<Option<Vec<_>>>() {
            let accepted = field_types(inputs, Clone::clone);
            return Ok(OpTypes::of(accepted, VALUE, all_of(&classes)));
        }
        let member = |ir: &TypeIR| match container(ir, defs) {
            Some(Container::Dict(member)) => Some(member.clone()),
            _ => None,
        };
        let members = TypeIR::union(inputs.types().values().filter_map(member));
        let accepted = field_types(inputs, |ir| match member(ir) {
            Some(_) => ir.clone(),
            None => TypeIR::dict(TypeIR::Any),
        });
        Ok(OpTypes::of(accepted, VALUE, TypeIR::dict(members)))
    }

    fn prepare(&mut self, schema: &SignatureSchema) {
        let output = schema.outputs.first().map(|field| &field.ty);
        self.is_class = !matches!(output, Some(TypeIR::Dict(_)));
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        let members = inputs.values().filter_map(Payload::as_map).flatten();
        let merged: Map = members.map(|(name, member)| (name.clone(), member.clone())).collect();
        Ok(merged.into())
    }

    fn flows(&self, inputs: &Fields, within: &Selection) -> Vec<Flow> {
        member_flows(inputs, within, self.is_class)
    }
}

/// Each member comes from the last input that has it.
fn member_flows(inputs: &Fields, within: &Selection, is_class: bool) -> Vec<Flow> {
    let has = |input: &Payload, name: &Arc<str>| {
        input.as_map().is_some_and(|members| members.contains_key(name))
    };
    let owner = |name: &Arc<str>| inputs.iter().rev().find(|(_, value)| has(value, name));
    if let Some((SelectionStep::Field(name) | SelectionStep::Key(name), _)) = within.split_first() {
        let owner = owner(name).map(|(owner, _)| owner);
        return owner.map(|owner| Flow::copied(input(owner).then(within))).into_iter().collect();
    }
    let members = inputs.values().filter_map(Payload::as_map);
    let names: IndexSet<&Arc<str>> = members.flat_map(Map::keys).collect();
    each(inputs, names.len(), || {
        let step = |name: &Arc<str>| match is_class {
            true => SelectionStep::Field(name.clone()),
            false => SelectionStep::Key(name.clone()),
        };
        let flow = |name: &&Arc<str>| {
            let into = Selection::new(vec![step(name)]);
            let (owner, _) = owner(name)?;
            Some(Flow::part(into.clone(), input(owner).then(&into)))
        };
        names.iter().filter_map(flow).collect()
    })
}

/// The class with the fields of all. Descriptions and constraints apply where a value is written and
/// are left out here.
fn all_of(classes: &[&Class]) -> TypeIR {
    let fields = classes.iter().flat_map(|class| &class.fields);
    let fields: IndexMap<_, _> =
        fields.map(|(name, field)| (name.clone(), ClassField::of(field.ty.clone()))).collect();
    TypeIR::Class(Arc::new(Class { description: None, fields }))
}
