//! A tool of an MCP server as an LM sees it: its name, its schema, its calls. `result` makes data of what a call returns.
//! Knows no connections.

use std::sync::Arc;

use dsrs::lm::ToolSpec;
use dsrs::predict::{Ctx, Tool, ToolError};
use dsrs::value::{Fields, Payload};
use futures_util::future::{BoxFuture, FutureExt};
use rmcp::model::{JsonObject, Tool as Listed};

use super::McpServer;
use super::result::result_data;
use super::schema::complete;

/// One tool of one server.
pub(super) struct McpTool {
    spec: ToolSpec,
    /// The server's name for it.
    name: String,
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
        Some(Self { spec, name: listed.name.to_string(), server })
    }

    /// The description for the LM.
    pub(super) fn description(&self) -> (&str, &str, &str) {
        (&self.spec.name, &self.spec.description, self.spec.parameters.get())
    }

    async fn ask(&self, ctx: &Ctx, args: Fields) -> Result<Payload, String> {
        let result = self.server.call(&self.name, members(args), ctx.trace_headers()).await?;
        result_data(&result)
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, ctx: &'a Ctx, args: Fields) -> BoxFuture<'a, Result<Payload, ToolError>> {
        self.ask(ctx, args).map(|called| called.map_err(ToolError::reported)).boxed()
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
