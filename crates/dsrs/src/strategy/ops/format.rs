//! `format`: a text with slots that say how their values are written.

use std::sync::Arc;

use super::slots::Slots;
use super::{TEXT, invalid, unwieldy};
use crate::problem::{At, Code, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, member, schema};
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule};
use crate::types::{TypeIR, TypeScope};
use crate::value::{Fields, Payload};

const TEMPLATE: &str = "template";

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "format"
    }

    fn description(&self) -> &'static str {
        "Writes a text with slots as Python's `format` does: `{price:,.2f}`, `{name:>10}`, and \
         `{items:yaml}` (or `json`, `text`) for whole values. Its inputs are the names in it. Calls \
         no LM."
    }

    fn config_schema(&self) -> Payload {
        let template = schema(
            r#"{"type": "string", "maxLength": 20000, "description": "a text with slots such as `{price:.2f}`; `{{` is a brace"}"#,
        );
        config_schema([(TEMPLATE, template)], &[TEMPLATE])
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        config: &Payload,
        _: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let template = member(config, TEMPLATE).and_then(Payload::as_str).unwrap_or_default();
        let slots = Slots::parse(template, true);
        let slots = slots.map_err(|reason| invalid(at, TEMPLATE, Code::InvalidConfig, reason))?;
        Ok(Box::new(Format(slots)))
    }
}

struct Format(Slots);

impl Op for Format {
    fn inputs(&self) -> Vec<OpInput> {
        self.0.names().into_iter().map(OpInput::open).collect()
    }

    fn infer(&self, given: &mut Given<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        self.0.check(given, TEMPLATE, at)?;
        Ok(OpTypes::of(super::fields(given, Clone::clone), TEXT, TypeIR::Str))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let flows = self.0.flows();
        let fill = move |inputs: &Fields| self.0.fill(inputs).map(Payload::from).map_err(unwieldy);
        Computed::new(schema, fill).telling(move |_, _| flows.clone())
    }
}
