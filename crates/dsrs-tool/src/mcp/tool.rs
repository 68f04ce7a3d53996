//! A tool of an MCP server as an LM sees it: its name, its schema, its calls. `result` makes data of what a call returns.
//! Knows no connections.

use std::sync::Arc;

use dsrs::lm::ToolSpec;
use dsrs::predict::{Ctx, Tool, ToolError};
use dsrs::value::{Fields, Payload};
use futures_util::future::{BoxFuture, FutureExt};
use rmcp::model::{CallToolResult, JsonObject, Tool as Listed, ToolAnnotations};

use super::result::{result_data, structured_data};
use super::schema::complete;
use super::{CallFailure, McpServer};

/// One tool of one server.
pub(super) struct McpTool {
    spec: ToolSpec,
    /// The server's name for it.
    name: String,
    /// The JSON Schema of its structured results.
    output: Option<Payload>,
    /// Whether the server says that a repeat of a call does no more than the call.
    is_idempotent: bool,
    server: Arc<McpServer>,
}

impl McpTool {
    /// A tool from the server's list, if its schema can be described.
    pub(super) fn new(listed: &Listed, server: Arc<McpServer>) -> Option<Self> {
        let description = listed.description.as_deref().or(listed.title.as_deref());
        let schema = complete(serde_json::Value::Object((*listed.input_schema).clone()));
        let parameters = serde_json::value::to_raw_value(&schema).ok()?;
        let spec = ToolSpec {
            name: plain_name(&format!("{}{}", server.prefix(), listed.name)).into(),
            description: description.unwrap_or_default().into(),
            parameters: parameters.into(),
        };
        let output = listed.output_schema.as_ref();
        let output = output.and_then(|schema| serde_json::to_string(&**schema).ok());
        let says = |hint: fn(&ToolAnnotations) -> Option<bool>| {
            listed.annotations.as_ref().and_then(hint) == Some(true)
        };
        Some(Self {
            spec,
            name: listed.name.to_string(),
            output: output.and_then(|schema| Payload::from_json(&schema).ok()),
            is_idempotent: says(|hints| hints.read_only_hint)
                || says(|hints| hints.idempotent_hint),
            server,
        })
    }

    /// The description for the LM.
    pub(super) fn description(&self) -> (&str, &str, &str) {
        (&self.spec.name, &self.spec.description, self.spec.parameters.get())
    }

    async fn ask(
        &self,
        ctx: &Ctx,
        args: Fields,
        read: fn(&CallToolResult) -> Result<Payload, String>,
    ) -> Result<Payload, ToolError> {
        let result = self.server.call(&self.name, members(args), ctx.trace_headers()).await;
        let result = result.map_err(|failure| match failure {
            CallFailure::NotSent(reason) => ToolError::unavailable(reason, None),
            CallFailure::Unanswered(reason) if self.is_idempotent => {
                ToolError::unavailable(reason, None)
            }
            CallFailure::Unanswered(reason) => ToolError::unanswered(reason),
            CallFailure::Refused(reason) => ToolError::reported(reason),
        })?;
        read(&result).map_err(ToolError::reported)
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn result_schema(&self) -> Option<Payload> {
        self.output.clone()
    }

    fn call<'a>(&'a self, ctx: &'a Ctx, args: Fields) -> BoxFuture<'a, Result<Payload, ToolError>> {
        self.ask(ctx, args, result_data).boxed()
    }

    fn call_for_data<'a>(
        &'a self,
        ctx: &'a Ctx,
        args: Fields,
    ) -> BoxFuture<'a, Result<Payload, ToolError>> {
        self.ask(ctx, args, structured_data).boxed()
    }
}

/// A name that every LM provider accepts.
fn plain_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars().take(64).map(|c| if fits(c) { c } else { '_' }).collect()
}

fn members(args: Fields) -> JsonObject {
    match serde_json::to_value(Payload::map(args)) {
        Ok(serde_json::Value::Object(members)) => members,
        _ => JsonObject::new(),
    }
}
