//! `parse_structured`: a text as a value of a type, read as an LM's answer is.

use std::sync::Arc;

use super::{TEXT, TYPE, TYPE_SCHEMA, VALUE, read_type, value};
use crate::coerce::{Leniencies, ParseReport, coerce};
use crate::predict::{PredictError, PredictErrorKind, RejectedAnswer};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::config::{config_schema, flag, schema};
use crate::strategy::op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, DynModule};
use crate::types::{Type, TypeIR, TypeScope};
use crate::value::Payload;

/// The member of a config that says whether slips of the text are mended.
pub(super) const STRICT: &str = "strict";
/// Its config schema.
pub(super) const STRICT_SCHEMA: &str =
    r#"{"type": "boolean", "default": false, "description": "refuses a text that is not exact"}"#;

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "parse_structured"
    }

    fn description(&self) -> &'static str {
        "Reads a text as a value of `type`, with the parser that reads the answers of LMs: JSON with \
         slips, in prose or in fences. Fails with `parse_error`. Calls no LM."
    }

    fn config_schema(&self) -> Payload {
        config_schema([(TYPE, schema(TYPE_SCHEMA)), (STRICT, schema(STRICT_SCHEMA))], &[TYPE])
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        config: &Payload,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let allowed = leniencies(config);
        Ok(Box::new(ParseStructured { ty: read_type(config, scope, at)?, allowed }))
    }
}

struct ParseStructured {
    ty: TypeIR,
    allowed: Leniencies,
}

impl Op for ParseStructured {
    fn inputs(&self) -> Vec<OpInput> {
        vec![OpInput::of(TEXT, TypeIR::Str)]
    }

    fn infer(&self, _: &mut Given<'_>, _: &At<'_>) -> Result<OpTypes, Problems> {
        Ok(OpTypes::of([(TEXT, TypeIR::Str)], VALUE, self.ty.clone()))
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let ty = Type::new(self.ty, schema.defs.clone());
        let allowed = self.allowed;
        Computed::boxed(schema, move |inputs| {
            let text = value(inputs, TEXT).as_str().unwrap_or_default();
            parsed(text, &ty, allowed)
        })
    }
}

/// Which slips a config lets the parser mend.
pub(super) fn leniencies(config: &Payload) -> Leniencies {
    if flag(config, STRICT) { Leniencies::STRICT } else { Leniencies::ALL }
}

/// A text as a value of a type.
pub(super) fn parsed(text: &str, ty: &Type, allowed: Leniencies) -> Result<Payload, PredictError> {
    let mut report = ParseReport::default();
    coerce(text, ty, allowed, &mut report).map_err(|error| {
        let reason: Arc<str> = error.to_string().into();
        let message = format!("the text is no `{}`: {reason}", crate::types::brief(&ty.ir));
        let failure = Box::new(RejectedAnswer { raw: text.into(), reason, report });
        PredictError::new(PredictErrorKind::Parse { field: None, failure }, message)
    })
}
