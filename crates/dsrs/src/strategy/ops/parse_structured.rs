//! `parse_structured`: parses a text as a value of a type, with the parser that reads answers of LMs.

use std::sync::Arc;

use super::function::{OpFunction, OpSpec, op};
use super::{TEXT, TYPE, TYPE_SCHEMA, VALUE, read_type, value};
use crate::coerce::{Leniencies, ParseReport, coerce};
use crate::predict::{PredictError, PredictErrorKind, RejectedAnswer};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, flag, schema};
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::{Type, TypeIR};
use crate::value::{Fields, Payload};

/// The member of a config that turns repairs off.
pub(super) const STRICT: &str = "strict";
/// Its config schema.
pub(super) const STRICT_SCHEMA: &str = r#"{"type": "boolean", "default": false, "description": "refuses a text that is not exact instead of repairing it"}"#;

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "parse_structured",
    description: "Parses a text as a value of `type`, with the parser that reads answers of LMs: \
                  malformed JSON, JSON in prose or in code fences. Fails with `parse_error`. Calls \
                  no LM.",
    config: || config_schema([(TYPE, schema(TYPE_SCHEMA)), (STRICT, schema(STRICT_SCHEMA))], &[TYPE]),
    read: |config, scope, at| {
        let ty = Type::new(read_type(config, scope, at)?, Arc::default());
        Ok(op(ParseStructured { ty, allowed: leniencies(config) }))
    },
})) }

struct ParseStructured {
    ty: Type,
    allowed: Leniencies,
}

impl OpFunction for ParseStructured {
    fn inputs(&self) -> Vec<OpInput> {
        vec![OpInput::of(TEXT, TypeIR::Str)]
    }

    fn infer(&self, _: &mut InputTypes<'_>, _: &At<'_>) -> Result<OpTypes, Problems> {
        Ok(OpTypes::of([(TEXT, TypeIR::Str)], VALUE, self.ty.ir.clone()))
    }

    fn prepare(&mut self, schema: &SignatureSchema) {
        self.ty.defs = schema.defs.clone();
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        parsed(value(inputs, TEXT).as_str().unwrap_or_default(), &self.ty, self.allowed)
    }
}

/// The leniencies that a config allows.
pub(super) fn leniencies(config: &Payload) -> Leniencies {
    if flag(config, STRICT) { Leniencies::STRICT } else { Leniencies::ALL }
}

/// Parses a text as a value of a type.
pub(super) fn parsed(text: &str, ty: &Type, allowed: Leniencies) -> Result<Payload, PredictError> {
    let mut report = ParseReport::default();
    coerce(text, ty, allowed, &mut report).map_err(|error| {
        let reason: Arc<str> = error.to_string().into();
        let message = format!("the text is not a `{}`: {reason}", crate::types::brief(&ty.ir));
        let failure = Box::new(RejectedAnswer { raw: text.into(), reason, report });
        PredictError::new(PredictErrorKind::Parse { field: None, failure }, message)
    })
}
