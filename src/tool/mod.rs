//! Tools that leave the engine: HTTP requests, MCP servers, the clock. Knows the settings and the
//! engine; where requests may go is decided in here and nowhere else. No SQL, no graphs.

mod current_time;
mod dial;
mod fetch;
mod guard;
mod http;
mod mcp;
mod mcp_connect;
mod mcp_tool;

use std::sync::Arc;

use dsrs::predict::Tool;
use dsrs::strategy::HttpTool;

use crate::config::{Secrets, ToolSettings};
use fetch::Fetch;
use guard::Guard;
use mcp::McpServers;

/// What the settings allow tools to do.
pub struct Toolbox {
    secrets: Secrets,
    fetch: Arc<Fetch>,
    mcp: McpServers,
}

impl Toolbox {
    /// The tools of the settings. Connects to nothing yet.
    #[must_use]
    pub fn new(settings: &ToolSettings) -> Self {
        Self {
            secrets: settings.secrets.clone(),
            fetch: Arc::new(Fetch::new(Guard::new(settings.allow.clone()))),
            mcp: McpServers::new(&settings.mcp),
        }
    }

    /// An HTTP request as a tool.
    ///
    /// # Errors
    /// A host that is not allowed, or a secret that is not there.
    pub fn http(&self, tool: &HttpTool) -> Result<Arc<dyn Tool>, String> {
        http::http_tool(tool, &self.secrets, &self.fetch)
    }

    /// The tools of an MCP server, as it listed them last.
    ///
    /// # Errors
    /// That there is no such server, or that it cannot be reached.
    pub fn mcp(&self, server: &str) -> Result<Vec<Arc<dyn Tool>>, String> {
        self.mcp.tools(server)
    }

    /// Connects to the MCP servers, and stays connected for as long as it is polled.
    pub async fn keep(&self) {
        self.mcp.keep().await;
    }

    /// Waits until every MCP server has been tried.
    pub async fn tried(&self) {
        self.mcp.tried().await;
    }

    /// Counts how often any tool came, changed or went: what was built of tools holds for one count.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.mcp.changes()
    }
}
