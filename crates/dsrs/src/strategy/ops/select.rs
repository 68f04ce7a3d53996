//! `select`: a part of a value, by a path; with a default where it may be absent.

use std::sync::Arc;

use super::flows::{at, input};
use super::{VALUE, invalid, settled, value};
use crate::problem::{At, Code, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, member, schema};
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule, Flow};
use crate::types::{Type, TypeScope, admit};
use crate::value::{Fields, Payload, Selection};

const PATH: &str = "path";
const DEFAULT: &str = "default";

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "select"
    }

    fn description(&self) -> &'static str {
        "A part of `value`, by a path such as `person.name`, `[0]` or `['key']`, checked against its \
         type; a default for what may be absent. Calls no LM."
    }

    fn config_schema(&self) -> Payload {
        let path = schema(
            r#"{"type": "string", "maxLength": 2000, "description": "the way into the value"}"#,
        );
        let default =
            schema(r#"{"description": "what stands in for a part that is absent or null"}"#);
        config_schema([(PATH, path), (DEFAULT, default)], &[PATH])
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        config: &Payload,
        _: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let text = member(config, PATH).and_then(Payload::as_str).unwrap_or_default();
        let path = Selection::parse(text).map_err(|error| {
            invalid(at, PATH, Code::InvalidConfig, format!("`{text}`: {error}"))
        })?;
        Ok(Box::new(Select { path, default: member(config, DEFAULT).cloned() }))
    }
}

struct Select {
    path: Selection,
    default: Option<Payload>,
}

impl Op for Select {
    fn inputs(&self) -> Vec<OpInput> {
        vec![OpInput::open(VALUE)]
    }

    fn infer(&self, given: &mut Given<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        let whole = given.type_of(VALUE);
        let part = self.path.type_in(&whole).map_err(|error| {
            invalid(at, PATH, Code::UnknownField, format!("`{}`: {error}", self.path))
        })?;
        let ty = match &self.default {
            None => part.ir,
            Some(default) => {
                let ty = Type::new(settled(&part.ir, &part.defs), part.defs);
                fitting(default, &ty, DEFAULT, at)?;
                ty.ir
            }
        };
        Ok(OpTypes::of([(VALUE, whole.ir)], VALUE, ty))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let Self { path, default } = *self;
        let default = default.map(|default| exactly(default, &schema));
        let has_default = default.is_some();
        let from = input(VALUE).then(&path);
        let select = move |inputs: &Fields| {
            let found = path.get(value(inputs, VALUE));
            Ok(match &default {
                Some(default) if found.is_null() => default.clone(),
                _ => found,
            })
        };
        Computed::new(schema, select).telling(move |inputs, within| {
            let found = at(inputs, &from);
            match has_default && found.is_null() {
                true => Vec::new(),
                false => vec![Flow::copied(from.then(within))],
            }
        })
    }
}

/// Refuses a default that is not of its type.
pub(super) fn fitting(
    default: &Payload,
    ty: &Type,
    name: &str,
    at: &At<'_>,
) -> Result<(), Problems> {
    let mut problems = Problems::new();
    admit(default, ty, &at.key("config").key(name), &mut problems);
    problems.or(())
}

/// A default that fits, exactly as the output's type has it.
pub(super) fn exactly(default: Payload, schema: &SignatureSchema) -> Payload {
    let ty = schema.outputs.first().map(|field| schema.type_of(field));
    let exact = ty.and_then(|ty| admit(&default, &ty, &At::Root, &mut Problems::new()));
    exact.unwrap_or(default)
}
