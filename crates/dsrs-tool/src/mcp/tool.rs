//! A tool of an MCP server as an LM sees it: its name and schema as input, its contents as data.
//! Knows no connections.

use std::sync::Arc;

use dsrs::lm::ToolSpec;
use dsrs::predict::{Ctx, Tool, ToolError};
use dsrs::value::{Fields, Payload};
use futures_util::future::{BoxFuture, FutureExt};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ResourceContents, Tool as Listed};

use super::McpServer;
use super::schema::complete;
use crate::http::shortened;

/// Maximum length of a result, in characters.
const LONGEST: usize = 256 << 10;

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
        if result.is_error == Some(true) {
            return Err(shortened(&failure(&result), LONGEST));
        }
        data(&result)
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

/// The structured result if there is one, else the texts.
fn data(result: &CallToolResult) -> Result<Payload, String> {
    let structured = result.structured_content.as_ref().map(serde_json::Value::to_string);
    match structured.filter(|json| json.len() <= LONGEST) {
        Some(json) => Payload::from_json(&json)
            .map_err(|error| format!("the result is not valid data: {error}")),
        None => Ok(Payload::str(shortened(&text(result), LONGEST))),
    }
}

/// What a failed call says: its texts, or else its structured content.
fn failure(result: &CallToolResult) -> String {
    let text_content = text(result);
    match &result.structured_content {
        Some(content) if text_content.trim().is_empty() => content.to_string(),
        _ => text_content,
    }
}

fn text(result: &CallToolResult) -> String {
    let texts: Vec<String> = result.content.iter().map(block).collect();
    texts.join("\n")
}

/// A part of a result as text; the kind of any other part is named.
fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            _ => "(a resource that is not text)".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("({}: {})", link.name, link.uri),
        ContentBlock::Image(image) => format!("(an image, {})", image.mime_type),
        ContentBlock::Audio(audio) => format!("(a sound, {})", audio.mime_type),
        _ => "(content of an unknown kind)".to_owned(),
    }
}
