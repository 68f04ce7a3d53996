//! `concat`: texts, or lists, one after the other.

use std::sync::Arc;

use super::flows::{all, each, input};
use super::{INPUTS, INPUTS_SCHEMA, Many, VALUE, many, named_inputs, unfed, unwieldy};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, member, schema};
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule, Flow};
use crate::types::{TypeIR, TypeScope};
use crate::value::{Fields, Payload, Selection, SelectionStep, SizeBudget, SizeExcess};

const SEPARATOR: &str = "separator";

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "concat"
    }

    fn description(&self) -> &'static str {
        "Texts one after the other, with a separator between them if wanted; or lists one after the \
         other. Calls no LM."
    }

    fn config_schema(&self) -> Payload {
        let separator = schema(
            r#"{"type": "string", "default": "", "description": "what stands between two texts"}"#,
        );
        config_schema([(INPUTS, schema(INPUTS_SCHEMA)), (SEPARATOR, separator)], &[])
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        config: &Payload,
        _: &mut TypeScope,
        _: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let separator = member(config, SEPARATOR).and_then(Payload::as_str).unwrap_or_default();
        Ok(Box::new(Concat { inputs: named_inputs(config), separator: separator.into() }))
    }
}

struct Concat {
    inputs: Vec<OpInput>,
    separator: Arc<str>,
}

impl Op for Concat {
    fn inputs(&self) -> Vec<OpInput> {
        self.inputs.clone()
    }

    fn takes_others(&self) -> bool {
        self.inputs.is_empty()
    }

    fn infer(&self, given: &mut Given<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        let defs = given.defs();
        let element = |ir: &TypeIR| match many(ir, defs) {
            Some(Many::List(element)) => Some(element.clone()),
            _ => None,
        };
        let Some(first) = given.types().values().next() else { return Err(unfed(at, "first")) };
        if element(first).is_none() {
            let inputs = super::fields(given, |_| TypeIR::Str);
            return Ok(OpTypes::of(inputs, VALUE, TypeIR::Str));
        }
        let elements = TypeIR::union(given.types().values().filter_map(element));
        let inputs = super::fields(given, |ir| match element(ir) {
            Some(_) => ir.clone(),
            None => TypeIR::list(TypeIR::Any),
        });
        Ok(OpTypes::of(inputs, VALUE, TypeIR::list(elements)))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let texts = schema.outputs.first().is_some_and(|field| field.ty == TypeIR::Str);
        let concat = move |inputs: &Fields| {
            match texts {
                true => join(inputs, &self.separator).map(Payload::from),
                false => chain(inputs).map(Payload::from),
            }
            .map_err(unwieldy)
        };
        Computed::new(schema, concat).telling(move |inputs, within| match texts {
            true => all(inputs),
            false => told(inputs, within),
        })
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

/// Each element came from one of the lists, each of which stands behind those before it.
fn told(inputs: &Fields, within: &Selection) -> Vec<Flow> {
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
