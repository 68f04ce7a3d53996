//! `format`: a text with slots, which say how their values are written.

use facet::Facet;

use super::function::{OpFunction, OpSpec, op};
use super::slot_template::{SlotTemplate, TEMPLATE_LENGTH};
use super::{TEXT, field_types, invalid, too_large};
use crate::predict::PredictError;
use crate::problem::{At, Code, Problems};
use crate::strategy::Flow;
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::TypeIR;
use crate::value::{Fields, Payload, Selection};

const TEMPLATE: &str = "template";

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "format",
    description: "Fills a text with slots as Python's `format` does: `{price:,.2f}`, `{name:>10}`, \
                  `{items:yaml}` (or `json`, `text`) for whole values, and `{items!s}` for Python's \
                  notation of them. Its inputs are the names in the slots. Calls no LM.",
    make: |config: FormatConfig, _, at| {
        let slots = SlotTemplate::parse(&config.template, true);
        let slots = slots.map_err(|reason| invalid(at, TEMPLATE, Code::InvalidConfig, reason))?;
        Ok(op(Format(slots)))
    },
})) }

#[derive(Facet)]
struct FormatConfig {
    /// A text with slots such as `{price:.2f}`; `{{` is a brace.
    #[facet(dsrs::keywords(TEMPLATE_LENGTH))]
    template: String,
}

struct Format(SlotTemplate);

impl OpFunction for Format {
    fn inputs(&self) -> Vec<OpInput> {
        self.0.names().into_iter().map(OpInput::open).collect()
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        self.0.check(inputs, TEMPLATE, at)?;
        Ok(OpTypes::of(field_types(inputs, Clone::clone), TEXT, TypeIR::Str))
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        self.0.fill(inputs).map(Payload::from).map_err(too_large)
    }

    fn flows(&self, _: &Fields, _: &Selection) -> Vec<Flow> {
        self.0.flows()
    }
}
