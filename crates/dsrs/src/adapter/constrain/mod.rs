//! The decoding constraints of one schema, built on first use and cached. Does not know models.

mod grammar;
mod schema;
mod values;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::value::RawValue;

use crate::lm::{ConstraintForm, DecodingConstraint};
use crate::signature::SignatureSchema;

/// How many grammars are cached, one for each token limit.
const CACHED_GRAMMARS: usize = 8;

/// The constraints built so far. `None` is cached as well.
#[derive(Debug, Default)]
pub(super) struct Constraints {
    json_schema: OnceLock<Option<DecodingConstraint>>,
    grammars: Mutex<Vec<(Option<u32>, Option<DecodingConstraint>)>>,
}

impl Constraints {
    pub(super) fn get(
        &self,
        schema: &SignatureSchema,
        form: ConstraintForm,
        max_tokens: Option<u32>,
    ) -> Option<DecodingConstraint> {
        match form {
            ConstraintForm::JsonSchema => {
                self.json_schema.get_or_init(|| json_schema(schema)).clone()
            }
            ConstraintForm::Gbnf => self.grammar(schema, max_tokens),
        }
    }

    fn grammar(
        &self,
        schema: &SignatureSchema,
        max_tokens: Option<u32>,
    ) -> Option<DecodingConstraint> {
        let mut cached = self.grammars.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = cached.iter().find(|(tokens, _)| *tokens == max_tokens) {
            return known.clone();
        }
        let made = grammar::of_answers(schema, max_tokens)
            .map(|text| DecodingConstraint::Gbnf(text.into()));
        if cached.len() >= CACHED_GRAMMARS {
            cached.remove(0);
        }
        cached.push((max_tokens, made.clone()));
        made
    }
}

fn json_schema(schema: &SignatureSchema) -> Option<DecodingConstraint> {
    let (payload, strict) = schema::of_answers(schema);
    let raw = RawValue::from_string(payload.to_json()).ok()?;
    Some(DecodingConstraint::JsonSchema { schema: Arc::from(raw), strict })
}
