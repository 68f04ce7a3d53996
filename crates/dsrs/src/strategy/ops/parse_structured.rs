//! `parse_structured`: parses a text as a value of a type, with the parser that reads answers of LMs.

use std::sync::Arc;

use facet::Facet;

use super::function::{OpFunction, OpSpec, op};
use super::{TEXT, TEXT_OR_OBJECT, VALUE, read_type, value};
use crate::coerce::{Leniencies, ParseReport, coerce};
use crate::predict::{PredictError, PredictErrorKind, RejectedAnswer};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::{Type, TypeIR, TypeScope};
use crate::value::{Fields, Payload};

/// The settings of a parser.
#[derive(Facet)]
pub(super) struct ParseConfig {
    /// A type expression or a JSON Schema object.
    #[facet(rename = "type", dsrs::keywords(TEXT_OR_OBJECT))]
    ty: Payload,
    /// Refuses a text that is not exact instead of repairing it.
    #[facet(default)]
    strict: bool,
}

impl ParseConfig {
    /// The type of the parsed values; definitions within it are added to the scope.
    pub(super) fn ty(&self, scope: &mut TypeScope, at: &At<'_>) -> Result<Type, Problems> {
        Ok(Type::new(read_type(&self.ty, scope, at)?, Arc::default()))
    }

    pub(super) const fn leniencies(&self) -> Leniencies {
        if self.strict { Leniencies::STRICT } else { Leniencies::ALL }
    }
}

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "parse_structured",
    description: "Parses a text as a value of `type`, with the parser that reads answers of LMs: \
                  malformed JSON, JSON in prose or in code fences. Fails with `parse_error`. Calls \
                  no LM.",
    make: |config: ParseConfig, scope, at| {
        let (ty, allowed) = (config.ty(scope, at)?, config.leniencies());
        Ok(op(ParseStructured { ty, allowed }))
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
