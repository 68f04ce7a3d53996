//! `concat`: joins texts, or appends lists to each other.

use facet::Facet;

use super::function::{OpFunction, OpSpec, op};
use super::provenance::{all, each, input};
use super::{Container, NamedInputs, VALUE, container, field_types, too_large, unfed};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::Flow;
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::TypeIR;
use crate::value::{Fields, Payload, Selection, SelectionStep, SizeBudget, SizeExcess};

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "concat",
    description: "Joins texts, with a separator between them if one is set, or appends lists to each \
                  other. Calls no LM.",
    make: |config: ConcatConfig, _, _| {
        let ConcatConfig { names, separator } = config;
        Ok(op(Concat { inputs: names.open(), separator, texts: false }))
    },
})) }

#[derive(Facet)]
struct ConcatConfig {
    #[facet(flatten)]
    names: NamedInputs,
    /// The text between two texts.
    #[facet(default)]
    separator: String,
}

struct Concat {
    inputs: Vec<OpInput>,
    separator: String,
    /// Whether it joins texts; it appends lists otherwise.
    texts: bool,
}

impl OpFunction for Concat {
    fn inputs(&self) -> Vec<OpInput> {
        self.inputs.clone()
    }

    fn accepts_others(&self) -> bool {
        self.inputs.is_empty()
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        let defs = inputs.defs();
        let element = |ir: &TypeIR| match container(ir, defs) {
            Some(Container::List(element)) => Some(element.clone()),
            _ => None,
        };
        let Some(first) = inputs.types().values().next() else { return Err(unfed(at, "first")) };
        if element(first).is_none() {
            let accepted = field_types(inputs, |_| TypeIR::Str);
            return Ok(OpTypes::of(accepted, VALUE, TypeIR::Str));
        }
        let elements = TypeIR::union(inputs.types().values().filter_map(element));
        let accepted = field_types(inputs, |ir| match element(ir) {
            Some(_) => ir.clone(),
            None => TypeIR::list(TypeIR::Any),
        });
        Ok(OpTypes::of(accepted, VALUE, TypeIR::list(elements)))
    }

    fn prepare(&mut self, schema: &SignatureSchema) {
        self.texts = schema.outputs.first().is_some_and(|field| field.ty == TypeIR::Str);
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        match self.texts {
            true => join(inputs, &self.separator).map(Payload::from),
            false => chain(inputs).map(Payload::from),
        }
        .map_err(too_large)
    }

    fn flows(&self, inputs: &Fields, within: &Selection) -> Vec<Flow> {
        if self.texts { all(inputs) } else { list_flows(inputs, within) }
    }
}

fn join(inputs: &Fields, separator: &str) -> Result<String, SizeExcess> {
    let texts: Vec<&str> = inputs.values().filter_map(Payload::as_str).collect();
    let mut room = SizeBudget::default();
    texts.iter().try_for_each(|text| room.take_bytes(text.len() + separator.len()))?;
    Ok(texts.join(separator))
}

fn chain(inputs: &Fields) -> Result<Vec<Payload>, SizeExcess> {
    let lists: Vec<&[Payload]> = inputs.values().filter_map(Payload::as_list).collect();
    let mut room = SizeBudget::default();
    lists.iter().try_for_each(|list| room.take_parts(list.len()))?;
    Ok(lists.concat())
}

/// Each element comes from one of the lists, which follow each other.
fn list_flows(inputs: &Fields, within: &Selection) -> Vec<Flow> {
    let lists = inputs.iter().filter_map(|(name, value)| Some((name, value.as_list()?)));
    if let Some((SelectionStep::Index(index), rest)) = within.split_first() {
        let mut left = *index;
        for (name, list) in lists {
            if left < list.len() {
                return vec![Flow::copied(input(name).step(left).then(&rest))];
            }
            left -= list.len();
        }
        return Vec::new();
    }
    let lists: Vec<_> = lists.collect();
    each(inputs, lists.iter().map(|(_, list)| list.len()).sum(), || {
        let elements = lists.iter().flat_map(|(name, list)| {
            (0..list.len()).map(move |position| input(name).step(position))
        });
        let flow = |(at, from)| Flow::part(Selection::default().step(at), from);
        elements.enumerate().map(flow).collect()
    })
}
