//! The constraints on the answers of one schema, made when a model first wants them and kept. Knows
//! nothing of models.

mod grammar;
mod schema;
mod values;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::value::RawValue;

use crate::lm::{ConstraintForm, DecodingConstraint};
use crate::signature::SignatureSchema;

/// How many grammars are kept: one for each limit of tokens that was asked for.
const KEPT: usize = 8;

/// The constraints that were made so far; `None` is kept too where there is none to be made.
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
        let mut kept = self.grammars.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = kept.iter().find(|(tokens, _)| *tokens == max_tokens) {
            return known.clone();
        }
        let made = grammar::of_answers(schema, max_tokens)
            .map(|text| DecodingConstraint::Gbnf(text.into()));
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((max_tokens, made.clone()));
        made
    }
}

fn json_schema(schema: &SignatureSchema) -> Option<DecodingConstraint> {
    let (payload, strict) = schema::of_answers(schema);
    let raw = RawValue::from_string(payload.to_json()).ok()?;
    Some(DecodingConstraint::JsonSchema { schema: Arc::from(raw), strict })
}
