//! `strip`, `lower`, `upper`: a text with its ends or its letters changed. Sisters that differ in
//! one function.

use std::sync::Arc;

use super::{TEXT, failed, value};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, member, schema};
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule};
use crate::types::{TypeIR, TypeScope};
use crate::value::Payload;

const CHARACTERS: &str = "characters";

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory {
    name: "strip",
    description: "A text without white space, or other characters, at its ends. Calls no LM.",
    change: Change::Strip(None),
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&Factory {
    name: "lower",
    description: "A text in small letters. Calls no LM.",
    change: Change::Lower,
})) }
inventory::submit! { StrategyRegistration(&OpStrategy(&Factory {
    name: "upper",
    description: "A text in capital letters. Calls no LM.",
    change: Change::Upper,
})) }

struct Factory {
    name: &'static str,
    description: &'static str,
    change: Change,
}

#[derive(Clone)]
enum Change {
    Strip(Option<Arc<str>>),
    Lower,
    Upper,
}

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn config_schema(&self) -> Payload {
        let characters = schema(
            r#"{"type": "string", "minLength": 1, "description": "the characters that are taken off both ends; white space when it is not said"}"#,
        );
        match self.change {
            Change::Strip(_) => config_schema([(CHARACTERS, characters)], &[]),
            Change::Lower | Change::Upper => config_schema([], &[]),
        }
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        config: &Payload,
        _: &mut TypeScope,
        _: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        Ok(Box::new(Letters(match &self.change {
            Change::Strip(_) => {
                let characters = member(config, CHARACTERS).and_then(Payload::as_str);
                Change::Strip(characters.map(Arc::from))
            }
            other => other.clone(),
        })))
    }
}

struct Letters(Change);

impl Op for Letters {
    fn inputs(&self) -> Vec<OpInput> {
        vec![OpInput::of(TEXT, TypeIR::Str)]
    }

    fn infer(&self, _: &mut Given<'_>, _: &At<'_>) -> Result<OpTypes, Problems> {
        Ok(OpTypes::of([(TEXT, TypeIR::Str)], TEXT, TypeIR::Str))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        Computed::boxed(schema, move |inputs| {
            let found = value(inputs, TEXT);
            let text = found.as_str().ok_or_else(|| failed("expected a text"))?;
            let changed = match &self.0 {
                Change::Strip(None) => text.trim().to_owned(),
                Change::Strip(Some(these)) => text.trim_matches(|c| these.contains(c)).to_owned(),
                Change::Lower => text.to_lowercase(),
                Change::Upper => text.to_uppercase(),
            };
            Ok(if changed == text { found.clone() } else { changed.into() })
        })
    }
}
