//! Tools that leave the engine: HTTP requests, MCP servers, the clock. Messages of webhooks. Knows the settings and the
//! engine; the only room that decides where requests may go. No SQL, no graphs.

// A build that leaves `mcp` out has code that only it uses.
#![cfg_attr(not(feature = "mcp"), allow(dead_code, unused_imports))]

mod current_time;
mod dial;
mod fetch;
mod guard;
mod http;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(not(feature = "mcp"))]
mod mcp_absent;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use dsrs::predict::Tool;
use dsrs::strategy::HttpTool;

use dsrs_config::{Secrets, ToolSettings};
use fetch::Fetch;
use guard::Guard;
#[cfg(feature = "mcp")]
use mcp::McpServers;
#[cfg(not(feature = "mcp"))]
use mcp_absent::NoMcpServers as McpServers;

pub use webhook::{WebhookAnswer, WebhookClient, WebhookFailure};

/// The tools that the settings allow.
pub struct ToolSource {
    secrets: Secrets,
    fetch: Arc<Fetch>,
    mcp: McpServers,
}

impl ToolSource {
    /// The tools of the settings. Connects to nothing yet.
    #[must_use]
    pub fn new(settings: &ToolSettings) -> Self {
        Self {
            secrets: settings.secrets.clone(),
            fetch: Arc::new(Fetch::new(Guard::new("tools.allow", settings.allow.clone()))),
            mcp: McpServers::new(&settings.mcp),
        }
    }

    /// An HTTP request as a tool.
    ///
    /// # Errors
    /// A host that is not allowed, or an unknown secret.
    pub fn http(&self, tool: &HttpTool) -> Result<Arc<dyn Tool>, String> {
        http::http_tool(tool, &self.secrets, &self.fetch)
    }

    /// The tools of an MCP server, as it last listed them.
    ///
    /// # Errors
    /// There is no such server, or it cannot be reached.
    pub fn mcp(&self, server: &str) -> Result<Vec<Arc<dyn Tool>>, String> {
        self.mcp.tools(server)
    }

    /// Connects to the MCP servers, and stays connected as long as it is polled.
    pub async fn maintain(&self) {
        self.mcp.maintain().await;
    }

    /// Waits until every MCP server was tried once, at most for this time.
    pub async fn attempted(&self, most: Duration) {
        self.mcp.attempted(most).await;
    }

    /// A count that grows when any tool appears, changes or disappears: a program built with tools is
    /// valid for one count.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.mcp.changes()
    }
}
