//! `merge`: several classes, or dicts, as one.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::flows::{each, input};
use super::{INPUTS, INPUTS_SCHEMA, Many, VALUE, many, named_inputs, unfed};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, schema};
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule, Flow};
use crate::types::{Class, ClassField, TypeIR, TypeScope, TypeShape, resolve};
use crate::value::{Fields, Map, Payload, Selection, SelectionStep};

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "merge"
    }

    fn description(&self) -> &'static str {
        "Several classes as one class with all their fields, or several dicts as one; of two members \
         of one name the later wins. Calls no LM."
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
        Ok(Box::new(Merge { inputs: named_inputs(config) }))
    }
}

struct Merge {
    inputs: Vec<OpInput>,
}

impl Op for Merge {
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
        let defs = given.defs();
        let class = |ir| match resolve(ir, defs).shape {
            TypeShape::Class(class) => Some(class),
            _ => None,
        };
        if let Some(classes) = given.types().values().map(class).collect::<Option<Vec<_>>>() {
            return Ok(OpTypes::of(super::fields(given, Clone::clone), VALUE, all_of(&classes)));
        }
        let member = |ir: &TypeIR| match many(ir, defs) {
            Some(Many::Dict(member)) => Some(member.clone()),
            _ => None,
        };
        let members = TypeIR::union(given.types().values().filter_map(member));
        let inputs = super::fields(given, |ir| match member(ir) {
            Some(_) => ir.clone(),
            None => TypeIR::dict(TypeIR::Any),
        });
        Ok(OpTypes::of(inputs, VALUE, TypeIR::dict(members)))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let is_class = !matches!(schema.outputs.first().map(|out| &out.ty), Some(TypeIR::Dict(_)));
        let merge = |inputs: &Fields| {
            let members = inputs.values().filter_map(Payload::as_map).flatten();
            let merged: Map =
                members.map(|(name, member)| (name.clone(), member.clone())).collect();
            Ok(merged.into())
        };
        Computed::new(schema, merge).telling(move |inputs, within| told(inputs, within, is_class))
    }
}

/// Each member came from the last input that has it.
fn told(inputs: &Fields, within: &Selection, is_class: bool) -> Vec<Flow> {
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

/// The class with the fields of all. What is said of a field beside its type holds for whoever
/// writes it, not for whoever reads it here.
fn all_of(classes: &[&Class]) -> TypeIR {
    let fields = classes.iter().flat_map(|class| &class.fields);
    let fields: IndexMap<_, _> =
        fields.map(|(name, field)| (name.clone(), ClassField::of(field.ty.clone()))).collect();
    TypeIR::Class(Arc::new(Class { description: None, fields }))
}
