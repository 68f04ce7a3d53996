//! The MCP servers of a build without the feature `mcp`: none is connected, and a definition that names one is refused.

use std::sync::Arc;
use std::time::Duration;

use dsrs::predict::Tool;
use indexmap::IndexMap;

use dsrs_config::McpConfig;

/// The servers of the settings.
pub(super) struct NoMcpServers {
    are_configured: bool,
}

impl NoMcpServers {
    pub(super) fn new(settings: &IndexMap<String, McpConfig>) -> Self {
        Self { are_configured: !settings.is_empty() }
    }

    pub(super) async fn maintain(&self) {
        if self.are_configured {
            tracing::error!(
                "MCP servers are configured, but this server was built without the feature `mcp`"
            );
        }
    }

    pub(super) async fn attempted(&self, _: Duration) {}

    pub(super) fn changes(&self) -> u64 {
        0
    }

    pub(super) fn tools(&self, name: &str) -> Result<Vec<Arc<dyn Tool>>, String> {
        Err(format!(
            "there is no MCP server `{}`: this server was built without the feature `mcp`",
            name.escape_debug()
        ))
    }
}
