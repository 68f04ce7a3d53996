//! `select`: a part of a value, by a path, with a default if the part may be absent.

use facet::Facet;

use super::function::{OpFunction, OpSpec, op};
use super::provenance::{at as value_at, input};
use super::{VALUE, invalid, settled, value};
use crate::predict::PredictError;
use crate::problem::{At, Code, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::Flow;
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::{Type, admit};
use crate::value::{Fields, Payload, Selection};

const PATH: &str = "path";
const DEFAULT: &str = "default";

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "select",
    description: "A part of `value`, by a path such as `person.name`, `[0]` or `['key']`, checked \
                  against its type; a default for a part that may be absent. Calls no LM.",
    make: |config: SelectConfig, _, at| {
        let SelectConfig { path: text, default } = config;
        let path = Selection::parse(&text).map_err(|error| {
            invalid(at, PATH, Code::InvalidConfig, format!("`{text}`: {error}"))
        })?;
        Ok(op(Select { path, default }))
    },
})) }

#[derive(Facet)]
struct SelectConfig {
    /// The path to the part of the value.
    #[facet(dsrs::keywords(r#"{"maxLength": 2000}"#))]
    path: String,
    /// The output if the part is absent or null.
    default: Option<Payload>,
}

struct Select {
    path: Selection,
    default: Option<Payload>,
}

impl OpFunction for Select {
    fn inputs(&self) -> Vec<OpInput> {
        vec![OpInput::open(VALUE)]
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        let whole = inputs.type_of(VALUE);
        let part = self.path.type_in(&whole).map_err(|error| {
            invalid(at, PATH, Code::UnknownField, format!("`{}`: {error}", self.path))
        })?;
        let ty = match &self.default {
            None => part.ir,
            Some(default) => {
                let ty = Type::new(settled(&part.ir, &part.defs), part.defs);
                check_default(default, &ty, DEFAULT, at)?;
                ty.ir
            }
        };
        Ok(OpTypes::of([(VALUE, whole.ir)], VALUE, ty))
    }

    fn prepare(&mut self, schema: &SignatureSchema) {
        self.default = self.default.take().map(|default| exact_default(default, schema));
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        let part = self.path.get(value(inputs, VALUE));
        Ok(match &self.default {
            Some(default) if part.is_null() => default.clone(),
            _ => part,
        })
    }

    fn flows(&self, inputs: &Fields, within: &Selection) -> Vec<Flow> {
        let from = input(VALUE).then(&self.path);
        match self.default.is_some() && value_at(inputs, &from).is_null() {
            true => Vec::new(),
            false => vec![Flow::copied(from.then(within))],
        }
    }
}

/// Refuses a default that is not of its type.
pub(super) fn check_default(
    default: &Payload,
    ty: &Type,
    name: &str,
    at: &At<'_>,
) -> Result<(), Problems> {
    let mut problems = Problems::new();
    admit(default, ty, &at.key("config").key(name), &mut problems);
    problems.or(())
}

/// A checked default as a value of exactly the output's type.
pub(super) fn exact_default(default: Payload, schema: &SignatureSchema) -> Payload {
    let ty = schema.outputs.first().map(|field| schema.type_of(field));
    let exact = ty.and_then(|ty| admit(&default, &ty, &At::Root, &mut Problems::new()));
    exact.unwrap_or(default)
}
