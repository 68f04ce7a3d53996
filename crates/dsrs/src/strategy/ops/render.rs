//! `render`: a text from a template, which is Jinja or has `{name}` slots.

use std::sync::Arc;

use super::flows::all;
use super::slots::Slots;
use super::{TEXT, failed, invalid, unwieldy};
use crate::expr::Template;
use crate::problem::{At, Code, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, described, member, schema};
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule};
use crate::types::{TypeIR, TypeScope};
use crate::value::{Fields, Map, Payload};

const TEMPLATE: &str = "template";
const FSTRING: &str = "fstring";

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "render"
    }

    fn description(&self) -> &'static str {
        "Writes a text from a template: Jinja in `template`, or `{name}` slots in `fstring`. Its \
         inputs are the names in it. Calls no LM."
    }

    fn config_schema(&self) -> Payload {
        let text =
            |told: &str| described(schema(r#"{"type": "string", "maxLength": 20000}"#), told);
        let members = [
            (TEMPLATE, text("a Jinja template, with `if` and `for` and without other tags")),
            (
                FSTRING,
                text("a text with slots such as `{name}` and `{person.age}`; `{{` is a brace"),
            ),
        ];
        let mut members: Map = config_schema(members, &[]).as_map().cloned().unwrap_or_default();
        let one = r#"[{"required": ["template"]}, {"required": ["fstring"]}]"#;
        members.insert("oneOf".into(), schema(one));
        members.into()
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        config: &Payload,
        _: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let text = |name| member(config, name).and_then(Payload::as_str);
        let broken = |name, reason| invalid(at, name, Code::InvalidConfig, reason);
        Ok(Box::new(Render(match (text(TEMPLATE), text(FSTRING)) {
            (_, Some(slots)) => {
                Text::Slots(Slots::parse(slots, false).map_err(|reason| broken(FSTRING, reason))?)
            }
            (template, None) => {
                let compiled = Template::compile(template.unwrap_or_default());
                let template = compiled.map_err(|error| broken(TEMPLATE, error.reason))?;
                Text::Jinja(Box::new(template))
            }
        })))
    }
}

struct Render(Text);

enum Text {
    Jinja(Box<Template>),
    Slots(Slots),
}

impl Op for Render {
    fn inputs(&self) -> Vec<OpInput> {
        let names = match &self.0 {
            Text::Jinja(template) => template.names().to_vec(),
            Text::Slots(slots) => slots.names(),
        };
        names.into_iter().map(OpInput::open).collect()
    }

    fn infer(&self, given: &mut Given<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        if let Text::Slots(slots) = &self.0 {
            slots.check(given, FSTRING, at)?;
        }
        Ok(OpTypes::of(super::fields(given, Clone::clone), TEXT, TypeIR::Str))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let slots = match &self.0 {
            Text::Slots(slots) => Some(slots.flows()),
            // What a template does with its values is its own affair.
            Text::Jinja(_) => None,
        };
        let render = move |inputs: &Fields| match &self.0 {
            Text::Slots(slots) => slots.fill(inputs).map(Payload::from).map_err(unwieldy),
            Text::Jinja(template) => {
                let values = inputs.iter().map(|(name, value)| (name.as_ref(), value));
                let text = template.render(values);
                text.map(Payload::from).map_err(|error| failed(format!("the template: {error}")))
            }
        };
        let module = Computed::new(schema, render);
        module.telling(move |inputs, _| slots.clone().unwrap_or_else(|| all(inputs)))
    }
}
