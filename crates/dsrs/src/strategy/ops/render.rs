//! `render`: a text from a template, which is Jinja or has `{name}` slots.

use std::sync::Arc;

use facet::Facet;

use super::function::{OpFunction, OpSpec, op};
use super::provenance::all;
use super::slot_template::{SlotTemplate, TEMPLATE_LENGTH};
use super::{TEXT, failed, field_types, invalid, too_large};
use crate::expr::Template;
use crate::predict::PredictError;
use crate::problem::{At, Code, Problems};
use crate::strategy::Flow;
use crate::strategy::op::{InputTypes, Op, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::TypeIR;
use crate::value::{Fields, Payload, Selection};

const TEMPLATE: &str = "template";
const FSTRING: &str = "fstring";

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "render",
    description: "Writes a text from a template: Jinja in `template`, or `{name}` slots in `fstring`. \
                  Its inputs are the names in the template. Calls no LM.",
    make: |config, _, at| render(config, at),
})) }

#[derive(Facet)]
#[facet(dsrs::keywords(r#"{"oneOf": [{"required": ["template"]}, {"required": ["fstring"]}]}"#))]
struct RenderConfig {
    /// A Jinja template, with `if` and `for` and no other tags.
    #[facet(dsrs::keywords(TEMPLATE_LENGTH))]
    template: Option<String>,
    /// A text with slots such as `{name}` and `{person.age}`; `{{` is a brace.
    #[facet(dsrs::keywords(TEMPLATE_LENGTH))]
    fstring: Option<String>,
}

fn render(config: RenderConfig, at: &At<'_>) -> Result<Box<dyn Op>, Problems> {
    let broken = |name, reason| invalid(at, name, Code::InvalidConfig, reason);
    match config {
        RenderConfig { fstring: Some(slots), .. } => {
            let slots = SlotTemplate::parse(&slots, false);
            slots.map(|slots| op(RenderTemplate::Slots(slots))).map_err(|why| broken(FSTRING, why))
        }
        RenderConfig { template, .. } => {
            let template = Template::compile(&template.unwrap_or_default());
            let template = template.map_err(|error| broken(TEMPLATE, error.reason))?;
            Ok(op(RenderTemplate::Jinja(Box::new(template))))
        }
    }
}

enum RenderTemplate {
    Jinja(Box<Template>),
    Slots(SlotTemplate),
}

/// An input of a template; it may be absent if the template says what it writes then.
fn template_input(template: &Template, name: &Arc<str>) -> OpInput {
    let input = OpInput::open(name.clone());
    if template.may_be_absent(name) { input.optional() } else { input }
}

impl OpFunction for RenderTemplate {
    fn inputs(&self) -> Vec<OpInput> {
        match self {
            Self::Jinja(template) => {
                template.names().iter().map(|name| template_input(template, name)).collect()
            }
            Self::Slots(slots) => slots.names().into_iter().map(OpInput::open).collect(),
        }
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        if let Self::Slots(slots) = self {
            slots.check(inputs, FSTRING, at)?;
        }
        Ok(OpTypes::of(field_types(inputs, Clone::clone), TEXT, TypeIR::Str))
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        match self {
            Self::Slots(slots) => slots.fill(inputs).map(Payload::from).map_err(too_large),
            Self::Jinja(template) => {
                let values = inputs.iter().map(|(name, value)| (name.as_ref(), value));
                let text = template.render(values);
                text.map(Payload::from).map_err(|error| failed(format!("the template: {error}")))
            }
        }
    }

    fn flows(&self, inputs: &Fields, _: &Selection) -> Vec<Flow> {
        match self {
            Self::Slots(slots) => slots.flows(),
            // A Jinja template may use its values in any way.
            Self::Jinja(_) => all(inputs),
        }
    }
}
