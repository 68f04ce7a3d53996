//! `strip`, `lower` and `upper`: a text without some characters at its ends, or in another case.

use super::function::{OpFunction, OpSpec, op};
use super::{TEXT, failed, value};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::strategy::config::{config_schema, member, schema};
use crate::strategy::factory::no_config;
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

const CHARACTERS: &str = "characters";

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "strip",
    description: "Removes white space, or other characters, from both ends of a text. Calls no LM.",
    config: || {
        let characters = schema(
            r#"{"type": "string", "minLength": 1, "description": "the characters to remove from both ends; default: white space"}"#,
        );
        config_schema([(CHARACTERS, characters)], &[])
    },
    read: |config, _, _| {
        let characters = member(config, CHARACTERS).and_then(Payload::as_str);
        Ok(op(TextChange::Strip(characters.map(Into::into))))
    },
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "lower",
    description: "Writes a text in lower case. Calls no LM.",
    config: no_config,
    read: |_, _, _| Ok(op(TextChange::Lower)),
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "upper",
    description: "Writes a text in upper case. Calls no LM.",
    config: no_config,
    read: |_, _, _| Ok(op(TextChange::Upper)),
})) }

enum TextChange {
    /// Removes these characters from both ends; white space where there are none.
    Strip(Option<Box<str>>),
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
