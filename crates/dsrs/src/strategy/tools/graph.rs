//! A stored graph as a tool: its inputs are the arguments, its outputs the result.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};

use super::super::DynModule;
use crate::lm::ToolSpec;
use crate::predict::{Ctx, PredictError, PredictErrorKind, Tool, ToolError};
use crate::problem::{At, Problems};
use crate::signature::{FieldSchema, SignatureSchema, admit_inputs};
use crate::types::{Class, ClassField, Type, TypeIR, to_json_schema};
use crate::value::{Fields, Payload};

struct GraphTool {
    spec: ToolSpec,
    module: Box<dyn DynModule>,
}

/// A module as a tool; its instructions are the default description.
pub(super) fn tool(
    name: Arc<str>,
    description: Option<Arc<str>>,
    module: Box<dyn DynModule>,
) -> Result<Arc<dyn Tool>, String> {
    let schema = module.schema();
    let parameters = serde_json::value::to_raw_value(&object_schema(&schema.inputs, schema));
    let parameters = parameters.map_err(|error| error.to_string())?.into();
    let description = description.unwrap_or_else(|| schema.instructions.clone());
    Ok(Arc::new(GraphTool { spec: ToolSpec { name, description, parameters }, module }))
}

/// Fields as an object.
fn object_schema(fields: &[FieldSchema], schema: &SignatureSchema) -> Payload {
    let member = |field: &FieldSchema| {
        let (description, default) = (field.description.clone(), field.default.clone());
        let member = ClassField { description, default, ..ClassField::of(field.ty.clone()) };
        (field.name.clone(), member)
    };
    let fields = fields.iter().map(member).collect();
    let class = TypeIR::Class(Arc::new(Class { description: None, fields }));
    to_json_schema(&Type::new(class, schema.defs.clone()))
}

impl GraphTool {
    async fn run(
        &self,
        ctx: &Ctx,
        args: Fields,
        failed: fn(&Ctx, PredictError) -> ToolError,
    ) -> Result<Payload, ToolError> {
        let (schema, mut problems) = (self.module.schema(), Problems::new());
        let args = Payload::map(args);
        let inputs = schema.inputs.iter();
        let inputs = admit_inputs(inputs, &schema.defs, &args, &At::Root, &mut problems);
        let inputs = inputs.ok_or_else(|| ToolError::reported(problems.to_string()))?;
        let outputs = self.module.forward(&ctx.without_hints(), inputs).await;
        let mut outputs = outputs.map_err(|error| failed(ctx, error))?;
        Ok(match outputs.len() {
            1 => outputs.pop().map(|(_, only)| only).unwrap_or_default(),
            _ => Payload::map(outputs),
        })
    }
}

/// A graph that fails, its own time limits included, is a failed tool call; the end of the run is not.
fn failed(ctx: &Ctx, error: PredictError) -> ToolError {
    match error.kind {
        PredictErrorKind::Cancelled | PredictErrorKind::Timeout if ctx.is_fatal(&error) => {
            ToolError::Fatal(error)
        }
        _ => ToolError::reported(error.to_string()),
    }
}

impl Tool for GraphTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn result_schema(&self) -> Option<Payload> {
        let schema = self.module.schema();
        Some(match &*schema.outputs {
            [only] => to_json_schema(&schema.type_of(only)),
            outputs => object_schema(outputs, schema),
        })
    }

    fn call<'a>(&'a self, ctx: &'a Ctx, args: Fields) -> BoxFuture<'a, Result<Payload, ToolError>> {
        self.run(ctx, args, failed).boxed()
    }

    /// The failure of the graph is that of the call, with its code: a spent budget is one, and a limit of the rate.
    fn call_for_data<'a>(
        &'a self,
        ctx: &'a Ctx,
        args: Fields,
    ) -> BoxFuture<'a, Result<Payload, ToolError>> {
        self.run(ctx, args, |_, error| ToolError::Fatal(error)).boxed()
    }
}
