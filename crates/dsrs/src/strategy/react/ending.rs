//! How the steps of an agent end: by a call without arguments, after which another predictor writes the outputs, or by a
//! call whose arguments are the outputs. Does not know who makes the call.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::step::AgentCall;
use super::{FINISH, SUBMIT};
use crate::lm::{ToolSet, ToolSpec};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::submission::{is_named, read_outputs};
use crate::types::{Class, ClassField, Type, TypeIR, to_json_schema};
use crate::value::{Fields, Payload};

/// The names that no tool has if outputs are submitted.
const BOTH: [&str; 2] = [FINISH, SUBMIT];

/// The names that no tool has.
pub(super) const fn reserved(submits: bool) -> &'static [&'static str] {
    if submits { &BOTH } else { &[FINISH] }
}

/// The call with the outputs.
pub(super) struct Submission {
    schema: Arc<SignatureSchema>,
    pub(super) spec: ToolSpec,
    /// The offer that leaves the LM no choice.
    pub(super) forced: Arc<ToolSet>,
    accept: OutputCheck,
}

/// A further check of the outputs: whether they are values of a Rust type.
pub(super) type OutputCheck = fn(&Fields) -> Result<(), String>;

impl Submission {
    /// The call with the outputs of a signature.
    pub(super) fn of(schema: Arc<SignatureSchema>, accept: OutputCheck) -> Self {
        let parameters = serde_json::value::to_raw_value(&arguments(&schema)).unwrap_or_default();
        let description = format!(
            "Ends the steps with the outputs. Call it once you know {}.",
            output_names(&schema)
        );
        let spec = ToolSpec {
            name: SUBMIT.into(),
            description: description.into(),
            parameters: parameters.into(),
        };
        Self { schema, forced: ToolSet::forcing(spec.clone()), spec, accept }
    }

    /// The outputs in the arguments, or everything that does not fit.
    pub(super) fn read(&self, args: &Payload) -> Result<Fields, String> {
        let Some(args) = args.as_map() else {
            return Err(format!("the arguments are no object with {}", output_names(&self.schema)));
        };
        let named = args.iter().map(|(name, value)| {
            let field = self.schema.outputs.iter().find(|field| is_named(field, name));
            (field.map_or(name, |field| &field.name).clone(), value.clone())
        });
        let outputs = read_outputs(&self.schema, named.collect())?;
        (self.accept)(&outputs)?;
        Ok(outputs)
    }

    /// The outputs of the first of these calls that submits any.
    pub(super) fn find(&self, calls: &[AgentCall]) -> Option<Result<Fields, String>> {
        calls.iter().find(|call| call.is_submit()).map(|call| self.read(&call.args))
    }
}

/// The call that ends the steps without outputs.
pub(super) fn finish() -> ToolSpec {
    let parameters = RawValue::from_string(r#"{"type":"object","properties":{}}"#.to_owned());
    ToolSpec {
        name: FINISH.into(),
        description:
            "Ends the steps. Call it once you have enough information to write the outputs.".into(),
        parameters: parameters.unwrap_or_default().into(),
    }
}

/// The outputs as the LM names them, for a sentence.
pub(super) fn output_names(schema: &SignatureSchema) -> String {
    let names: Vec<_> =
        schema.outputs.iter().map(|field| format!("`{}`", field.lm_name())).collect();
    names.join(", ")
}

/// The JSON Schema of the outputs as arguments.
fn arguments(schema: &SignatureSchema) -> Payload {
    let member = |field: &FieldSchema| {
        let (description, default) = (field.description.clone(), field.default.clone());
        let member = ClassField { description, default, ..ClassField::of(field.ty.clone()) };
        (field.lm_name().clone(), member)
    };
    let fields = schema.outputs.iter().map(member).collect();
    let class = TypeIR::Class(Arc::new(Class { description: None, fields }));
    to_json_schema(&Type::new(class, schema.defs.clone()))
}
