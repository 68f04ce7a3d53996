//! `strip`, `lower` and `upper`: a text without some characters at its ends, or in another case.

use facet::Facet;

use super::function::{OpFunction, OpSpec, op};
use super::{TEXT, failed, value};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::strategy::config::NoSettings;
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "strip",
    description: "Removes white space, or other characters, from both ends of a text. Calls no LM.",
    make: |config: StripConfig, _, _| Ok(op(TextChange::Strip(config.characters))),
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "lower",
    description: "Writes a text in lower case. Calls no LM.",
    make: |_: NoSettings, _, _| Ok(op(TextChange::Lower)),
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "upper",
    description: "Writes a text in upper case. Calls no LM.",
    make: |_: NoSettings, _, _| Ok(op(TextChange::Upper)),
})) }

#[derive(Facet)]
struct StripConfig {
    /// The characters to remove from both ends. Default: white space.
    #[facet(dsrs::keywords(r#"{"minLength": 1}"#))]
    characters: Option<String>,
}

enum TextChange {
    /// Removes these characters from both ends; white space where there are none.
    Strip(Option<String>),
    Lower,
    Upper,
}

impl OpFunction for TextChange {
    fn inputs(&self) -> Vec<OpInput> {
        vec![OpInput::of(TEXT, TypeIR::Str)]
    }

    fn infer(&self, _: &mut InputTypes<'_>, _: &At<'_>) -> Result<OpTypes, Problems> {
        Ok(OpTypes::of([(TEXT, TypeIR::Str)], TEXT, TypeIR::Str))
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        let whole = value(inputs, TEXT);
        let text = whole.as_str().ok_or_else(|| failed("expected a text"))?;
        let changed = match self {
            Self::Strip(None) => text.trim().to_owned(),
            Self::Strip(Some(these)) => text.trim_matches(|c| these.contains(c)).to_owned(),
            Self::Lower => text.to_lowercase(),
            Self::Upper => text.to_uppercase(),
        };
        Ok(if changed == text { whole.clone() } else { changed.into() })
    }
}
