//! Tools that reach out, called as the engine calls them: real HTTP, real MCP servers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod http;
mod mcp;

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::Models;
use dsrs::predict::{Ctx, Tool, ToolError};
use dsrs::problem::{At, Problems};
use dsrs::strategy::HttpTool;
use dsrs::value::{Fields, Payload};
use dsrs_config::{Config, Environment, Flags};
use dsrs_tool::ToolSource;
use serde_json::Value;

/// What these settings allow tools to do.
fn toolbox(settings: &[(&str, &str)]) -> ToolSource {
    let env: Environment = settings.iter().copied().collect();
    let config = Config::load(&Flags::default(), &env).unwrap_or_else(|error| panic!("{error}"));
    ToolSource::new(&config.tools)
}

/// The tool of an `http` entry of a node's `tools`.
fn http_tool(toolbox: &ToolSource, entry: &Value) -> Result<Arc<dyn Tool>, String> {
    let mut problems = Problems::new();
    let payload = Payload::from_json(&entry.to_string()).unwrap();
    let tool = HttpTool::read(&payload, &At::Root, &mut problems);
    toolbox.http(&tool.unwrap_or_else(|| panic!("{problems}")))
}

/// The result of a call with these arguments, or the message for the LM.
async fn call(tool: &Arc<dyn Tool>, args: &Value) -> Result<Value, String> {
    let ctx = Ctx::within(Arc::new(Models::new(None, None)), Duration::from_secs(600));
    let args = Payload::from_json(&args.to_string()).unwrap();
    let args = args.as_map().cloned().unwrap_or_else(Fields::new);
    match tool.call(&ctx, args).await {
        Ok(result) => Ok(serde_json::to_value(result).unwrap()),
        Err(ToolError::Fatal(error)) => panic!("{error}"),
        Err(failed) => Err(failed.to_string()),
    }
}
